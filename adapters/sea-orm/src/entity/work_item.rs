//! What waits for a person.

use amends::ports::{Fault, WorkItemRow};
use amends_core::Timestamp;
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "work_item")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) saga_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) item: String,
    pub(crate) desk: String,
    pub(crate) reason: String,
    pub(crate) since: i64,
    pub(crate) workflow: String,
    pub(crate) step: String,
    pub(crate) direction: String,
    pub(crate) effect: String,
    pub(crate) fingerprint: String,
    pub(crate) attempts: i32,
    pub(crate) error_kind: Option<String>,
    pub(crate) error_code: Option<String>,
    pub(crate) error_rule: Option<String>,
    pub(crate) classifier_version: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// The static word that `text` is, so that desks read from the store compare equal to those computed.
fn word(column: &str, text: &str, of: &[&'static str]) -> Result<&'static str, Fault> {
    let found = of.iter().copied().find(|word| *word == text);
    found.ok_or_else(|| Fault::Corrupt(format!("work_item.{column} holds `{text}`, not one of {of:?}")))
}

impl TryFrom<Model> for WorkItemRow {
    type Error = Fault;

    fn try_from(row: Model) -> Result<Self, Fault> {
        let attempts = u32::try_from(row.attempts)
            .map_err(|_| Fault::Corrupt(format!("work item {} of {} attempts", row.item, row.attempts)))?;
        Ok(Self {
            desk: word("desk", &row.desk, &["quarantine", "reconciliation", "approval", "discrepancy"])?,
            effect: word("effect", &row.effect, &["none", "possible", "applied", "partial"])?,
            item: row.item,
            reason: row.reason,
            since: Timestamp(row.since),
            workflow: row.workflow.into(),
            step: row.step,
            direction: row.direction,
            fingerprint: row.fingerprint,
            attempts,
            error_kind: row.error_kind,
            error_code: row.error_code,
            error_rule: row.error_rule,
            classifier: row.classifier_version,
        })
    }
}
