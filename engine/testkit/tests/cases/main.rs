//! The cases of `tests/cases.md` that need neither a broker nor several nodes: each is a bug that another
//! engine had, told as a story of a whole world, and named for its symptom. What a case says of numbers (calls,
//! attempts, effects, times) is what its test looks at. Where the law and a case differ, the law wins, and the
//! test says so.

mod kit;

mod late;
mod map;
mod persons;
mod recording;
mod recovery;
mod retry;
mod starts;
mod turning;
mod undoing;
mod unknown;
mod versions;
