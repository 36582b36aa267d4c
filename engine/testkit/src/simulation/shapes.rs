//! Workflows that chance draws: random graphs, with and without a pivot and a branch, every way to settle.

use std::sync::Arc;
use std::time::Duration;

use amends::prelude::*;
use amends_core::plan::Settle;
use fastrand::Rng;

use super::bearing::Bearing;
use super::setup::{Setup, span};
use super::trouble::Trouble;
use crate::ledger::Ledger;
use crate::participant::Participant;
use amends::authoring::Definition;

/// The workflows of a simulation.
pub(super) const WORKFLOWS: [&str; 4] = ["orders", "refunds", "trips", "payouts"];

/// The names of steps, in the order of their declaration.
const NAMES: [&str; 12] =
    ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"];

/// How long after a transmission "absent" means "without effect". Everything late comes earlier than that, less
/// what queries lag behind.
pub(super) const SETTLE_WINDOW: Duration = Duration::from_secs(40);

/// The same for commands, which may lie with the broker for a while. One that comes later still is fenced by then, or says
/// what it did.
const COMMANDS_SETTLE_WINDOW: Duration = Duration::from_secs(100);

/// Of the steps that can be commands, so many are, where there are any.
const COMMANDS: f64 = 0.6;

/// A step's whole budget of time; so it bounds how long anything that nobody answers is waited for.
const GIVE_UP_AFTER: Duration = Duration::from_secs(300);

/// A participant, as what can be planned for it.
pub(super) enum Counterpart {
    /// It can refuse.
    Refusing(Participant<Vec<u32>, u32, String>),
    /// It stands behind the pivot, and cannot.
    Willing(Participant<Vec<u32>, u32, Never>),
}

impl Counterpart {
    pub(super) fn die(&self) {
        match self {
            Self::Refusing(participant) => participant.die(),
            Self::Willing(participant) => participant.die(),
        }
    }

    pub(super) fn come_back(&self) {
        match self {
            Self::Refusing(participant) => participant.come_back(),
            Self::Willing(participant) => participant.come_back(),
        }
    }

    pub(super) fn forget_everything(&self) {
        match self {
            Self::Refusing(participant) => participant.forget_everything(),
            Self::Willing(participant) => participant.forget_everything(),
        }
    }
}

/// One version of one workflow.
pub(super) struct Shape {
    pub(super) definition: Definition,
    pub(super) saga: Saga<u32, u32>,
    pub(super) counterparts: Vec<Counterpart>,
    /// The subjects of commands, and which of them takes those.
    pub(super) commands: Vec<(Arc<str>, usize)>,
    /// How many of them take their time.
    pub(super) slow: u64,
}

/// One step, as chance drew it.
struct Drawn {
    name: &'static str,
    settle: Settle,
    undo: Settle,
    fences: bool,
    is_read: bool,
    contract: Contract,
    /// The subject of its commands; none: it is called.
    commands: Option<Arc<str>>,
}

macro_rules! settling {
    ($settle:expr, $word:ident => $then:expr) => {
        match $settle {
            Settle::ByQuery => {
                type $word = ByQuery;
                $then
            }
            Settle::ByRepeating => {
                type $word = ByRepeating;
                $then
            }
            Settle::ByOperator | Settle::NoEffect => {
                type $word = ByOperator;
                $then
            }
        }
    };
}

/// Declares a step before the pivot. A builder of a saga and one of a branch have the same words and no trait.
macro_rules! declare {
    ($builder:expr, $drawn:expr, $participant:expr, $input:expr) => {{
        let (drawn, participant, input) = (&$drawn, &$participant, $input);
        if drawn.is_read {
            $builder.read(drawn.name, participant.read(), input)
        } else {
            settling!(drawn.settle, S => settling!(drawn.undo, U => {
                let step = participant.step::<S, U>().contract(drawn.contract.clone()).through(drawn.commands.clone());
                if drawn.fences {
                    $builder.step(drawn.name, step.fencing(), input)
                } else {
                    $builder.step(drawn.name, step, input)
                }
            }))
        }
    }};
}

/// Draws one version of one workflow; its participants write into `ledger`.
pub(super) fn draw(
    setup: &Setup,
    bearing: &Bearing,
    (ledger, barrier): (&Ledger, bool),
    (workflow, version): (usize, u32),
) -> Shape {
    let which = workflow as u64 * 100 + u64::from(version);
    Drawing {
        chance: setup.chance("shape", which),
        leans: setup.chance("leans", which),
        sends: setup.rate(Trouble::Commands).map(|_| setup.chance("commands", which)),
        of: format!("{}.{version}", WORKFLOWS[workflow]),
        slow: setup.rate(Trouble::Slow),
        bearing,
        ledger,
        barrier,
        counterparts: Vec::new(),
        commands: Vec::new(),
        names: NAMES.iter(),
        slowed: 0,
    }
    .workflow(WORKFLOWS[workflow], version)
}

struct Drawing<'a> {
    chance: Rng,
    /// Which steps lean on which dependency, apart from everything else.
    leans: Rng,
    /// Which steps are commands, apart from everything else.
    sends: Option<Rng>,
    /// The workflow and its version, as part of a subject.
    of: String,
    bearing: &'a Bearing,
    slow: Option<f64>,
    ledger: &'a Ledger,
    barrier: bool,
    counterparts: Vec<Counterpart>,
    commands: Vec<(Arc<str>, usize)>,
    names: std::slice::Iter<'static, &'static str>,
    slowed: u64,
}

impl Drawing<'_> {
    fn workflow(mut self, workflow: &'static str, version: u32) -> Shape {
        let has_pivot = self.chance.f64() < 0.6;
        let (mut s, input) = SagaBuilder::<u32>::new(workflow, version);
        if !has_pivot && self.chance.bool() {
            s = s.retry_default("turning-back");
        }
        if self.chance.f64() < 0.25 {
            s = s.deadline(span(&mut self.chance, 30_000, 240_000));
        }
        let before = self.chance.usize(1..=5);
        let branch_at = (self.chance.f64() < 0.35).then(|| self.chance.usize(0..before));
        let mut handles = Vec::new();
        for at in 0..before {
            let inputs = self.inputs(input, &handles);
            let (drawn, participant) = self.step();
            if branch_at == Some(at) {
                let condition = inputs[0].map(|n: u32| n.is_multiple_of(2));
                let (other, elsewhere) = self.step();
                let again = inputs.clone();
                handles.push(s.either(
                    "either",
                    condition,
                    |b| declare!(b, drawn, participant, inputs),
                    |b| declare!(b, other, elsewhere, again),
                ));
            } else {
                handles.push(declare!(s, drawn, participant, inputs));
            }
        }
        let saga = if has_pivot {
            let inputs = self.inputs(input, &handles);
            let (drawn, participant) = self.step();
            let (mut last, mut s) = settling!(drawn.settle, S => {
                let step = participant.step::<S, ByOperator>().contract(drawn.contract.clone());
                let step = step.through(drawn.commands.clone());
                s.pivot(drawn.name, step, inputs)
            });
            for _ in 0..self.chance.usize(0..=2) {
                handles.push(last);
                let inputs = self.inputs(input, &handles);
                let drawn = self.drawn();
                let willing = self.participant(&drawn);
                last = settling!(drawn.settle, S => {
                    let step = willing.step::<S, ByOperator>().contract(drawn.contract.clone());
                    let step = step.through(drawn.commands.clone());
                    s.retriable(drawn.name, step, inputs)
                });
                self.commands.extend(drawn.commands.map(|subject| (subject, self.counterparts.len())));
                self.counterparts.push(Counterpart::Willing(willing));
            }
            s.finish(last)
        } else {
            let last = *handles.last().expect("there is at least one step");
            s.finish(last)
        };
        let saga = saga.unwrap_or_else(|errors| panic!("a drawn workflow is sound: {errors}"));
        let policies = self.policies();
        let definition = saga.resolve(&policies).unwrap_or_else(|errors| panic!("{errors}"));
        let Self { counterparts, commands, slowed: slow, .. } = self;
        Shape { definition, saga, counterparts, commands, slow }
    }

    /// A random part of what is there, at least one of it.
    fn inputs(&mut self, input: Handle<u32>, handles: &[Handle<u32>]) -> Vec<Handle<u32>> {
        let chosen: Vec<_> = handles.iter().copied().filter(|_| self.chance.f64() < 0.5).collect();
        if chosen.is_empty() { vec![input] } else { chosen }
    }

    fn step(&mut self) -> (Drawn, Participant<Vec<u32>, u32, String>) {
        let drawn = self.drawn();
        let participant = self.participant(&drawn);
        self.commands.extend(drawn.commands.clone().map(|subject| (subject, self.counterparts.len())));
        self.counterparts.push(Counterpart::Refusing(participant.clone()));
        (drawn, participant)
    }

    fn drawn(&mut self) -> Drawn {
        let name = self.names.next().expect("there are names for every step");
        let chance = &mut self.chance;
        let mut settle = || match chance.u8(0..5) {
            0 | 1 => Settle::ByQuery,
            2 | 3 => Settle::ByRepeating,
            _ => Settle::ByOperator,
        };
        let (settle, undo) = (settle(), settle());
        let contract = Contract {
            settle_window: (chance.f64() < 0.7).then_some(SETTLE_WINDOW),
            key_retention: (chance.f64() < 0.3).then_some(Duration::from_secs(3_600)),
            keeps_answers: true,
            dependency: self.bearing.choose(&mut self.leans),
        };
        let (fences, is_read) = (chance.f64() < 0.4, chance.f64() < 0.15);
        let mut drawn = Drawn { name, settle, undo, fences, is_read, contract, commands: None };
        let is_sent = |chance: &mut Rng| chance.f64() < COMMANDS;
        if self.sends.as_mut().is_some_and(is_sent) && !is_read {
            drawn.commands = Some(format!("command.{}.{name}", self.of).into());
            drawn.contract.settle_window = drawn.contract.settle_window.map(|_| COMMANDS_SETTLE_WINDOW);
        }
        drawn
    }

    fn participant<R: Payload + Clone>(&mut self, drawn: &Drawn) -> Participant<Vec<u32>, u32, R> {
        let latency = match self.slow {
            Some(rate) if self.chance.f64() < rate => {
                self.slowed += 1;
                span(&mut self.chance, 50, 9_000)
            }
            _ => Duration::ZERO,
        };
        let answer = |inputs: &Vec<u32>| inputs.iter().fold(1_u32, |sum, n| sum.wrapping_add(*n));
        match self.barrier {
            true => Participant::slow(self.ledger, drawn.name, latency, answer),
            false => Participant::slow_naive(self.ledger, drawn.name, latency, answer),
        }
    }

    fn policies(&mut self) -> Policies {
        let chance = &mut self.chance;
        let retry = RetryPolicy {
            max_attempts: chance.u32(2..=5),
            base: span(chance, 100, 1_000),
            cap: span(chance, 1_000, 10_000),
            attempt_timeout: span(chance, 2_000, 8_000),
            give_up_after: GIVE_UP_AFTER,
            ..RetryPolicy::default()
        };
        let query = QueryPolicy {
            max_queries: chance.u32(2..=6),
            base: span(chance, 100, 1_000),
            cap: span(chance, 1_000, 10_000),
            timeout: span(chance, 1_000, 5_000),
            ..QueryPolicy::default()
        };
        let turning_back = RetryPolicy { on_exhausted: Exhausted::TurnBack, ..retry.clone() };
        let policies = Policies::new().retry("default", retry).retry("turning-back", turning_back);
        self.bearing.policies(policies.query("default", query))
    }
}
