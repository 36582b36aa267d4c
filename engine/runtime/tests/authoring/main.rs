//! What workflow authors write: definitions, their checks, and what becomes of a step's answers.

mod answers;
mod branches;
mod checks;
mod digest;
mod inputs;
mod numbers;
mod order;
mod panics;
mod steps;
mod values;
