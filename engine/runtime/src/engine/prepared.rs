//! Starts that somebody else commits: as rows of the caller's own transaction.

use std::sync::Arc;

use amends_core::machine::{Start, start};
use amends_core::{Incarnation, Json, SagaId, TransitionId};
use uuid::Uuid;

use super::{Engine, SagaStartError, StartOptions};
use crate::authoring::{Payload, Saga, kept, unwritable};
use crate::ports;
use crate::ports::{DefinitionRef, JournalRow, NewSaga, PreparedStart};
use crate::worker::Registered;

/// Who owns a saga that is born without owner.
const NOBODY: Incarnation = Incarnation(Uuid::nil());

impl Engine {
    /// Prepares a start that a store's adapter writes within the caller's own transaction, so that the saga exists if
    /// and only if that commits. Nothing is written here, and the same prepared start may be written once.
    ///
    /// The saga begins when a running engine next looks for sagas that are due: within
    /// [`Limits::claim_every`](crate::Limits::claim_every) of the commit.
    ///
    /// # Not guaranteed
    /// That the event `started` is published where the workflow's life is: its later events are.
    ///
    /// # Errors
    /// What [`Engine::start`] refuses at the door. Whether the key is taken shows when it is written.
    pub fn prepare_start<I: Payload, O>(
        &self,
        saga: &Saga<I, O>,
        key: impl AsRef<str>,
        input: I,
        options: StartOptions,
    ) -> Result<PreparedStart, SagaStartError> {
        let plan = saga.plan();
        let reference =
            DefinitionRef { workflow: plan.workflow.clone(), version: plan.version, digest: plan.digest.0 };
        let definition = self.registered(&reference)?;
        let input = Json::encode(&input).map_err(|error| SagaStartError::Input(unwritable(&error)))?;
        self.prepare(&definition, key.as_ref(), input, options)
    }

    /// The same from JSON, for the highest version of a workflow that is registered here.
    ///
    /// # Errors
    /// As [`Engine::prepare_start`].
    pub fn prepare_start_json(
        &self,
        workflow: &str,
        key: &str,
        input: Json,
        options: StartOptions,
    ) -> Result<PreparedStart, SagaStartError> {
        let definition = self.0.definitions.latest(workflow);
        let definition = definition.ok_or_else(|| SagaStartError::NotRegistered(workflow.to_owned()))?;
        self.prepare(&definition.clone(), key, input, options)
    }

    fn prepare(
        &self,
        definition: &Arc<Registered>,
        key: &str,
        input: Json,
        options: StartOptions,
    ) -> Result<PreparedStart, SagaStartError> {
        let input_digest = self.check_start(key, &input)?;
        if let Some(refused) = self.not_now(&definition.reference.workflow, options.occurred_at) {
            return Err(refused);
        }
        let at = self.now();
        let saga = SagaId(self.next_id(at));
        let key: Arc<str> = key.into();
        let StartOptions { occurred_at, trigger, trace, tenant } = options;
        ports::tenant(tenant.as_deref()).map_err(SagaStartError::Tenant)?;
        let labels = kept(definition.labels.as_ref(), &input, &definition.reference.workflow);
        let first = Start {
            saga,
            key: key.clone(),
            input,
            occurred_at,
            owner: NOBODY,
            trigger,
            trace,
            tenant: tenant.clone(),
        };
        let (state, events) = start(&definition.plan, first, at);
        let new = NewSaga {
            definition: definition.reference.clone(),
            key,
            input_digest,
            occurred_at: state.occurred_at,
            deadline: state.deadline,
            started_at: at,
            tenant,
            labels,
        };
        let journal = JournalRow {
            seq: 1,
            at,
            actor: Arc::from("engine"),
            transition: TransitionId(self.next_id(at)),
            events: serde_json::to_string(&events).expect("events have string keys only, so they encode"),
        };
        let fresh_until = self.0.limits.retention.fresh_until(new.occurred_at);
        Ok(PreparedStart { saga, new, journal, fresh_until })
    }
}
