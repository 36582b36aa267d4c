//! The first schema: sagas and their journals, desks, messages in and out, people's decisions, nodes.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::DbBackend;

pub(crate) struct First;

impl MigrationName for First {
    fn name(&self) -> &str {
        "m20261130_000001_first"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for First {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let (tables, views) = match manager.get_database_backend() {
            DbBackend::Sqlite => {
                (include_str!("first/sqlite/tables.sql"), include_str!("first/sqlite/views.sql"))
            }
            DbBackend::Postgres => {
                (include_str!("first/postgres/tables.sql"), include_str!("first/postgres/views.sql"))
            }
            other => return Err(DbErr::Migration(format!("no schema for {other:?}"))),
        };
        manager.get_connection().execute_unprepared(tables).await?;
        manager.get_connection().execute_unprepared(views).await?;
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.get_connection().execute_unprepared(include_str!("first/down.sql")).await?;
        Ok(())
    }

    /// Whole or not at all, also on SQLite, where the default is no transaction.
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}
