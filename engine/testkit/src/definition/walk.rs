//! Breadth first over distinct states.

use std::collections::{HashMap, VecDeque};

use amends_core::agenda::{Task, tasks};
use amends_core::machine::{Command, Start, advance, start};
use amends_core::plan::Input;
use amends_core::state::{Action, Phase, SettlePlan, Stage};
use amends_core::{ActionId, Incarnation, JournalEvent, Json, SagaId, SagaPlan, SagaState, Timestamp};
use uuid::Uuid;

use super::moves::{self, Spent};
use super::story::Happened;
use super::{Explored, Rule, Story, Violation, promises, report};

/// One trial of one plan.
pub(super) struct Walk<'a> {
    plan: &'a SagaPlan,
    rules: &'a [(String, Rule)],
    mishaps_max: u32,
    states_max: usize,
    /// How each state was reached first.
    ways: Vec<Way>,
    /// The fewest mishaps that each state was reached with.
    seen: HashMap<Box<[u64]>, u32>,
    open: VecDeque<Standing>,
    explored: Explored,
}

/// The way to a state: from which other one, with which facts.
struct Way {
    from: Option<usize>,
    facts: Vec<(Timestamp, Vec<JournalEvent>)>,
}

/// A state that is to be gone on from.
#[derive(Clone)]
struct Standing {
    way: usize,
    state: SagaState,
    now: Timestamp,
    spent: Spent,
    happened: Vec<Happened>,
}

/// The facts of one move.
type Facts = Vec<(Timestamp, Vec<JournalEvent>)>;

impl<'a> Walk<'a> {
    pub(super) fn new(
        plan: &'a SagaPlan,
        rules: &'a [(String, Rule)],
        mishaps_max: u32,
        states_max: usize,
    ) -> Self {
        let explored =
            Explored { states: 0, moves: 0, completed: 0, compensated: 0, waiting: 0, complete: true };
        let (ways, seen, open) = (Vec::new(), HashMap::new(), VecDeque::new());
        Self { plan, rules, mishaps_max, states_max, ways, seen, open, explored }
    }

    pub(super) fn go(mut self) -> Result<Explored, Box<Violation>> {
        self.begin()?;
        while let Some(at) = self.open.pop_front().filter(|_| self.explored.complete) {
            self.expand(&at)?;
        }
        Ok(self.explored)
    }

    fn begin(&mut self) -> Result<(), Box<Violation>> {
        let now = Timestamp(0);
        let birth = Start {
            saga: SagaId(Uuid::from_u128(1)),
            key: "a-key".into(),
            input: null(),
            occurred_at: None,
            owner: Incarnation(Uuid::from_u128(1)),
            trigger: None,
            trace: None,
            tenant: None,
        };
        let (state, events) = start(self.plan, birth, now);
        let standing = Standing { way: 0, state, now, spent: Spent::default(), happened: Vec::new() };
        self.settle_down(None, standing, vec![(now, events)])
    }

    /// Goes every way on from a state.
    fn expand(&mut self, at: &Standing) -> Result<(), Box<Violation>> {
        let answers = moves::answers(self.plan, &at.state);
        let interruptions = moves::interruptions(self.plan, &at.state, at.spent);
        let still = answers.is_empty() && !at.state.phase.is_ended();
        let wake = tasks(self.plan, &at.state, at.now).1;
        match wake.filter(|_| still) {
            Some(wake) => {
                let later = Standing { now: wake.at, ..at.clone() };
                self.settle_down(Some(at.way), later, Vec::new())?;
            }
            None if still => {
                if let Some(broken) = promises::stands_still(self.plan, &at.state) {
                    return Err(self.violation(broken, at.way, &at.state, &[]));
                }
                self.explored.waiting += 1;
            }
            None => {}
        }
        for next in answers.into_iter().chain(interruptions) {
            let spent = Spent {
                mishaps: at.spent.mishaps + next.spends.mishaps,
                crashes: at.spent.crashes + next.spends.crashes,
                cancels: at.spent.cancels + next.spends.cancels,
            };
            if spent.mishaps > self.mishaps_max {
                continue;
            }
            let mut to = Standing { spent, ..at.clone() };
            let mut facts = Facts::new();
            self.obey(at.way, &mut to, next.command, &mut facts)?;
            self.settle_down(Some(at.way), to, facts)?;
        }
        Ok(())
    }

    /// Commands the machine, and holds its facts against what it promises.
    fn obey(
        &self,
        from: usize,
        to: &mut Standing,
        command: Command,
        facts: &mut Facts,
    ) -> Result<(), Box<Violation>> {
        let before = to.state.clone();
        let events = match advance(self.plan, &mut to.state, command.clone(), to.now) {
            Ok(events) => events,
            Err(rejected) => {
                let broken =
                    format!("the machine refuses what its own agenda asks for: {command:?}: {rejected}");
                return Err(self.violation(broken, from, &before, facts));
            }
        };
        if events.is_empty() {
            return Ok(());
        }
        note(self.plan, &before, &to.state, &mut to.happened);
        facts.push((to.state.at, events));
        let events = &facts.last().expect("it was just pushed").1;
        match promises::broken_by(self.plan, &to.state, events) {
            Some(broken) => Err(self.violation(broken, from, &to.state, facts)),
            None => Ok(()),
        }
    }

    /// Lets everything begin that may, looks at the rules, and keeps the state if it is a new one.
    fn settle_down(
        &mut self,
        from: Option<usize>,
        mut to: Standing,
        mut facts: Facts,
    ) -> Result<(), Box<Violation>> {
        self.explored.moves += 1;
        let origin = from.unwrap_or(usize::MAX);
        while let Some(command) = self.begins(&to) {
            let before = facts.len();
            self.obey(origin, &mut to, command, &mut facts)?;
            if facts.len() == before {
                break; // A tick that finds nothing to decide.
            }
        }
        let key = key(self.plan, &to);
        if self.seen.get(&key).is_some_and(|mishaps| *mishaps <= to.spent.mishaps) {
            return Ok(());
        }
        let story = Story { plan: self.plan, state: &to.state, happened: &to.happened };
        if let Some((what, _)) = self.rules.iter().find(|(_, rule)| rule(&story)) {
            return Err(self.violation(what.clone(), origin, &to.state, &facts));
        }
        let is_new = !self.seen.contains_key(&key);
        if is_new && self.explored.states == self.states_max {
            self.explored.complete = false;
            return Ok(());
        }
        self.seen.insert(key, to.spent.mishaps);
        if is_new {
            self.explored.states += 1;
            match to.state.phase {
                Phase::Completed => self.explored.completed += 1,
                Phase::Compensated => self.explored.compensated += 1,
                Phase::Running | Phase::Compensating | Phase::Closed => {}
            }
        }
        to.way = self.ways.len();
        self.ways.push(Way { from, facts });
        if !to.state.phase.is_ended() {
            self.open.push_back(to);
        }
        Ok(())
    }

    /// What the agenda asks for, and nobody has to answer first.
    fn begins(&self, at: &Standing) -> Option<Command> {
        let (tasks, _) = tasks(self.plan, &at.state, at.now);
        tasks.into_iter().find_map(|task| match task {
            Task::Start { action, .. } => {
                let input = self.is_shaped(&action).then(null);
                Some(Command::Begin { action, input, expected: None })
            }
            Task::Query { action, .. } => Some(Command::BeginQuery { action }),
            Task::Tick => Some(Command::Tick),
            Task::Decide { .. } | Task::Stop { .. } => None,
        })
    }

    fn is_shaped(&self, action: &ActionId) -> bool {
        let step = self.plan.find(&action.step).map(|ix| self.plan.step(ix));
        step.is_some_and(|step| action.is_forward() && matches!(step.input, Input::Shaped(_)))
    }

    fn violation(
        &self,
        broken: String,
        from: usize,
        state: &SagaState,
        facts: &[(Timestamp, Vec<JournalEvent>)],
    ) -> Box<Violation> {
        let mut path = facts.to_vec();
        let mut at = self.ways.get(from);
        while let Some(way) = at {
            path.splice(0..0, way.facts.iter().cloned());
            at = way.from.and_then(|from| self.ways.get(from));
        }
        let timeline = report::timeline(self.plan, state, &path);
        let picture = report::picture(self.plan, state);
        let explored = Explored { complete: false, ..self.explored };
        Box::new(Violation { broken, timeline, picture, explored })
    }
}

/// What the move did to effects.
fn note(plan: &SagaPlan, before: &SagaState, after: &SagaState, happened: &mut Vec<Happened>) {
    for ix in plan.indices() {
        let (was, is) = (before.step(ix), after.step(ix));
        if is.forward.has_effect() && !was.forward.has_effect() {
            happened.push(Happened::Applied(ix));
        }
        let (Some(was), Some(is)) = (&was.undo, &is.undo) else { continue };
        if is.in_doubt && is.attempts > 0 && was.attempts == 0 {
            happened.push(Happened::InDoubt(ix));
        }
        if is.output.is_some() && was.output.is_none() && is.has_effect() {
            happened.push(Happened::Undone(ix));
        }
    }
}

/// What tells two states apart, apart from how many mishaps led there. How an action came to its outcome changes
/// nothing that is explored here, nor does anything once the saga has ended, but for what happened to effects.
fn key(plan: &SagaPlan, at: &Standing) -> Box<[u64]> {
    let state = &at.state;
    let ended = state.phase.is_ended();
    let spent = if ended { Spent::default() } else { at.spent };
    let mut key: Vec<u64> = vec![
        state.phase as u64,
        u64::from(state.turned.is_some()),
        state.wishes.len() as u64,
        u64::from(state.late),
        if ended { 0 } else { at.now.0.cast_unsigned() },
        u64::from(spent.crashes),
        u64::from(spent.cancels),
    ];
    key.extend(state.branches.iter().map(|taken| taken.map_or(2, u64::from)));
    for (_, action) in state.actions(plan) {
        of_action(action, &mut key);
    }
    key.extend(at.happened.iter().map(|happened| match happened {
        Happened::Applied(ix) => ix.0 as u64 * 3,
        Happened::Undone(ix) => ix.0 as u64 * 3 + 1,
        Happened::InDoubt(ix) => ix.0 as u64 * 3 + 2,
    }));
    key.into()
}

fn of_action(a: &Action, key: &mut Vec<u64>) {
    let dispute = u64::from(a.dispute.is_some()) | (u64::from(a.output.is_some()) << 1);
    let stands = a.stage as u64 | ((a.effect as u64) << 8) | (u64::from(a.in_doubt) << 16);
    let quarantine = a.quarantine.map_or(0, |(because, _)| because as u64 + 1);
    key.extend([stands, dispute, quarantine]);
    if a.is_settled() || a.stage == Stage::Quarantined {
        return;
    }
    let time = |at: Option<Timestamp>| at.map_or(u64::MAX, |at| at.0.cast_unsigned());
    let settling = a.settling.map_or(0, |settling| {
        let plan = match settling.plan {
            SettlePlan::Undecided => 1,
            SettlePlan::QueryAt(_) => 2,
            SettlePlan::Querying { fence_through, .. } => 3 + u64::from(fence_through.unwrap_or(0)) * 16,
            SettlePlan::RepeatAt(_) => 4,
            SettlePlan::OrderedAt(_) => 5,
            SettlePlan::Repeating => 6,
            SettlePlan::Reply => 7,
            SettlePlan::Person => 8,
        };
        let item = settling.item.map_or(0, |(because, _)| because as u64 + 1);
        let queries = u64::from(settling.queries);
        plan + (u64::from(settling.accepted) << 16) + (item << 17) + (queries << 32)
    });
    key.extend([
        u64::from(a.attempts) | (u64::from(a.queries) << 32),
        a.running.map_or(0, |running| u64::from(running.attempt)),
        a.unknown.iter().fold(0, |bits, attempt| bits | (1 << (attempt % 64))),
        settling,
        time(a.ready_at),
        time(a.retry_at),
        time(a.last_sent_at),
    ]);
}

fn null() -> Json {
    Json::parse("null").expect("null is JSON")
}
