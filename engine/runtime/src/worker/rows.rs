//! What stands beside the journal in the store, computed from what a transition changed. Pure.

use std::borrow::Cow;

use amends_core::agenda::DeskItem;
use amends_core::event::{FailureKind, JournalEvent, Recorded, TurnReason};
use amends_core::state::{Phase, Stage};
use amends_core::{ActionId, Direction, Json, SagaPlan, SagaState, Timestamp};

use crate::ports::{
    CompensationChange, CompensationParticulars, ItemChange, Release, SagaChange, WORK_ITEM_TEXT_BYTES_MAX,
    WorkItemRow,
};

/// What the store shows of a saga now: all that must be kept of the state before a transition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shown {
    /// Its phase; none for a saga that does not exist yet.
    pub(super) phase: Option<Phase>,
    /// Its desk entries.
    pub(super) items: Vec<DeskItem>,
    /// Its compensation records, by action.
    pub(super) records: Vec<(ActionId, Record)>,
}

/// Where a compensation record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// Written, not ended.
    Open,
    /// Ended.
    Ended,
}

/// How a transition changed a saga's desk entries.
#[derive(Debug, Default)]
pub(super) struct DeskChange {
    /// For the store.
    pub(super) changes: Vec<ItemChange>,
    /// Entries that were not there before: they are announced.
    pub(super) entered: Vec<DeskItem>,
}

impl Shown {
    /// What a store shows after the whole journal of `state`.
    pub(super) fn after<'a>(
        plan: &SagaPlan,
        state: &SagaState,
        journal: impl Iterator<Item = &'a JournalEvent>,
    ) -> Self {
        let mut shown = Self {
            phase: Some(state.phase),
            items: amends_core::agenda::desk(plan, state),
            records: Vec::new(),
        };
        for event in journal {
            shown.record(plan, state, event, state.at);
        }
        shown.end_records(plan, state, state.at);
        shown
    }

    /// The change of the saga's row, if there is one. A row that is being inserted says `running` itself.
    pub(super) fn change(
        &mut self,
        plan: &SagaPlan,
        state: &SagaState,
        release: Option<Release>,
    ) -> Option<SagaChange> {
        let was = self.phase.replace(state.phase);
        let same = was.unwrap_or(Phase::Running) == state.phase;
        if same && release.is_none() {
            return None;
        }
        Some(SagaChange {
            phase: state.phase.word(),
            outcome: state.turned.as_ref().map(reason_text),
            open_actions: state.open_actions(plan),
            ended_at: state.ended_at,
            release,
        })
    }

    /// The difference of the desk.
    pub(super) fn desk(&mut self, plan: &SagaPlan, state: &SagaState) -> DeskChange {
        let now = amends_core::agenda::desk(plan, state);
        if now.is_empty() && self.items.is_empty() {
            return DeskChange::default();
        }
        let gone = self.items.iter().filter(|item| now.iter().all(|other| other.action != item.action));
        let mut changes: Vec<ItemChange> = gone.map(|item| ItemChange::Remove(item.name())).collect();
        let differs = now.iter().filter(|item| !self.items.contains(item));
        changes.extend(differs.map(|item| ItemChange::Put(Box::new(item_row(plan, item)))));
        let stood = |item: &&DeskItem| {
            let same =
                |was: &DeskItem| (&was.action, was.desk, was.since) == (&item.action, item.desk, item.since);
            self.items.iter().any(same)
        };
        let entered = now.iter().filter(|item| !stood(item)).cloned().collect();
        self.items = now;
        DeskChange { changes, entered }
    }

    /// The difference of the compensation records: one insert when it is requested (an automatic one: with its first
    /// start), one update when it ends.
    pub(super) fn compensations(
        &mut self,
        plan: &SagaPlan,
        state: &SagaState,
        events: &[JournalEvent],
        at: Timestamp,
    ) -> Vec<CompensationChange> {
        let requests = |event: &JournalEvent| matches!(event, JournalEvent::CompensationRequested(_));
        if state.turned.is_none() && self.records.is_empty() && !events.iter().any(requests) {
            return Vec::new();
        }
        let mut changes: Vec<CompensationChange> =
            events.iter().filter_map(|event| self.record(plan, state, event, at)).collect();
        changes.extend(self.end_records(plan, state, at));
        changes
    }

    fn record(
        &mut self,
        plan: &SagaPlan,
        state: &SagaState,
        event: &JournalEvent,
        at: Timestamp,
    ) -> Option<CompensationChange> {
        match event {
            JournalEvent::Started { action, expected, .. } => {
                self.began(plan, state, action, expected.as_ref(), at)
            }
            JournalEvent::CompensationRequested(request) => {
                self.records.push((request.action.clone(), Record::Open));
                let said = |json: &Option<Json>| json.as_ref().map(|json| json.text().to_owned());
                Some(CompensationChange::Requested {
                    id: request.action.request_id(state.id).0,
                    step: request.action.step.to_string(),
                    business_key: state.key.clone(),
                    reason_code: request.reason_code.clone(),
                    requested_by: request.requested_by.clone(),
                    approved_by: request.approved_by.clone(),
                    particulars: Box::new(CompensationParticulars {
                        expected: said(&request.expected),
                        proposed: said(&request.proposed),
                        affected: said(&request.affected),
                        dry_run: said(&request.dry_run),
                    }),
                    created_at: at,
                })
            }
            JournalEvent::RequestDecided { request, by, approved, .. } => {
                let (action, record) =
                    self.records.iter_mut().find(|(action, _)| action.to_string() == *request)?;
                let id = action.request_id(state.id).0;
                if *approved {
                    return Some(CompensationChange::Approved { id, approved_by: by.clone() });
                }
                if !matches!(action.direction, Direction::Manual(_))
                    || state.manual(plan, action)?.denied.is_none()
                {
                    return None; // A stale one that is denied stays quarantined.
                }
                *record = Record::Ended;
                Some(CompensationChange::Ended { id, ended_at: at, result: "\"Denied\"".to_owned() })
            }
            _ => None,
        }
    }

    /// The first start of an automatic compensation.
    fn began(
        &mut self,
        plan: &SagaPlan,
        state: &SagaState,
        action: &ActionId,
        expected: Option<&Json>,
        at: Timestamp,
    ) -> Option<CompensationChange> {
        if action.direction != Direction::Compensation || self.records.iter().any(|(of, _)| of == action) {
            return None;
        }
        self.records.push((action.clone(), Record::Open));
        let policy = plan.find(&action.step).map_or("", |ix| plan.step(ix).compensation.name.as_str());
        let expected = expected.map(|expected| expected.text().to_owned());
        Some(CompensationChange::Requested {
            id: action.request_id(state.id).0,
            step: action.step.to_string(),
            business_key: state.key.clone(),
            reason_code: state.turned.as_ref().map_or("", reason_code).to_owned(),
            requested_by: "engine".to_owned(),
            approved_by: Some(format!("policy {policy}")),
            particulars: Box::new(CompensationParticulars { expected, ..CompensationParticulars::default() }),
            created_at: at,
        })
    }

    fn end_records(&mut self, plan: &SagaPlan, state: &SagaState, at: Timestamp) -> Vec<CompensationChange> {
        let mut changes = Vec::new();
        for (action, record) in self.records.iter_mut().filter(|(_, record)| *record == Record::Open) {
            let Some(undo) = state.action(plan, action).filter(|undo| undo.stage == Stage::Succeeded) else {
                continue;
            };
            *record = Record::Ended;
            changes.push(CompensationChange::Ended {
                id: action.request_id(state.id).0,
                ended_at: at,
                result: undo.output.as_ref().map_or_else(|| "null".to_owned(), recorded_text),
            });
        }
        changes
    }
}

fn recorded_text(recorded: &Recorded) -> String {
    match recorded {
        Recorded::Value(value) => value.text().to_owned(),
        Recorded::Omitted(_) => "null".to_owned(),
    }
}

fn item_row(plan: &SagaPlan, item: &DeskItem) -> WorkItemRow {
    let failure = item.failure.as_ref();
    let code = failure.map_or(item.because.code().into(), |failure| kept(&failure.code));
    let rule = failure.map_or("".into(), |failure| kept(&failure.rule));
    let present = |text: &str| (!text.is_empty()).then(|| kept(text).into_owned());
    WorkItemRow {
        item: item.name(),
        desk: item.desk.word(),
        reason: item.because.code().to_owned(),
        since: item.since,
        workflow: plan.workflow.clone(),
        step: item.step().to_owned(),
        direction: item.direction().to_owned(),
        effect: item.effect.word(),
        fingerprint: format!("{}/{}/{code}/{rule}", plan.workflow, item.step()),
        attempts: item.attempts,
        error_kind: failure.map(|failure| kind_word(failure.kind).to_owned()),
        error_code: failure.and_then(|failure| present(&failure.code)),
        error_rule: failure.and_then(|failure| present(&failure.rule)),
        classifier: failure.and_then(|failure| present(&failure.classifier)),
    }
}

/// What every store keeps of somebody's text, and finds entries by.
pub(super) fn kept(text: &str) -> Cow<'_, str> {
    let begins = &text[..text.floor_char_boundary(WORK_ITEM_TEXT_BYTES_MAX)];
    if !begins.contains('\0') {
        return begins.into();
    }
    let mut spelled = begins.replace('\0', "\u{fffd}");
    spelled.truncate(spelled.floor_char_boundary(WORK_ITEM_TEXT_BYTES_MAX));
    spelled.into()
}

/// The word for a class of failure, in rows, views and telemetry.
pub(crate) fn kind_word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Transient => "transient",
        FailureKind::Persistent => "persistent",
        FailureKind::Unknown => "unknown",
        FailureKind::NotYet => "not-yet",
    }
}

/// The controlled vocabulary of reasons for an automatic compensation.
pub(crate) fn reason_code(reason: &TurnReason) -> &'static str {
    match reason {
        TurnReason::Refused { .. } => "refused",
        TurnReason::Partial { .. } => "partial",
        TurnReason::Exhausted { .. } => "exhausted",
        TurnReason::Cancelled { .. } => "cancelled",
        TurnReason::Deadline => "deadline",
        TurnReason::Operator { .. } => "operator",
        TurnReason::Contradiction { .. } => "contradiction",
    }
}

/// The reason for people and lists: the code, and the step or person behind it.
pub(crate) fn reason_text(reason: &TurnReason) -> String {
    let code = reason_code(reason);
    match reason {
        TurnReason::Refused { step }
        | TurnReason::Partial { step }
        | TurnReason::Exhausted { step }
        | TurnReason::Contradiction { step } => format!("{code}: {step}"),
        TurnReason::Cancelled { by, .. } | TurnReason::Operator { by, .. } => format!("{code} by {by}"),
        TurnReason::Deadline => code.to_owned(),
    }
}
