//! One saga, as people see and move it.

use amends_core::agenda::{VerbOffer, Wait, verbs};
use amends_core::event::Answer;
use amends_core::machine::{Approval, CompensationOrder, PersonFinding};
use amends_core::{ActionId, Direction, Incarnation, Json, SagaId, Timestamp};
use uuid::Uuid;

use super::by::{evidence, said};
use super::{By, OperateError, Risky};
use crate::Engine;
use crate::engine::ViewError;
use crate::letter::{Ask, Letter, unspell};
use crate::ports::{Fault, MailKind};
use crate::view::{Deferral, SagaView};

/// The most mail of one saga that is shown.
const MAIL_SHOWN_MAX: u32 = 1_000;

/// The longest note on a desk item, and the longest reason code, in bytes.
const NOTE_BYTES_MAX: usize = 1_000;

/// One saga, to be looked at or asked something. Each verb says where it is possible and what it does; anywhere
/// else it is refused with the state as the reason.
///
/// # Errors
/// All verbs end as [`OperateError`] says. After [`OperateError::Unanswered`], [`OperateError::Stopped`] and
/// [`OperateError::Store`] ask again under the same operation id.
#[derive(Clone, Debug)]
pub struct OperatedSaga {
    engine: Engine,
    saga: SagaId,
}

/// What is recorded of a saga, and who moves it.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// Its state, its desk entries and its story.
    pub view: SagaView,
    /// The process that advances it; none while nothing of it is under way.
    pub owner: Option<Incarnation>,
    /// When it goes on by itself, if it sleeps outside memory.
    pub wake_at: Option<Timestamp>,
}

impl Inspected {
    /// Why is it not moving? Every part that is not settled, with what it waits for; empty once it has ended and
    /// nothing is open.
    pub fn waits(&self) -> &[Wait] {
        &self.view.waits
    }

    /// Of what waits for a permit: which one is missing, for instance that of a dependency whose breaker is open.
    /// Empty if another engine has the saga in memory, for only that one knows.
    pub fn deferrals(&self) -> &[Deferral] {
        &self.view.deferrals
    }
}

/// Something that a person asked, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The verb, as journals spell it.
    pub verb: String,
    /// Who, why and under which id.
    pub by: By,
    /// When it was posted.
    pub at: Timestamp,
    /// The answer it was given; none while it waits to be decided.
    pub answer: Option<Answer>,
    /// The journal's sequence at which it was decided.
    pub seq: Option<u64>,
}

/// A compensation that a person wants: a new business action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompensationDemand {
    /// The step whose effect is to be undone.
    pub step: String,
    /// Brought by the requester, stable: the same id again is the same compensation.
    pub id: Uuid,
    /// From your controlled vocabulary.
    pub reason_code: String,
    /// Who approves it: another person, or a policy that allows it.
    pub approval: Approval,
    /// The state and version that the compensation expects to find.
    pub expected: Option<Json>,
    /// What it would do.
    pub proposed: Option<Json>,
    /// What it touches.
    pub affected: Option<Json>,
    /// What a dry run showed.
    pub dry_run: Option<Json>,
}

impl CompensationDemand {
    /// A compensation that another person has to approve.
    pub fn new(step: impl Into<String>, id: Uuid, reason_code: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            id,
            reason_code: reason_code.into(),
            approval: Approval::AnotherPerson,
            expected: None,
            proposed: None,
            affected: None,
            dry_run: None,
        }
    }

    /// The action that it will be: `step/manual:<id>`. Its approval names this.
    pub fn action(&self) -> ActionId {
        ActionId { step: self.step.as_str().into(), direction: Direction::Manual(self.id) }
    }
}

impl OperatedSaga {
    pub(super) fn new(engine: Engine, saga: SagaId) -> Self {
        Self { engine, saga }
    }

    /// Its id.
    pub fn id(&self) -> SagaId {
        self.saga
    }

    // --- looking ----------------------------------------------------------------------------------------------

    /// Everything that is recorded, and why it is not moving.
    ///
    /// # Errors
    /// See [`ViewError`].
    pub async fn inspect(&self) -> Result<Inspected, ViewError> {
        let view = self.engine.inspect(self.saga).await?;
        let (row, _) = self.engine.row(self.saga).await?.ok_or(ViewError::Unknown(self.saga))?;
        Ok(Inspected { view, owner: row.owner, wake_at: row.wake_at })
    }

    /// Every verb with the answer that it would get now: what it would write, or why it would be refused.
    ///
    /// # Errors
    /// See [`ViewError`].
    pub async fn verbs(&self) -> Result<Vec<VerbOffer>, ViewError> {
        let view = self.engine.inspect(self.saga).await?;
        Ok(verbs(view.plan(), view.state(), self.engine.now()))
    }

    /// Everything that people have asked of it, done or refused, with the answers: the oldest 1 000.
    ///
    /// # Errors
    /// When the store does not answer, or what was asked cannot be read.
    pub async fn asked(&self) -> Result<Vec<Asking>, Fault> {
        let mut asked = Vec::new();
        for stored in self.engine.mail().mail_of(self.saga, MAIL_SHOWN_MAX).await? {
            if stored.mail.kind != MailKind::Operator {
                continue;
            }
            let Letter::Asked(ask, operation) = Letter::read(&stored.mail).map_err(Fault::Corrupt)? else {
                continue;
            };
            let answer = stored.answer.as_deref().map(unspell).transpose().map_err(Fault::Corrupt)?;
            asked.push(Asking {
                verb: format!("{:?}", ask.verb()),
                by: operation.into(),
                at: stored.mail.posted_at,
                answer,
                seq: stored.consumed_seq,
            });
        }
        Ok(asked)
    }

    // --- which way it goes ------------------------------------------------------------------------------------

    /// Asks it to turn back. Answered so that the answer matches what then happens: accepted, too late, already,
    /// or pending while the pivot is in doubt.
    pub async fn cancel(&self, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Cancel {}, by).await
    }

    /// Turns it back as its operator: the same as [`cancel`](Self::cancel), under another name in the journal.
    pub async fn turn_back(&self, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::TurnBack {}, by).await
    }

    /// Rejects a quarantined forward action before the pivot has succeeded: the saga turns back.
    pub async fn reject(&self, action: ActionId, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Reject { action }, by).await
    }

    /// Does without a step after the pivot that has had no effect: it is skipped, and what needs its result is
    /// quarantined.
    pub async fn waive(&self, action: ActionId, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Waive { action }, by).await
    }

    /// No new attempt of any kind starts; what runs ends, queries and news go on.
    pub async fn pause(&self, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Pause {}, by).await
    }

    /// Attempts may start again, and the deadlines that passed meanwhile are decided.
    pub async fn unpause(&self, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Unpause {}, by).await
    }

    // --- let something go on ----------------------------------------------------------------------------------

    /// Lets a scheduled retry begin now, without its delay; of an unknown outcome that is settled by query, asks now.
    /// Never re-executes what may have taken effect.
    pub async fn retry_now(&self, action: ActionId, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::RetryNow { action }, by).await
    }

    /// Lets a quarantined action go on with a fresh budget that the journal states, under the same request id.
    pub async fn resume(&self, action: ActionId, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Resume { action }, by).await
    }

    /// Transmits an action of unknown outcome once more, under the same request id, within the key retention that its
    /// contract states. Later only [at your own risk](Risky::send_again_despite).
    pub async fn send_again(&self, action: ActionId, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::SendAgain { action, override_reason: None }, by).await
    }

    /// Puts the next query about an unknown outcome off until then; the desk item stays.
    pub async fn keep(&self, action: ActionId, until: Timestamp, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Keep { action, until }, by).await
    }

    // --- say what an outcome is -------------------------------------------------------------------------------

    /// Settles a quarantined, unknown or disputed action as applied, on a person's word and evidence. The result must
    /// decode as the step's output, and may be missing only if nothing needs it; of a compensation it is `"Undone"` or
    /// `"NothingToUndo"`.
    pub async fn accept(
        &self,
        action: ActionId,
        output: Option<Json>,
        evidence: impl Into<String>,
        by: By,
    ) -> Result<Answer, OperateError> {
        self.ask(Ask::Accept { action, output, evidence: evidence.into() }, by).await
    }

    /// Settles an unknown or disputed action with what a person found.
    pub async fn found(
        &self,
        action: ActionId,
        finding: PersonFinding,
        evidence: impl Into<String>,
        by: By,
    ) -> Result<Answer, OperateError> {
        self.ask(Ask::Found { action, finding, evidence: evidence.into() }, by).await
    }

    /// Supplies the result of a step that succeeded and whose result could not be recorded. It must decode as the
    /// step's output; what was quarantined for want of it goes on.
    pub async fn supply(
        &self,
        action: ActionId,
        output: Json,
        evidence: impl Into<String>,
        by: By,
    ) -> Result<Answer, OperateError> {
        self.ask(Ask::Supply { action, output, evidence: evidence.into() }, by).await
    }

    // --- undo -------------------------------------------------------------------------------------------------

    /// Requests a compensation of an effect that is in place, once the saga has ended or is past its pivot.
    /// `Pending` until another person approves it, unless a policy allows it; the same id again is `Already`.
    pub async fn compensate(&self, demand: CompensationDemand, by: By) -> Result<Answer, OperateError> {
        said("the reason code", &demand.reason_code, NOTE_BYTES_MAX)?;
        let action = demand.action();
        let CompensationDemand { reason_code, approval, expected, proposed, affected, dry_run, .. } = demand;
        let order = CompensationOrder { reason_code, approval, expected, proposed, affected, dry_run };
        self.ask(Ask::Compensate { action, order }, by).await
    }

    /// Approves a requested or stale compensation, as another person than the requester.
    pub async fn approve(&self, compensation: ActionId, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Approve { request: compensation.to_string() }, by).await
    }

    /// Denies a requested or stale compensation, or (by its operation id) a request to close.
    pub async fn deny(&self, request: impl ToString, by: By) -> Result<Answer, OperateError> {
        self.ask(Ask::Deny { request: request.to_string() }, by).await
    }

    // --- notes ------------------------------------------------------------------------------------------------

    /// Says who works on a desk item. `item` is `step/direction`, or empty for the saga's own.
    pub async fn assign(
        &self,
        item: impl Into<String>,
        assignee: impl Into<String>,
        by: By,
    ) -> Result<Answer, OperateError> {
        let (item, assignee) = (item.into(), assignee.into());
        said("the assignee", &assignee, NOTE_BYTES_MAX)?;
        self.ask(Ask::Assign { item, assignee }, by).await
    }

    /// Says what was decided about a desk item. Nothing else changes.
    pub async fn set_disposition(
        &self,
        item: impl Into<String>,
        disposition: impl Into<String>,
        by: By,
    ) -> Result<Answer, OperateError> {
        let (item, disposition) = (item.into(), disposition.into());
        said("the disposition", &disposition, NOTE_BYTES_MAX)?;
        self.ask(Ask::SetDisposition { item, disposition }, by).await
    }

    /// What may do something twice, undo what may not have happened, or end what is not finished.
    pub fn risky(&self) -> Risky<'_> {
        Risky::new(self)
    }

    /// Refuses at the door what the journal could not keep, then posts it.
    pub(crate) async fn ask(&self, ask: Ask, by: By) -> Result<Answer, OperateError> {
        match &ask {
            Ask::Accept { evidence: said, .. }
            | Ask::Found { evidence: said, .. }
            | Ask::Supply { evidence: said, .. } => {
                evidence(said)?;
            }
            _ => {}
        }
        if let Some((action, output)) = ask.output() {
            self.engine.check_output(self.saga, action, output).await?;
        }
        self.engine.ask_by_mail(self.saga, ask, by).await
    }
}
