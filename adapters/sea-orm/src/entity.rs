//! The tables that are read, as SeaORM entities. The schema itself is spelled out in the migrations.

pub(crate) mod compensation;
pub(crate) mod control;
pub(crate) mod control_order;
pub(crate) mod intake;
pub(crate) mod journal;
pub(crate) mod mail;
pub(crate) mod outbox;
pub(crate) mod saga;
pub(crate) mod work_item;
pub(crate) mod worker;
