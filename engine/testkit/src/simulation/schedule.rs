//! When what is done: starts, and the faults of nodes, the store and people, drawn before the run.

use std::time::Duration;

use fastrand::Rng;

use super::bearing::NAMES;
use super::controls::Order;
use super::setup::{Setup, span};
use super::shapes::WORKFLOWS;
use super::trouble::Trouble;

/// What the world does to the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A saga is started on the node of this place.
    Start {
        saga: u32,
        input: u32,
        place: usize,
    },
    /// The event of a saga is published, or published again.
    Event {
        saga: u32,
        input: u32,
    },
    /// Something comes that is no event, or a poisonous one.
    BadEvent {
        draw: u32,
    },
    /// The broker answers nobody.
    BrokerOutage {
        begins: bool,
    },
    BrokerRestart,
    /// A new node takes a free place.
    Join {
        place: usize,
    },
    /// The node of this place dies.
    Kill {
        place: usize,
    },
    /// It stands still; or, all of them do.
    Freeze {
        place: Option<usize>,
    },
    Wake {
        place: Option<usize>,
    },
    /// Its way to the store is cut.
    Cut {
        place: usize,
    },
    Mend {
        place: usize,
    },
    /// It shuts down in an orderly way.
    Drain {
        place: usize,
    },
    /// From now on nodes know the second version too.
    Deploy,
    Outage {
        begins: bool,
    },
    /// A person asks something through the node of this place.
    Cancel {
        saga: u32,
        place: usize,
    },
    Decide {
        draw: u32,
        place: usize,
    },
    Pause {
        saga: u32,
        place: usize,
    },
    Unpause {
        saga: u32,
        place: usize,
    },
    /// A participant dies, and is back.
    Perish {
        draw: u32,
    },
    Return {
        draw: u32,
    },
    /// So many replies come at once that not all can wait.
    Flood {
        saga: u32,
        draw: u32,
        place: usize,
    },
    /// Somebody sets something for all, or lifts it again.
    Order {
        order: Order,
        on: bool,
        place: usize,
    },
    /// Two people take the same entry of a desk.
    Race {
        draw: u32,
        place: usize,
    },
    /// A reply comes for one of its requests.
    Reply {
        saga: u32,
        draw: u32,
        place: usize,
    },
}

/// An act, and when it is due, from the beginning.
pub(super) type Planned = (Duration, Option<Trouble>, Act);

/// The business key of a saga, and its workflow.
pub(super) fn name(saga: u32) -> (&'static str, String) {
    (WORKFLOWS[saga as usize % WORKFLOWS.len()], format!("key-{saga}"))
}

/// Everything that is planned, in order.
pub(super) fn draw(setup: &Setup) -> Vec<Planned> {
    let mut planned = starts(setup);
    for trouble in setup.troubles() {
        planned.extend(faults(setup, trouble));
    }
    planned.retain(|(at, _, _)| *at < setup.length());
    planned.sort_by_key(|(at, _, _)| *at);
    planned
}

fn starts(setup: &Setup) -> Vec<Planned> {
    // The whole length, however early this run ends: a saga starts when it starts.
    let window = u64::from(setup.minutes) * 60_000 * 7 / 10;
    let mut planned = Vec::new();
    for saga in 0..setup.sagas {
        let mut chance = setup.chance("start", u64::from(saga));
        let (at, input) = (span(&mut chance, 0, window), chance.u32(0..1_000));
        let place = chance.usize(0..setup.nodes as usize);
        let rush = setup.rate(Trouble::Rush).map(|_| Trouble::Rush);
        let mut by_event = setup.rate(Trouble::Events).map(|_| setup.chance("event", u64::from(saga)));
        // Some starts of a saga are calls, others events; what they start is one saga.
        let mut act = |input, place| match by_event.as_mut().is_some_and(|chance| chance.f64() < 0.8) {
            true => Act::Event { saga, input },
            false => Act::Start { saga, input, place },
        };
        let at = if rush.is_some() { rushed(at, Duration::from_millis(window)) } else { at };
        let first = act(input, place);
        planned.push((at, rush, first));
        for (trouble, other) in [(Trouble::DuplicateStart, 0), (Trouble::ConflictingStart, 1)] {
            let mut chance = setup.chance(trouble.word(), u64::from(saga));
            let Some(rate) = setup.rate(trouble).filter(|rate| chance.f64() < *rate) else { continue };
            for _ in 0..=u32::from(rate > 0.5) {
                let later = if chance.bool() { Duration::ZERO } else { span(&mut chance, 0, 60_000) };
                let place = chance.usize(0..setup.nodes as usize);
                planned.push((at + later, Some(trouble), act(input + other, place)));
            }
        }
    }
    planned
}

/// The input that a saga was first started with.
pub(super) fn input(setup: &Setup, saga: u32) -> u32 {
    let mut chance = setup.chance("start", u64::from(saga));
    let _when = span(&mut chance, 0, u64::from(setup.minutes) * 60_000 * 7 / 10);
    chance.u32(0..1_000)
}

/// Three times in a run, within a few seconds, instead of evenly.
fn rushed(at: Duration, window: Duration) -> Duration {
    let third = window / 3;
    let nth = (at.as_millis() / third.as_millis().max(1)).min(2);
    let within = at.saturating_sub(third * u32::try_from(nth).unwrap_or(0));
    third * u32::try_from(nth).unwrap_or(0) + within / 20
}

/// How often a kind of fault comes per minute, at a rate of 1; none for kinds that are not planned here.
fn per_minute(trouble: Trouble) -> Option<f64> {
    Some(match trouble {
        Trouble::Kill | Trouble::LostWay | Trouble::Freeze => 1.0,
        Trouble::Drain | Trouble::StoreOutage => 0.5,
        Trouble::FrozenObservers => 0.2,
        Trouble::Cancel => 6.0,
        Trouble::Verbs | Trouble::Replies => 8.0,
        Trouble::Pause => 2.0,
        Trouble::ParticipantDeath | Trouble::MailFlood => 1.0,
        Trouble::Race => 4.0,
        Trouble::Controls => 2.0,
        Trouble::BrokerOutage => 0.5,
        Trouble::BrokerRestart => 0.7,
        Trouble::BadEvents => 2.0,
        _ => return None,
    })
}

fn faults(setup: &Setup, trouble: Trouble) -> Vec<Planned> {
    let mut chance = setup.chance(trouble.word(), u64::MAX);
    let length = u64::from(setup.minutes) * 60_000;
    if trouble == Trouble::Deploy {
        return vec![(span(&mut chance, 0, length / 2), Some(trouble), Act::Deploy)];
    }
    let (has_events, has_commands) = (setup.rate(Trouble::Events), setup.rate(Trouble::Commands));
    let is_idle = match trouble {
        Trouble::BadEvents => has_events.is_none(),
        Trouble::BrokerOutage | Trouble::BrokerRestart => has_events.or(has_commands).is_none(),
        _ => false,
    };
    if is_idle {
        return Vec::new();
    }
    let (Some(per_minute), Some(rate)) = (per_minute(trouble), setup.rate(trouble)) else {
        return Vec::new();
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
    let times = (per_minute * rate * f64::from(setup.minutes)).ceil() as u32;
    let mut planned = Vec::new();
    for _ in 0..times {
        let at = span(&mut chance, 0, length);
        for (later, act) in strike(setup, trouble, &mut chance) {
            planned.push((at + later, Some(trouble), act));
        }
    }
    planned
}

/// What happens, and how much later what ends it.
fn strike(setup: &Setup, trouble: Trouble, chance: &mut Rng) -> Vec<(Duration, Act)> {
    let place = chance.usize(0..setup.nodes as usize);
    // Half of them shorter than a lease, half of them longer.
    let a_while = if chance.bool() { span(chance, 500, 9_000) } else { span(chance, 9_000, 60_000) };
    let now = Duration::ZERO;
    match trouble {
        Trouble::Kill => vec![(now, Act::Kill { place }), (a_while, Act::Join { place })],
        Trouble::Freeze => {
            vec![(now, Act::Freeze { place: Some(place) }), (a_while, Act::Wake { place: Some(place) })]
        }
        Trouble::FrozenObservers => {
            vec![(now, Act::Freeze { place: None }), (a_while, Act::Wake { place: None })]
        }
        Trouble::LostWay => vec![(now, Act::Cut { place }), (a_while, Act::Mend { place })],
        Trouble::Drain => vec![
            (now, Act::Drain { place }),
            (Duration::from_secs(6), Act::Kill { place }),
            (Duration::from_secs(6) + a_while, Act::Join { place }),
        ],
        Trouble::StoreOutage => {
            vec![(now, Act::Outage { begins: true }), (a_while, Act::Outage { begins: false })]
        }
        Trouble::Cancel => vec![(now, Act::Cancel { saga: chance.u32(0..setup.sagas), place })],
        Trouble::Verbs => vec![(now, Act::Decide { draw: chance.u32(..), place })],
        Trouble::Pause => {
            let saga = chance.u32(0..setup.sagas);
            vec![(now, Act::Pause { saga, place }), (a_while, Act::Unpause { saga, place })]
        }
        Trouble::ParticipantDeath => {
            let draw = chance.u32(..);
            vec![(now, Act::Perish { draw }), (a_while, Act::Return { draw })]
        }
        Trouble::MailFlood => {
            let saga = chance.u32(0..setup.sagas);
            vec![(now, Act::Flood { saga, draw: chance.u32(..), place })]
        }
        Trouble::Controls => {
            let workflow = chance.usize(0..WORKFLOWS.len());
            let order = match chance.u8(0..4) {
                0 => Order::Hold(workflow),
                1 => Order::Pause(workflow),
                2 => Order::Limit(chance.usize(0..NAMES.len()), chance.u32(0..=1)),
                _ => Order::Drain(chance.usize(0..setup.nodes as usize)),
            };
            let mut acts = vec![(now, Act::Order { order, on: true, place })];
            if !matches!(order, Order::Drain(_)) {
                acts.push((2 * a_while, Act::Order { order, on: false, place: place + 1 }));
            }
            acts
        }
        Trouble::BrokerOutage => {
            let begins = (now, Act::BrokerOutage { begins: true });
            vec![begins, (a_while, Act::BrokerOutage { begins: false })]
        }
        Trouble::BrokerRestart => vec![(now, Act::BrokerRestart)],
        Trouble::BadEvents => vec![(now, Act::BadEvent { draw: chance.u32(..) })],
        Trouble::Race => vec![(now, Act::Race { draw: chance.u32(..), place })],
        Trouble::Replies => {
            let saga = chance.u32(0..setup.sagas);
            vec![(now, Act::Reply { saga, draw: chance.u32(..), place })]
        }
        _ => Vec::new(),
    }
}
