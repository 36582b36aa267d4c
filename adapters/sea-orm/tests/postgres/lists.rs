//! Lists over rows that somebody has damaged.

use amends::ports::{DeskFilter, DeskQuery as _, SagaFilter, SagaQuery as _, SagaStore as _};
use amends_core::SagaId;

use crate::rows::{ME, T0, accept, saga, start};
use crate::server::OneSchema;

#[tokio::test]
async fn g20_a_damaged_row_is_named_in_its_page_and_hides_no_other() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &[0, 1, 2, 3].map(start)).await;
    schema.sql("UPDATE saga SET digest = '\\x07' WHERE key = 'order-1'").await;
    schema.sql("UPDATE saga SET version = -1 WHERE key = 'order-2'").await;
    let entry = "INSERT INTO work_item (saga_id, item, desk, reason, since, workflow, step, direction, effect, \
        fingerprint) SELECT id, '', 'quarantine', 'late', 1, workflow, '', '', CASE key WHEN 'order-0' THEN \
        'some' ELSE 'none' END, 'f' FROM saga WHERE key IN ('order-0', 'order-3')";
    schema.sql(entry).await;

    let page = store.list(&SagaFilter { limit: 10, ..SagaFilter::default() }).await.expect("it lists");
    let rows: Vec<SagaId> = page.rows.iter().map(|row| row.id).collect();
    let damaged: Vec<SagaId> = page.damaged.iter().map(|damaged| damaged.saga).collect();
    assert_eq!((rows, damaged), (vec![saga(0), saga(3)], vec![saga(1), saga(2)]));
    let desk = store.desk_page(&DeskFilter::default()).await.expect("it lists");
    assert_eq!((desk.entries.len(), desk.entries[0].saga), (1, saga(3)));
    assert_eq!((desk.damaged.len(), desk.damaged[0].saga), (1, saga(0)));
    store.close().await;
}
