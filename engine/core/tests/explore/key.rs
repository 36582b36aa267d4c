//! When two states are the same: when nothing that the machine decides, now or later, can tell them apart.
//!
//! What is left out is told to people only: last failures, refusals, evidence, reasons, since-whens, who owns the
//! saga, what persons were answered, and values beyond their kind (a result, nothing to undo, an omitted one).
//! Attempts are known by how many are running, unknown, answered, and of how many of these a query asked to close them
//! out; the numbers of queries do not matter.
//! Of a time counts only where it stands from now, and only if something will be compared with it: what has
//! passed has passed, and of one step gaps beyond [`FAR`] are alike, for no path of short waits crosses one, and no
//! other action sets a time against it.
//! Once neither news nor a compensation in doubt can contradict what is settled, nothing asks any more how it was
//! settled. That no move tells states with the same key apart is compared ([`crate::twins`]).
//! Steps that the shape does not tell apart may have changed places.

use amends_core::event::{Because, Finding, Recorded, StartCause, TurnReason};
use amends_core::plan::{RetryPolicy, SagaPlan, StepPlan};
use amends_core::state::{Action, Ask, Dispute, Phase, SettlePlan, Settling, Stage};
use amends_core::{SagaState, Timestamp};

use crate::left::{FAR, Left};

/// 128 bits of a state's canonical form: the chance that two of ten million share them is below 10⁻²⁴.
pub(crate) type Key = u128;

/// The key of `state` at `now`, as far as what is `left` can tell. Steps with the same number in `alike` may change
/// places.
pub(crate) fn of(plan: &SagaPlan, alike: &[usize], state: &SagaState, now: Timestamp, left: Left) -> Key {
    let news = left.contradictions > 0;
    let (bytes, times) = (Vec::with_capacity(256), Vec::with_capacity(16));
    let mut form = Form { bytes, times, now: now.0, deadlines: left.deadlines };
    form.flag(news);
    form.saga(state);
    let mut ends = vec![form.bytes.len()];
    for (planned, step) in plan.steps.iter().zip(&state.steps) {
        form.flag(step.waived);
        let in_doubt = step.undo.as_ref().is_some_and(|undo| undo.in_doubt && !undo.is_settled());
        form.action(planned, &planned.retry, &step.forward, news || in_doubt);
        if state.turned.is_none() {
            form.asked_to_fence(&step.forward, news || in_doubt); // Else it is not tried again, whoever closed it out.
        }
        form.flag(step.undo.is_some());
        if let Some(undo) = &step.undo {
            form.action(planned, &planned.compensation, undo, news);
            form.asked_to_fence(undo, news);
        }
        form.count(step.manual.len());
        for manual in &step.manual {
            form.flag(manual.request.approved_by.is_some());
            form.flag(manual.denied.is_some());
            form.action(planned, &planned.compensation, &manual.action, news);
            form.asked_to_fence(&manual.action, news);
        }
        ends.push(form.bytes.len());
    }
    let gaps = form.rank_times();
    let steps: Vec<&[u8]> = ends.windows(2).map(|ends| &form.bytes[ends[0]..ends[1]]).collect();
    let mut hash = Hash::new();
    hash.enter(&form.bytes[..ends[0]]);
    for step in ordered(alike, steps) {
        hash.enter(step);
    }
    let far = if plan.steps.len() == 1 { FAR } else { i64::MAX };
    for gap in gaps {
        hash.mix(gap.min(far).unsigned_abs());
    }
    hash.end()
}

/// The steps, those that look alike in the order of their contents.
fn ordered<'a>(alike: &[usize], mut steps: Vec<&'a [u8]>) -> Vec<&'a [u8]> {
    for one in 0..steps.len() {
        for other in one + 1..steps.len() {
            if alike[one] == alike[other] && steps[other] < steps[one] {
                steps.swap(one, other);
            }
        }
    }
    steps
}

/// The canonical form while it is written.
struct Form {
    bytes: Vec<u8>,
    /// The times to come, and where their ranks stand.
    times: Vec<(i64, usize)>,
    now: i64,
    deadlines: bool,
}

impl Form {
    fn put(&mut self, n: u8) {
        self.bytes.push(n);
    }

    fn flag(&mut self, is: bool) {
        self.put(u8::from(is));
    }

    fn count(&mut self, n: usize) {
        self.put(u8::try_from(n).expect("the bounds keep it small"));
    }

    /// None, passed, or its rank among those to come.
    fn time(&mut self, at: Option<Timestamp>) {
        match at {
            None => self.put(0),
            Some(at) if at.0 <= self.now => self.put(1),
            Some(at) if at.0 - self.now > FAR && !self.deadlines => self.put(u8::MAX),
            Some(at) => {
                self.times.push((at.0, self.bytes.len()));
                self.put(2);
            }
        }
    }

    /// Fills the ranks in; the gaps between the times, from now on.
    fn rank_times(&mut self) -> Vec<i64> {
        self.times.sort_unstable();
        let (mut gaps, mut last) = (Vec::with_capacity(self.times.len()), self.now);
        for (at, spot) in &self.times {
            if *at > last {
                gaps.push(at - last);
                last = *at;
            }
            self.bytes[*spot] = 2 + u8::try_from(gaps.len()).expect("the bounds keep it small");
        }
        gaps
    }

    fn saga(&mut self, state: &SagaState) {
        self.put(state.phase as u8);
        self.flag(state.turned.is_some());
        let by_time = |reason: &TurnReason| *reason == TurnReason::Deadline;
        self.flag(state.wishes.iter().any(|wish| by_time(&wish.reason)));
        self.count(state.wishes.iter().filter(|wish| wish.operation.is_some()).count());
        self.count(state.wishes.iter().filter(|w| w.operation.is_none() && !by_time(&w.reason)).count());
        self.flag(state.late);
        self.flag(state.paused.is_some());
        self.count(state.closing.as_ref().map_or(0, |(closing, _)| 1 + closing.named.len()));
        self.time(state.deadline.filter(|_| state.phase == Phase::Running && !state.late));
        for side in &state.branches {
            self.put(side.map_or(0, |taken| 1 + u8::from(taken)));
        }
    }

    /// May it be contradicted once it is settled?
    fn action(&mut self, planned: &StepPlan, policy: &RetryPolicy, a: &Action, contradicted: bool) {
        self.put(a.stage as u8);
        self.put(a.effect as u8);
        if a.stage == Stage::Pending {
            return;
        }
        self.put(match &a.output {
            None => 0,
            Some(Recorded::Value(value)) if value.text() == "\"NothingToUndo\"" => 1,
            Some(Recorded::Value(_)) => 2,
            Some(Recorded::Omitted(_)) => 3,
        });
        self.flag(a.in_doubt);
        if !a.is_settled() || contradicted {
            self.transmissions(planned, a);
            self.dispute(planned, a);
        }
        if !a.stage.is_settled() {
            self.budget(policy, a);
            self.settling(planned, a);
        }
    }

    fn transmissions(&mut self, planned: &StepPlan, a: &Action) {
        self.put(a.running.map_or(0, |running| match running.cause {
            StartCause::Ordered if running.repeats => 1,
            StartCause::Repeat => 2,
            StartCause::Ordered | StartCause::Ready | StartCause::Retry => 3,
        }));
        self.count(a.unknown.len());
        let attempts = usize::try_from(a.attempts).expect("it is small");
        self.count(attempts - a.unknown.len() - usize::from(a.running.is_some()));
        self.flag(a.settled_by.is_some());
        if let Some(window) = planned.contract.settle_window {
            self.flag(a.last_sent_at.is_none());
            self.time(a.last_sent_at.map(|sent| sent + window)); // While one runs, too: it may be withdrawn.
        }
        if let Some(retention) = planned.contract.key_retention {
            self.time(a.first_sent_at.map(|sent| sent + retention));
        }
    }

    /// Of how many attempts that are unknown, and of how many others, a query asked to close them out.
    fn asked_to_fence(&mut self, a: &Action, contradicted: bool) {
        if a.is_settled() && !contradicted {
            return;
        }
        let unknown = a.unknown.iter().filter(|attempt| **attempt <= a.asked_to_fence).count();
        self.count(unknown);
        self.count(usize::try_from(a.asked_to_fence).expect("it is small") - unknown);
    }

    fn dispute(&mut self, planned: &StepPlan, a: &Action) {
        let Some(Dispute { recorded, ask, .. }) = &a.dispute else { return self.put(0) };
        self.put(1 + *recorded as u8);
        match ask {
            Ask::QueryAt(at) => {
                self.put(1);
                self.time(Some(*at));
            }
            Ask::Querying { since, .. } => self.put(2 + u8::from(in_time(planned, a, *since))),
            Ask::Person { found: Some(Finding::Applied(_) | Finding::Partial(_)) } => self.put(4),
            Ask::Person { .. } => self.put(5),
        }
    }

    /// What may still be tried, and what a person may order.
    fn budget(&mut self, policy: &RetryPolicy, a: &Action) {
        self.flag(a.found_instead.is_some());
        self.flag(a.doubt_ordered);
        self.put(u8::try_from(a.attempts_of_budget()).expect("it is small"));
        self.put(u8::try_from(a.granted.unwrap_or(policy.max_attempts)).expect("it is small"));
        self.time(a.deadline.or(a.ready_at.map(|at| at + policy.give_up_after)));
        self.time(a.retry_at);
        self.put(a.quarantine.map_or(0, |(because, _)| match because {
            Because::Input => 1,
            Because::Stale => 2,
            _ => 3,
        }));
    }

    fn settling(&mut self, planned: &StepPlan, a: &Action) {
        let Some(Settling { queries, accepted, plan, item, .. }) = a.settling else { return self.put(0) };
        self.put(1 + u8::try_from(planned.query.max_queries.saturating_sub(queries)).expect("it is small"));
        self.flag(accepted);
        self.put(item.map_or(0, |(because, _)| match because {
            Because::QueriesSpent => 1,
            Because::Mismatch => 2,
            _ => 3,
        }));
        let (word, at) = match plan {
            SettlePlan::Undecided => (0, None),
            SettlePlan::QueryAt(at) => (1, Some(at)),
            SettlePlan::Querying { since, .. } => (2 + u8::from(in_time(planned, a, since)), None),
            SettlePlan::RepeatAt(at) => (4, Some(at)),
            SettlePlan::OrderedAt(at) => (5, Some(at)),
            SettlePlan::Repeating => (6, None),
            SettlePlan::Reply => (7, None),
            SettlePlan::Person => (8, None),
        };
        self.put(word);
        self.time(at);
    }
}

/// Was a query sent after the settle window, so that it can find an absence?
fn in_time(planned: &StepPlan, a: &Action, since: Timestamp) -> bool {
    let window = planned.contract.settle_window.zip(a.last_sent_at);
    window.is_some_and(|(window, sent)| since >= sent + window)
}

/// Two 64-bit hashes side by side, each a multiply and a fold per eight bytes.
struct Hash(u64, u64);

impl Hash {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f)
    }

    fn mix(&mut self, n: u64) {
        let fold = |n: u128| (n >> 64) as u64 ^ n as u64;
        self.0 = fold(u128::from(self.0 ^ n) * 0xff51_afd7_ed55_8ccd_u128) ^ n.rotate_left(32);
        self.1 = fold(u128::from(self.1.rotate_left(23) ^ n) * 0x94d0_49bb_1331_11eb_u128).wrapping_add(n);
    }

    /// Bytes, and how many: no two lists of them run into each other.
    fn enter(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(eight));
        }
        self.mix(bytes.len() as u64);
    }

    fn end(mut self) -> Key {
        self.mix(0);
        self.mix(1);
        u128::from(self.0) << 64 | u128::from(self.1)
    }
}
