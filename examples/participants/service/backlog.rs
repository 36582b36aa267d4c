//! What a participant has taken and does later. Its caller was told so and waits, so it is written down before
//! the answer is given, and a killed process goes on with it when it is started again.

use std::time::Duration;

use amends::core::{RequestId, SagaId, Timestamp};
use amends_workflows::ports::{Call, Fault};
use sea_orm::{DbErr, QueryResult};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::super::inventory::{Reserving, Restocking};
use super::super::payments::{Authorizing, Capturing, Settling};
use super::super::sql;
use super::{Effect, Failed, Service};

impl Service {
    /// Takes the work: it is done `after`. A repeat of the request changes nothing.
    pub(super) async fn take<E: Effect>(&self, call: &Call, after: Duration, ask: E) -> Result<(), Fault> {
        let due = self.0.clock.now() + after.mul_f64(self.0.pace);
        let asked = serde_json::to_string(&ask).map_err(|error| Fault::lost(error.to_string()))?;
        let insert = "INSERT INTO backlog VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
        let values = [
            call.request_id.to_string().into(),
            call.forward_request_id.to_string().into(),
            call.saga.to_string().into(),
            (&*call.business_key).into(),
            i64::from(call.attempt).into(),
            E::CALL.into(),
            asked.into(),
            due.0.into(),
        ];
        if sql::execute(&self.0.writer, insert, values).await.map_err(Failed::from)? == 1 {
            self.later(call.clone(), due, ask);
        }
        Ok(())
    }

    /// Goes on with what earlier processes took.
    pub(super) async fn take_up(&self) -> Result<(), DbErr> {
        for row in sql::all(&self.0.writer, "SELECT * FROM backlog ORDER BY due", []).await? {
            let name: String = row.try_get("", "call")?;
            match &*name {
                Reserving::CALL => self.take_up_one::<Reserving>(&row)?,
                Restocking::CALL => self.take_up_one::<Restocking>(&row)?,
                Authorizing::CALL => self.take_up_one::<Authorizing>(&row)?,
                Capturing::CALL => self.take_up_one::<Capturing>(&row)?,
                Settling::CALL => self.take_up_one::<Settling>(&row)?,
                other => return Err(DbErr::Type(format!("nobody works on `{other}` later"))),
            }
        }
        Ok(())
    }

    fn take_up_one<E: Effect + DeserializeOwned>(&self, row: &QueryResult) -> Result<(), DbErr> {
        let id = |column: &str| -> Result<Uuid, DbErr> {
            let text: String = row.try_get("", column)?;
            text.parse().map_err(|error: uuid::Error| DbErr::Type(error.to_string()))
        };
        let asked: String = row.try_get("", "asked")?;
        let ask: E = serde_json::from_str(&asked).map_err(|error| DbErr::Type(error.to_string()))?;
        let call = Call {
            request_id: RequestId(id("request_id")?),
            forward_request_id: RequestId(id("forward_request_id")?),
            attempt: u32::try_from(row.try_get::<i64>("", "attempt")?).unwrap_or(u32::MAX),
            fence_through: None,
            saga: SagaId(id("saga")?),
            business_key: row.try_get::<String>("", "business_key")?.into(),
            time_left: Duration::ZERO,
        };
        self.later(call, Timestamp(row.try_get("", "due")?), ask);
        Ok(())
    }

    /// Does it when it is due; until then it is heard of as being worked on. Whatever comes of it is kept by
    /// the barrier: nobody is listening here.
    fn later<E: Effect>(&self, call: Call, due: Timestamp, ask: E) {
        let service = self.clone();
        let running = self.heard_of(&call);
        tokio::spawn(async move {
            service.0.clock.sleep_until(due).await;
            let _ = service.work(&call, &ask).await;
            let delete = "DELETE FROM backlog WHERE request_id = $1";
            // If that fails the next process does it again, and meets the kept answer.
            let _ = sql::execute(&service.0.writer, delete, [call.request_id.to_string().into()]).await;
            drop(running);
        });
    }
}
