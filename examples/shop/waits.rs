//! Why a saga is not moving by itself, in words.

use amends::SagaView;
use amends::core::agenda::{Wait, Wake, WakeReason};
use amends::core::{ActionId, Timestamp};

/// One line for each thing that the saga waits for, beside persons: those stand on a desk.
pub fn lines(view: &SagaView, now: Timestamp) -> Vec<String> {
    view.waits.iter().filter_map(|wait| line(view, wait, now)).collect()
}

fn line(view: &SagaView, wait: &Wait, now: Timestamp) -> Option<String> {
    Some(match wait {
        Wait::Attempt { action, attempt, since } => {
            format!("{action}: attempt {attempt} is under way {}", ago(*since, now))
        }
        Wait::Querying { action, query } => format!("{action}: query {query} is under way"),
        Wait::Permit { action, since } => format!("{action}: its turn, {}", ago(*since, now)),
        Wait::Reply { action, since, until } => {
            let (since, until) = (ago(*since, now), ahead(*until, now));
            format!("{action}: the reply of the participant, which has taken it {since}; a person {until}")
        }
        Wait::Until(Wake { at, why }) => {
            let at = ahead(*at, now);
            match why {
                WakeReason::Retry(action) => format!("{action}: the next attempt {at}"),
                WakeReason::Query(action) if is_taken(view, action) => {
                    format!("{action}: the participant, which has taken it; it is asked {at}")
                }
                WakeReason::Query(action) => {
                    format!("{action}: its outcome is unknown; it is asked about {at}")
                }
                WakeReason::Repeat(action) => {
                    format!("{action}: its outcome is unknown; it is repeated {at}")
                }
                WakeReason::StepDeadline(action) => format!("{action}: its deadline {at}"),
                WakeReason::SagaDeadline => format!("the deadline of the saga {at}"),
            }
        }
        Wait::Paused { since } => format!("a person, who paused it {}", ago(*since, now)),
        Wait::Person(_) => return None,
    })
}

/// Has the participant taken it, to answer later?
fn is_taken(view: &SagaView, action: &ActionId) -> bool {
    let action = view.state().action(view.plan(), action);
    action.and_then(|action| action.settling).is_some_and(|settling| settling.accepted)
}

fn ago(since: Timestamp, now: Timestamp) -> String {
    format!("since {since} ({:.1} s ago)", now.since(since).as_secs_f64())
}

fn ahead(at: Timestamp, now: Timestamp) -> String {
    if at <= now {
        return format!("since {at}: nobody runs it, or it is late");
    }
    format!("at {at} (in {:.1} s)", at.since(now).as_secs_f64())
}
