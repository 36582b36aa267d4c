//! A finished definition.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use amends_core::SagaPlan;
use amends_core::plan::draw;

use super::labels::Labeller;
use super::node::{Condition, Node};
use crate::ports::DefinitionRef;

/// A workflow that takes an `I` and gives an `O`. Cheap to clone; register it with an engine.
pub struct Saga<I, O> {
    pub(crate) plan: Arc<SagaPlan>,
    pub(crate) nodes: Arc<[Arc<dyn Node>]>,
    pub(crate) conditions: Arc<[Condition]>,
    pub(crate) timeouts: Arc<[Option<Duration>]>,
    pub(crate) labels: Option<Labeller>,
    of: PhantomData<fn(I) -> O>,
}

impl<I, O> Saga<I, O> {
    pub(crate) fn new(
        plan: SagaPlan,
        nodes: Vec<Arc<dyn Node>>,
        conditions: Vec<Condition>,
        timeouts: Vec<Option<Duration>>,
        labels: Option<Labeller>,
    ) -> Self {
        Self {
            plan: Arc::new(plan),
            nodes: nodes.into(),
            conditions: conditions.into(),
            timeouts: timeouts.into(),
            labels,
            of: PhantomData,
        }
    }

    /// Its shape. Policy numbers are filled in at registration.
    pub fn plan(&self) -> &SagaPlan {
        &self.plan
    }

    /// What stores know it by.
    pub(crate) fn reference(&self) -> DefinitionRef {
        let SagaPlan { workflow, version, digest, .. } = &*self.plan;
        DefinitionRef { workflow: workflow.clone(), version: *version, digest: digest.0 }
    }

    /// The DAG as a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        draw::mermaid(&self.plan)
    }

    /// The DAG in Graphviz' DOT language.
    pub fn dot(&self) -> String {
        draw::dot(&self.plan)
    }

    /// The DAG as JSON.
    pub fn json(&self) -> String {
        draw::json(&self.plan)
    }

    /// The DAG as a picture for terminals.
    pub fn text(&self) -> String {
        draw::text(&self.plan)
    }
}

impl<I, O> Clone for Saga<I, O> {
    fn clone(&self) -> Self {
        Self {
            plan: self.plan.clone(),
            nodes: self.nodes.clone(),
            conditions: self.conditions.clone(),
            timeouts: self.timeouts.clone(),
            labels: self.labels.clone(),
            of: PhantomData,
        }
    }
}

impl<I, O> std::fmt::Debug for Saga<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Saga({} version {}, digest {})", self.plan.workflow, self.plan.version, self.plan.digest)
    }
}
