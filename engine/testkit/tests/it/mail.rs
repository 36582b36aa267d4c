//! What people and participants say on one node of a saga that another one runs.

use std::time::Duration;

use amends::engine::{OperateError, Reply};
use amends::operator::By;
use amends::prelude::*;
use amends_core::event::{Answer, Recorded};
use amends_core::machine::Attempted;
use amends_core::state::Phase;
use amends_core::{ActionId, Json, SagaId};
use amends_testkit::{CallPlan, Cluster, Ledger, NodeId, Participant};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Two nodes and a saga of the first, whose one step got no answer: only a person, or a late reply, settles it.
fn unknown() -> (Cluster, Ledger, [NodeId; 2], SagaId) {
    let mut cluster = Cluster::new();
    let ledger = cluster.ledger();
    let part: Participant<u32, u32, String> = Participant::new(&ledger, "part", |n: &u32| *n);
    part.on_call().always(CallPlan::LoseRequest);
    let (mut s, input) = SagaBuilder::<u32>::new("late", 1);
    let done = s.step("part", part.step::<ByOperator, ByRepeating>(), input);
    let saga = s.finish(done).expect("the definition is sound");
    let definition = saga.resolve(&Policies::new()).expect("the numbers are possible");
    let nodes = std::array::from_fn(|_| cluster.join(&[&definition]));
    let saga = cluster.start(nodes[0], &saga, "key", 7);
    cluster.run_until(seconds(600), |cluster| !cluster.view(saga).desk.is_empty());
    (cluster, ledger, nodes, saga)
}

fn cancel(cluster: &mut Cluster, node: NodeId, saga: SagaId, id: &str) -> Result<Answer, OperateError> {
    let by = By::new("ann", "a test", id);
    cluster.ask(node, move |engine| async move { engine.operator().saga(saga).cancel(by).await })
}

#[test]
fn a_verb_is_decided_by_the_owner_and_answered_on_any_node() {
    let (mut cluster, _, [first, second], saga) = unknown();
    let asked_at = cluster.now();
    assert_eq!(cancel(&mut cluster, second, saga, "1"), Ok(Answer::Accepted));
    assert!(cluster.now().since(asked_at) <= seconds(2), "its owner looks once a second");
    assert_eq!(cluster.owned(second), 0, "it stays where it was");
    for node in [first, second] {
        assert_eq!(cancel(&mut cluster, node, saga, "1"), Ok(Answer::Accepted), "the stored answer");
    }
    assert_eq!(cancel(&mut cluster, first, saga, "2"), Ok(Answer::Already));
    assert_eq!(cluster.view(saga).timeline().matches("turned back").count(), 1);
}

#[test]
fn what_its_owner_does_not_live_to_decide_is_decided_by_the_next() {
    let (mut cluster, _, [first, second], saga) = unknown();
    cluster.kill(first);
    assert_eq!(cancel(&mut cluster, second, saga, "1"), Ok(Answer::Accepted));
    assert_eq!(cluster.view(saga).timeline().matches("turned back").count(), 1);
}

#[test]
fn a_question_refused_by_a_clock_that_is_ahead_turns_no_time_back() {
    let mut cluster = Cluster::new();
    let ledger = cluster.ledger();
    let part: Participant<u32, u32, String> = Participant::new(&ledger, "part", |n: &u32| *n);
    part.on_call().always(CallPlan::Persistent);
    let (mut s, input) = SagaBuilder::<u32>::new("ahead", 1);
    let done = s.step("part", part.step::<ByOperator, ByRepeating>(), input);
    let saga = s.finish(done).expect("the definition is sound");
    let definition = saga.resolve(&Policies::new()).expect("the numbers are possible");
    let ahead = cluster.join_ahead(&[&definition], seconds(3_600));
    let saga = cluster.start(ahead, &saga, "key", 7);
    cluster.run_for(seconds(5));
    let by = By::new("ann", "a test", "1");
    let refused = cluster.ask(ahead, move |engine| async move {
        engine.operator().saga(saga).waive(ActionId::forward("part"), by).await
    });
    assert!(matches!(refused, Err(OperateError::Refused(_))), "{refused:?}");
    cluster.kill(ahead);
    let behind = cluster.join(&[&definition]);
    cluster.run_until(seconds(60), |cluster| cluster.owned(behind) == 1);
    let view = cluster.view(saga);
    let times: Vec<_> = view.journal().iter().map(|row| row.at).collect();
    assert!(view.journal().iter().any(|row| row.events.is_empty()) && times.is_sorted(), "{times:?}");
}

#[test]
fn a_reply_on_any_node_settles_the_saga_of_another() {
    let (mut cluster, _, [_, second], saga) = unknown();
    let request = ActionId::forward("part").request_id(saga);
    let seven = || Attempted::Succeeded(Recorded::Value(Json::parse("7").expect("it is JSON")));
    let reply = |cluster: &mut Cluster| {
        cluster.ask(
            second,
            |engine| async move { engine.reply(saga, request, Some(1), seven(), "broker").await },
        )
    };
    assert_eq!(reply(&mut cluster), Ok(Reply::Taken));
    assert_eq!(reply(&mut cluster), Ok(Reply::TakenBefore));
    cluster.run_until(seconds(10), |cluster| cluster.view(saga).phase == Phase::Completed);
}

#[test]
fn g14_a_reply_that_comes_while_its_owner_is_down_is_applied_by_the_next() {
    let (mut cluster, _, [first, second], saga) = unknown();
    cluster.kill(first);
    let request = ActionId::forward("part").request_id(saga);
    let answer = Attempted::Succeeded(Recorded::Value(Json::parse("7").expect("it is JSON")));
    let taken = cluster
        .ask(second, |engine| async move { engine.reply(saga, request, Some(1), answer, "broker").await });
    assert_eq!(taken, Ok(Reply::Taken));
    assert_eq!(cluster.view(saga).phase, Phase::Running, "its owner still counts as alive");
    cluster.run_until(seconds(60), |cluster| cluster.view(saga).phase == Phase::Completed);
}
