//! A dependency as people and the catalogue speak of it: with one line, or with one for each tenant.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::authoring::DependencyLimits;
use crate::controls::ControlInForce;
use crate::view::Missing;

/// So many tenants of one dependency have lines of their own; more share the line of sagas without tenant.
pub(super) const TENANTS_MAX: usize = 10_000;

/// From so many tenants on, lines that nobody needs any more are given up.
const SWEPT_FROM: usize = 64;

/// One dependency, or all steps that name none.
#[derive(Debug)]
pub(super) struct Group {
    /// None for what names no dependency.
    pub(super) name: Option<Arc<str>>,
    pub(super) limits: DependencyLimits,
    /// The line of all sagas, or of those without tenant.
    pub(super) line: usize,
    /// The lines of tenants, where the limits are by tenant.
    pub(super) tenants: BTreeMap<Arc<str>, usize>,
    /// At so many tenants the next sweep is due.
    sweep_at: usize,
    running: u32,
    limited: Option<(u32, Arc<ControlInForce>)>,
}

impl Group {
    pub(super) fn new(name: Option<Arc<str>>, limits: DependencyLimits, line: usize) -> Self {
        let tenants = BTreeMap::new();
        Self { name, limits, line, tenants, sweep_at: SWEPT_FROM, running: 0, limited: None }
    }

    /// What a person allows from now on, of all tenants together.
    pub(super) fn limit(&mut self, limited: Option<(u32, Arc<ControlInForce>)>) {
        self.limited = limited;
    }

    /// Is a person's limit reached?
    pub(super) fn held(&self) -> Option<Missing> {
        let (_, order) = self.limited.as_ref().filter(|(calls_max, _)| self.running >= *calls_max)?;
        Some(Missing::Limited(order.clone()))
    }

    pub(super) fn enter(&mut self) {
        self.running += 1;
    }

    pub(super) fn leave(&mut self) {
        self.running -= 1;
    }

    /// The line of a saga, if it has one.
    pub(super) fn line_of(&self, tenant: Option<&Arc<str>>) -> Option<usize> {
        match tenant.filter(|_| self.limits.per_tenant) {
            None => Some(self.line),
            Some(tenant) => self.tenants.get(tenant).copied(),
        }
    }

    /// Is it time to give up lines that nobody needs?
    pub(super) fn is_to_be_swept(&self) -> bool {
        self.tenants.len() >= self.sweep_at
    }

    /// Gives up the lines that are `at_rest`, and answers them.
    pub(super) fn sweep(&mut self, at_rest: impl Fn(usize) -> bool) -> Vec<usize> {
        let given_up: Vec<usize> =
            self.tenants.extract_if(.., |_, line| at_rest(*line)).map(|(_, line)| line).collect();
        self.sweep_at = (2 * self.tenants.len()).max(SWEPT_FROM);
        given_up
    }
}
