//! Publishing from a PostgreSQL database.

use std::sync::Arc;

use crate::server::OneSchema;
use crate::story;

#[tokio::test(flavor = "multi_thread")]
async fn another_node_publishes_what_a_killed_one_left() {
    let schema = OneSchema::new();
    schema.create().await;
    let open = async || Arc::new(schema.open(&schema.url()).await);
    // The first store is not closed: its node is dead only because its lease runs out.
    story::run(open().await, async |_first| open().await).await;
}
