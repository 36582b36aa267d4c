//! Posting mail. What consumes it is part of the [batch](super::batch).

use amends::ports::{Fault, Mail, Posted, SagaMail, StoredMail, WriteStats};
use amends_core::{Incarnation, SagaId};
use async_trait::async_trait;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{self, Row as _};
use sea_orm::{FromQueryResult as _, QueryResult};
use uuid::Uuid;

use super::PostgresStore;
use super::hints::Owner;
use super::runner::detached;
use super::sql;
use crate::entity::mail;
use crate::failure::{Failure, fault};
use crate::unit::Unit;

/// Posts a mail unless its saga has `$8` unread ones. The lock keeps the saga from being purged meanwhile; posters
/// do not wait for each other, so as many more may come as post at one instant.
const POST: &str = "WITH s AS MATERIALIZED \
      (SELECT id, owner FROM saga WHERE id = $2 AND phase <> 'purged' FOR KEY SHARE), \
    posted AS (INSERT INTO mail (id, saga_id, posted_at, kind, idempotency, actor, body) \
      SELECT $1, s.id, $3, $4, $5, $6, $7 FROM s \
      WHERE (SELECT count(*) FROM mail m WHERE m.saga_id = $2 AND m.consumed_seq IS NULL) < $8 \
      ON CONFLICT DO NOTHING RETURNING id) \
    SELECT s.owner FROM s, posted";

const PHASE: &str = "SELECT phase FROM saga WHERE id = $1";

const UNREAD: &str = "SELECT count(*) FROM mail WHERE saga_id = $1 AND consumed_seq IS NULL";

/// How many times a mail is posted when what it met is gone by the time one looks.
const POSTS_MAX: u32 = 5;

/// Posts one mail, or finds why not. With the owner of its saga, who is to be told.
struct Post {
    mail: Mail,
    open_max: u32,
}

#[async_trait]
impl Unit<PgConnection> for Post {
    type Done = (Posted, Option<Owner>);

    async fn run(&self, connection: &mut PgConnection) -> Result<Self::Done, Failure> {
        let Mail { id, saga, kind, key, actor, posted_at, body } = &self.mail;
        for _ in 0..POSTS_MAX {
            let post = sqlx::query(POST)
                .bind(*id)
                .bind(saga.0)
                .bind(posted_at.0)
                .bind(kind.word())
                .bind(&**key)
                .bind(&**actor)
                .bind(&**body)
                .bind(i64::from(self.open_max));
            if let Some(row) = post.fetch_optional(&mut *connection).await? {
                let owner: Option<Uuid> = row.try_get(0)?;
                return Ok((Posted::Accepted, Some(owner.map(Incarnation))));
            }
            if let Some(why_not) = self.why_not(connection).await? {
                return Ok((why_not, None));
            }
        }
        Err(Failure::Busy("what this mail met was gone each time one looked".to_owned()))
    }
}

impl Post {
    /// Each in a new statement: what the post waited for was not to be seen in the same one.
    async fn why_not(&self, connection: &mut PgConnection) -> Result<Option<Posted>, Failure> {
        let saga = self.mail.saga.0;
        let phase = sqlx::query_scalar(PHASE).bind(saga).fetch_optional(&mut *connection).await?;
        let phase: Option<String> = phase;
        match phase.as_deref() {
            None => return Ok(Some(Posted::NoSuchSaga)),
            Some("purged") => return Ok(Some(Posted::Purged)),
            Some(_) => {}
        }
        let standing = sqlx::query(sql::mail_of_key()).bind(saga).bind(&*self.mail.key);
        if let Some(row) = standing.fetch_optional(&mut *connection).await? {
            let model = mail::Model::from_query_result(&QueryResult::from(row), "");
            let known = model.map_err(fault).and_then(StoredMail::try_from).map_err(Failure::Fault)?;
            return Ok(Some(Posted::Known(Box::new(known))));
        }
        let open: i64 = sqlx::query_scalar(UNREAD).bind(saga).fetch_one(connection).await?;
        let open = u32::try_from(open).unwrap_or(u32::MAX);
        Ok((open >= self.open_max).then_some(Posted::Full { open }))
    }
}

#[async_trait]
impl SagaMail for PostgresStore {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        if let Some(reason) = mail.unstorable() {
            return Ok(Posted::Unstorable { reason });
        }
        let (runner, post) = (self.runner.clone(), Post { mail: mail.clone(), open_max });
        let posted = detached(async move {
            match runner.run(&post).await {
                Ok(posted) => Ok(posted),
                // Content that the database refuses is refused to the poster.
                Err(Failure::Content(reason)) => Ok((Posted::Unstorable { reason }, None)),
                Err(failure) => Err(failure.into_fault()),
            }
        });
        let (posted, told) = posted.await?;
        if let Some(owner) = told {
            self.hinting.give(owner);
        }
        let mail = u64::from(posted == Posted::Accepted);
        self.counters.add(&WriteStats { mail, ..WriteStats::default() });
        Ok(posted)
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.unread(incarnation, only, limit).await }).await
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.mail(saga, key).await }).await
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.mail_of(saga, limit).await }).await
    }
}
