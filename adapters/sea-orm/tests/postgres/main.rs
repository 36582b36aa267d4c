//! The store on a real PostgreSQL server, which `tests/run` starts.

mod bounds;
mod conformance;
mod faults;
mod hints;
#[path = "../views/kept.rs"]
mod kept;
mod lists;
mod nodes;
mod proxy;
mod publishing;
mod recording;
mod rows;
mod server;
#[path = "../publishing/story.rs"]
mod story;
#[path = "../recording/told.rs"]
mod told;
mod views;
