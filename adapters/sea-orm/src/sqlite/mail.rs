//! Mail: posting it, and consuming it with the batch that decides it. Each inside an open transaction.

use amends::ports::{Fault, Mail, Posted, StoredMail};
use async_trait::async_trait;
use sea_orm::sqlx::sqlite::SqliteConnection;
use sea_orm::sqlx::{self, Row as _};
use sea_orm::{FromQueryResult as _, QueryResult};

use super::batch::Bound;
use super::sql;
use crate::entity::mail;
use crate::failure::{Failure, fault};
use crate::prepared::Prepared;
use crate::unit::Unit;

/// Posts one mail, or finds why not. The write lock is held, so what is found stands until the end.
pub(super) struct Post {
    pub(super) mail: Mail,
    pub(super) open_max: u32,
}

#[async_trait]
impl Unit<SqliteConnection> for Post {
    type Done = Posted;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Posted, Failure> {
        let Mail { saga, key, .. } = &self.mail;
        let phase = sqlx::query(sql::PHASE).bind(saga.0).fetch_optional(&mut *connection).await?;
        let Some(phase) = phase else { return Ok(Posted::NoSuchSaga) };
        if phase.try_get::<String, _>(0)? == "purged" {
            return Ok(Posted::Purged);
        }
        let standing = sqlx::query(sql::MAIL_OF_KEY).bind(saga.0).bind(key.clone());
        if let Some(row) = standing.fetch_optional(&mut *connection).await? {
            return Ok(Posted::Known(Box::new(stored(row)?)));
        }
        let open = sqlx::query(sql::MAIL_OPEN).bind(saga.0).fetch_one(&mut *connection).await?;
        let open = u32::try_from(open.try_get::<i64, _>(0)?).unwrap_or(u32::MAX);
        if open >= self.open_max {
            return Ok(Posted::Full { open });
        }
        insert(sql::MAIL_POST, &self.mail).execute(&mut *connection).await?;
        Ok(Posted::Accepted)
    }
}

fn insert(text: &'static str, mail: &Mail) -> Bound {
    let Mail { id, saga, kind, key, actor, posted_at, body } = mail;
    sqlx::query(text)
        .bind(*id)
        .bind(saga.0)
        .bind(posted_at.0)
        .bind(kind.word())
        .bind(key.clone())
        .bind(actor.clone())
        .bind(body.clone())
}

fn stored(row: sqlx::sqlite::SqliteRow) -> Result<StoredMail, Failure> {
    let model = mail::Model::from_query_result(&QueryResult::from(row), "");
    let model = model.map_err(|error| Failure::Fault(fault(error)))?;
    StoredMail::try_from(model).map_err(|fault: Fault| Failure::Fault(fault))
}

/// Consumes the mail of accepted commits; how many rows that changed.
pub(super) async fn consume(
    connection: &mut SqliteConnection,
    accepted: &[&Prepared],
) -> Result<u64, Failure> {
    let mut consumed = 0;
    for commit in accepted {
        for mail in &commit.mail {
            let write = match &mail.brought {
                Some(brought) => insert(sql::MAIL_BRING, brought).bind(commit.seq).bind(mail.answer.clone()),
                None => sqlx::query(sql::MAIL_CONSUME)
                    .bind(commit.seq)
                    .bind(mail.answer.clone())
                    .bind(mail.id)
                    .bind(commit.saga),
            };
            consumed += write.execute(&mut *connection).await?.rows_affected();
        }
    }
    Ok(consumed)
}
