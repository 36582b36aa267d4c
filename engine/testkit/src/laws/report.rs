//! What a broken law says.

use std::any::Any;
use std::fmt::Write as _;

use super::cases::Case;
use crate::world::World;

/// One run that broke a law.
pub(super) struct Violation {
    title: &'static str,
    /// A law's own run; the others only prepare for it.
    of_law: bool,
    fault: String,
    what: String,
    transitions: usize,
    timelines: String,
}

impl Violation {
    pub(super) fn new(case: &Case, what: String, world: &World) -> Self {
        let views = world.views();
        let mut timelines = String::new();
        for view in &views {
            let _ = writeln!(timelines, "{}", view.timeline());
        }
        let transitions = views.iter().map(|view| view.journal().len()).sum();
        Self {
            title: case.title(),
            of_law: case.law.is_some(),
            fault: case.told(),
            what,
            transitions,
            timelines,
        }
    }
}

/// The report of the violation that is shortest to read; of the first such, if several are.
pub(super) fn shortest(violations: Vec<Violation>, seed: u64) -> Option<String> {
    let count = violations.len();
    let shortest =
        violations.into_iter().min_by_key(|violation| (violation.transitions, !violation.of_law))?;
    let Violation { title, fault, what, transitions, timelines, .. } = shortest;
    let others = match count {
        1 => "the only failing run".to_owned(),
        _ => format!("the shortest of {count} failing runs"),
    };
    Some(format!(
        "a law is broken: {title}\nfault: {fault}\nfound: {what}\nseed:  {seed}\n\
         {others}, {transitions} transitions:\n\n{timelines}"
    ))
}

/// What a panic of the author's check said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the check panicked".to_owned())
}
