//! The store on a real PostgreSQL server, which `tests/run` starts.

#[path = "../cases/both.rs"]
mod both;
mod bounds;
mod cases;
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
mod start_in;
#[path = "../cases/storage.rs"]
mod storage;
#[path = "../publishing/story.rs"]
mod story;
#[path = "../recording/told.rs"]
mod told;
mod views;
