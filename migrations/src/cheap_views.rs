//! The views of events and of steps on PostgreSQL, so that reading them costs what there is to read: columns and rows
//! are those of the first schema.
//!
//! The server took every row of the journal for ten thousand events, thought the fold of one saga dearer than
//! a hundred thousand pages, and compiled the whole plan before it read a row: seconds, for a few hundred sagas.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::DbBackend;

pub(crate) struct CheapViews;

impl MigrationName for CheapViews {
    fn name(&self) -> &str {
        "m20261201_000002_cheap_views"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for CheapViews {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        // SQLite compiles nothing, and keeps its views.
        if manager.get_database_backend() == DbBackend::Postgres {
            let views = include_str!("cheap_views/postgres.sql");
            manager.get_connection().execute_unprepared(views).await?;
        }
        Ok(())
    }

    /// Nothing to take back: what reads the old views reads these.
    async fn down(&self, _manager: &SchemaManager) -> Result<(), DbErr> {
        Ok(())
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}
