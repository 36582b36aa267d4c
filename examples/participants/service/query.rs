//! What became of a call: what is kept, what is being worked on, or what a query is planned to say instead.

use std::sync::PoisonError;

use amends::prelude::{Finding, UndoFinding};
use amends_barrier::{self as barrier, Outcome};
use amends_workflows::ports::{Call, Fault};
use sea_orm::{DbErr, TransactionTrait};

use super::super::fault::{Fate, Kind};
use super::super::sql;
use super::{Effect, Failed, Service, Undoing};

impl Service {
    /// Says what became of the effect `E` under `call.request_id`.
    pub(in super::super) async fn query<E: Effect>(
        &self,
        call: &Call,
    ) -> Result<Finding<E::Output, E::Refusal>, Fault> {
        match self.query_fate(call, E::CALL).await? {
            Some(Kind::Absent) => return Ok(Finding::Absent),
            Some(Kind::Unclear) => return Ok(Finding::Unclear("state `weird`".to_owned())),
            _ if self.is_running(call) => return Ok(Finding::InProgress),
            _ => {}
        }
        let (id, fence) = (call.request_id.0, call.fence_through);
        let found = match fence {
            Some(_) => {
                barrier::in_transaction(&self.0.writer, async |txn| {
                    barrier::query::<E::Output, E::Refusal>(txn, id, fence).await
                })
                .await
            }
            None => {
                let txn = self.0.reader.begin().await.map_err(Failed::from)?;
                barrier::query(&txn, id, None).await
            }
        };
        Ok(match found.map_err(Failed::from)? {
            barrier::Finding::Kept(Outcome::Success(output)) => Finding::Applied(output),
            barrier::Finding::Kept(Outcome::Partial(output)) => Finding::Partial(output),
            barrier::Finding::Kept(Outcome::Refused(reason)) => Finding::Refused(reason),
            barrier::Finding::Fenced(fence) => Finding::Fenced { through: fence.through() },
            barrier::Finding::InProgress => Finding::InProgress,
            barrier::Finding::Absent => Finding::Absent,
        })
    }

    /// Says what became of the compensation `U` under `call.request_id`.
    pub(in super::super) async fn query_undo<U: Undoing>(&self, call: &Call) -> Result<UndoFinding, Fault> {
        match self.query_fate(call, U::CALL).await? {
            Some(Kind::Absent) => return Ok(UndoFinding::Absent),
            Some(Kind::Unclear) => return Ok(UndoFinding::Unclear("state `weird`".to_owned())),
            _ if self.is_running(call) => return Ok(UndoFinding::InProgress),
            _ => {}
        }
        let (id, fence) = (call.request_id.0, call.fence_through);
        let found = match fence {
            Some(_) => {
                barrier::in_transaction(&self.0.writer, async |txn| {
                    barrier::query_compensation(txn, id, fence).await
                })
                .await
            }
            None => {
                let txn = self.0.reader.begin().await.map_err(Failed::from)?;
                barrier::query_compensation(&txn, id, None).await
            }
        };
        Ok(match found.map_err(Failed::from)? {
            barrier::Finding::Kept(barrier::Undo::Undone) => UndoFinding::Undone,
            barrier::Finding::Kept(barrier::Undo::NothingToUndo) => UndoFinding::NothingToUndo,
            barrier::Finding::Fenced(fence) => UndoFinding::Fenced { through: fence.through() },
            barrier::Finding::InProgress => UndoFinding::InProgress,
            barrier::Finding::Absent => UndoFinding::Absent,
        })
    }

    /// What is planned for a query, waited out where it is a wait. Counts the query where any is planned.
    async fn query_fate(&self, call: &Call, name: &str) -> Result<Option<Kind>, Fault> {
        let name = format!("{name}/query");
        self.learn(&call.business_key).await?;
        let known =
            self.0.plan.read().unwrap_or_else(PoisonError::into_inner).knows(&call.business_key, &name);
        if !known {
            return Ok(None);
        }
        let number = self.count(call, &name).await.map_err(Failed::from)?;
        let fate = {
            let plan = self.0.plan.read().unwrap_or_else(PoisonError::into_inner);
            plan.fate(&call.business_key, &name, number)
        };
        match fate {
            Some(Fate { kind: Kind::Slow, after }) => {
                self.wait(after).await;
                Ok(None)
            }
            Some(Fate { kind: kind @ (Kind::Absent | Kind::Unclear), .. }) => Ok(Some(kind)),
            Some(fate) => Err(self.failure(fate)),
            None => Ok(None),
        }
    }

    /// How often it was asked so about this business key, this time included.
    pub(super) async fn count(&self, call: &Call, name: &str) -> Result<u32, DbErr> {
        let count = "INSERT INTO query_count VALUES ($1, $2, 1) \
                     ON CONFLICT (business_key, call) DO UPDATE SET queries = query_count.queries + 1 RETURNING queries";
        let row = sql::first(&self.0.writer, count, [(&*call.business_key).into(), name.into()]).await?;
        let row = row.ok_or_else(|| DbErr::RecordNotFound("the count of queries".to_owned()))?;
        Ok(u32::try_from(row.try_get::<i64>("", "queries")?).unwrap_or(u32::MAX))
    }
}
