//! The order of the migrations.

use sea_orm_migration::prelude::*;

use crate::cheap_views::CheapViews;
use crate::first::First;
use crate::purged_by_time::PurgedByTime;

/// Every migration, in order. `Migrator::up(connection, None)` brings a database to the newest schema.
#[derive(Debug)]
pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(First), Box::new(CheapViews), Box::new(PurgedByTime)]
    }

    /// The store may share a database with the caller's own migrations.
    fn migration_table_name() -> DynIden {
        "amends_migration".into_iden()
    }
}
