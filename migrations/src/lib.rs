//! The schema of the Amends store, and nothing else.
//!
//! Tables are spelled out as SQL, per backend, and never derived from entities: what an old migration created
//! must not change when an entity does. A released migration is not edited; a change is a new one.

mod cheap_views;
mod first;
mod migrator;
mod purged_by_time;

// The public interface is:
pub use migrator::Migrator;
pub use sea_orm_migration::MigratorTrait;
