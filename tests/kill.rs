//! The real shop is killed with SIGKILL, again and again, and started again: in the end it is the same.
//!
//! Moments are drawn from a seed that is printed (`SHOP_KILL_SEED=… cargo test --test kill` gives the
//! same ones); some are aimed, by looking into the database: while a compensation is under way, and while
//! a capture is unknown. The only payment in the short file is paperless: a receipt on paper is
//! settled by a person alone, so a kill in the middle of it rightly leaves an item on a desk.
//!
//! On PostgreSQL the next process waits until the lease of the dead one has passed, and what the dead one had sent to
//! the database may still be written after it: `tests/chaos.rs` has many processes there, and no undisturbed run to compare
//! with; this has one process, and everything is compared.

#[path = "kill/moments.rs"]
mod moments;
#[path = "shop/process.rs"]
mod process;
#[path = "kill/same.rs"]
mod same;
#[path = "shop/schemas.rs"]
mod schemas;

use std::time::Duration;

use moments::{Killed, Place};
use process::look_into;
use schemas::Schemas;
use sea_orm::DatabaseConnection;
use tempfile::TempDir;

/// A file, and the one of the participants beside it.
struct File(TempDir);

impl Place for File {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder can be made"))
    }

    fn args(&self) -> Vec<String> {
        let file = self.0.path().join("shop.db").into_os_string().into_string();
        vec!["--database".to_owned(), file.expect("paths are in UTF-8")]
    }

    async fn engine(&self) -> DatabaseConnection {
        look_into(&self.0.path().join("shop.db")).await
    }

    async fn participants(&self) -> DatabaseConnection {
        look_into(&self.0.path().join("shop.db.participants")).await
    }
}

/// How long a process on PostgreSQL counts as alive after its last word, in seconds.
const LEASE: &str = "0.5";

impl Place for Schemas {
    fn new() -> Self {
        Self::new()
    }

    fn args(&self) -> Vec<String> {
        ["--database", &self.url(), "--lease", LEASE].map(str::to_owned).to_vec()
    }

    async fn engine(&self) -> DatabaseConnection {
        self.engine().await
    }

    async fn participants(&self) -> DatabaseConnection {
        self.of_participants().await
    }
}

#[tokio::test]
async fn killed_at_twenty_moments_the_shop_ends_as_if_it_had_not_been() {
    let killed = moments::kill::<File>(20, 5, Duration::from_millis(1_200)).await;
    assert_the_worst_was_met(&killed);
    // And the journals tell of it: the next thing that happened to those sagas is that they were taken over.
    assert!(killed.taken_over_undoing > 0, "no saga was taken over in the middle of a compensation");
    assert!(killed.taken_over_unknown > 0, "no saga was taken over with an unknown capture");
}

#[tokio::test]
async fn killed_at_eight_moments_on_postgres_the_shop_ends_as_if_it_had_not_been() {
    let killed = moments::kill::<Schemas>(8, 4, Duration::from_millis(1_200)).await;
    assert_the_worst_was_met(&killed);
}

#[track_caller]
fn assert_the_worst_was_met(killed: &Killed) {
    assert!(killed.compensating > 0, "no kill came while a compensation was under way");
    assert!(killed.unknown > 0, "no kill came while a capture was unknown");
}
