//! Indexes for purging: messages in intake by when they were closed, orders about controls by when they were given.
//!
//! Each look for what may go read all of both tables, once a minute and on every node.

use sea_orm_migration::prelude::*;

pub(crate) struct PurgedByTime;

impl MigrationName for PurgedByTime {
    fn name(&self) -> &str {
        "m20261201_000003_purged_by_time"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for PurgedByTime {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let indexes = "CREATE INDEX intake_closed ON intake (closed_at) WHERE closed_at IS NOT NULL; \
            CREATE INDEX control_order_at ON control_order (at);";
        manager.get_connection().execute_unprepared(indexes).await?;
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let indexes = "DROP INDEX control_order_at; DROP INDEX intake_closed;";
        manager.get_connection().execute_unprepared(indexes).await?;
        Ok(())
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}
