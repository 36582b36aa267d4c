//! The machine under test: plans and scripts as text, the story that follows as a snapshot.
//!
//! [`plan_text`] reads a plan, [`script`] obeys a script line by line and holds every transition against the
//! laws in [`invariants`], [`story`] tells what happened. The chapters after them have one test per rule;
//! [`laws`] and [`chance`] let chance write plans and scripts, [`journals`] replays what earlier versions wrote,
//! [`format`] pins how facts are spelled, [`identity`] what others know a saga by, [`admission`] stands at the door,
//! [`hostile`] reads what no machine wrote, [`rules`] keeps `RULES.md` and the list of mutations true.

mod chance;
mod invariants;
mod plan_text;
mod script;
mod story;

mod answers;
mod branch_desk;
mod branches;
mod cases;
mod compensation;
mod crash;
mod deadlines;
mod disputes;
mod fences;
mod forward;
mod late;
mod news;
mod orders;
mod person;
mod pivot;
mod repeating;
mod requests;
mod retry;
mod turning;
mod unknown;
mod values;
mod verbs;
mod withdrawn;

mod admission;
mod format;
mod hostile;
mod identity;
mod journals;
mod laws;
mod lint;
mod rules;
