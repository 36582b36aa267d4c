//! The schema of the Amends store, and nothing else.
//!
//! Tables are spelled out as SQL, per backend, and never derived from entities: what an old migration created
//! must not change when an entity does. A released migration is not edited; a change is a new one.

mod first;

use sea_orm_migration::prelude::*;

// The public interface is:
pub use sea_orm_migration::MigratorTrait;

/// Every migration, in order. `Migrator::up(connection, None)` brings a database to the newest schema.
#[derive(Debug)]
pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(first::First)]
    }

    /// The store may share a database with the caller's own migrations.
    fn migration_table_name() -> DynIden {
        "amends_migration".into_iden()
    }
}
