//! One row per mail.

use amends::ports::{Fault, Mail, MailKind, StoredMail};
use amends_core::{SagaId, Timestamp};
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "mail")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: Uuid,
    pub(crate) saga_id: Uuid,
    pub(crate) posted_at: i64,
    pub(crate) consumed_seq: Option<i64>,
    pub(crate) kind: String,
    pub(crate) idempotency: String,
    pub(crate) actor: String,
    pub(crate) body: String,
    pub(crate) answer: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for StoredMail {
    type Error = Fault;

    fn try_from(row: Model) -> Result<Self, Fault> {
        let id = row.id;
        let kind = MailKind::of(&row.kind)
            .ok_or_else(|| Fault::Corrupt(format!("mail {id} is of the kind `{}`", row.kind)))?;
        let consumed_seq = row.consumed_seq.map(u64::try_from).transpose();
        let consumed_seq = consumed_seq
            .map_err(|_| Fault::Corrupt(format!("mail {id} was consumed at a negative sequence")))?;
        let mail = Mail {
            id,
            saga: SagaId(row.saga_id),
            kind,
            key: row.idempotency.into(),
            actor: row.actor.into(),
            posted_at: Timestamp(row.posted_at),
            body: row.body,
        };
        Ok(Self { mail, consumed_seq, answer: row.answer })
    }
}
