//! The cases that are played on every database: with a real engine, in processes one after the other.

use std::sync::Arc;
use std::time::Duration;

use amends::engine::{OutcomeError, SagaStartError, StartError};
use amends::ports::{
    Fault, Introduced, JournalRow, NodeRegistry as _, NodeStore as _, PurgeStore as _, SagaFilter,
    SagaQuery as _, SagaRow, Sharing, Store,
};
use amends::prelude::*;
use amends::{Engine, Limits, Outcome, SagaHandle, StartOptions};
use amends_core::{Json, SagaId};
use tokio::sync::Semaphore;

/// Where the data of one test lies, and goes with it.
pub(crate) trait Place: Sized {
    type Store: Store;

    /// Opens it, as a process does.
    async fn open(&self) -> Arc<Self::Store>;

    /// Closes it, as soon as nobody holds it any more.
    async fn close(&self, store: Arc<Self::Store>);

    /// Changes something as a person with a SQL prompt does. `SAGA` stands for this saga.
    async fn damage(&self, statement: &str, saga: SagaId);

    /// Why this saga was set aside, if it was: read as SQL, for the row may be what is damaged.
    async fn set_aside(&self, saga: SagaId) -> Option<String>;

    async fn process(&self, workflows: &[&Saga<u32, u32>]) -> Process<Self::Store> {
        self.try_process(workflows).await.unwrap_or_else(|error| panic!("the engine starts: {error}"))
    }

    async fn try_process(&self, workflows: &[&Saga<u32, u32>]) -> Result<Process<Self::Store>, StartError> {
        let store = self.open().await;
        let at_once = QueryPolicy { base: Duration::from_millis(1), ..QueryPolicy::default() };
        // Where nodes share the store, the next process waits for the lease of the one that died.
        let limits = Limits {
            lease: Duration::from_millis(400),
            claim_every: Duration::from_millis(50),
            ..Limits::default()
        };
        let engine = Engine::builder(store.clone()).limits(limits);
        let engine = engine.policies(Policies::new().query("at-once", at_once));
        let engine = workflows.iter().fold(engine, |engine, saga| engine.register((*saga).clone()));
        let engine = match engine.start().await {
            Ok(engine) => engine,
            Err(error) => {
                self.close(store).await;
                return Err(error);
            }
        };
        Ok(Process { store, engine })
    }

    /// Looks until the saga was set aside.
    async fn reason(&self, saga: SagaId) -> String {
        for _look in 0..100_000 {
            match self.set_aside(saga).await {
                Some(reason) => return reason,
                None => tokio::task::yield_now().await,
            }
        }
        panic!("nobody set the saga {saga} aside")
    }

    /// What a process left of a saga. A slow one may have withdrawn what it did not send any more.
    async fn journal(&self, workflow: &str, key: &str) -> Vec<JournalRow> {
        let store = self.open().await;
        let id = store.find(workflow, key).await.expect("it reads").expect("the saga").id;
        let journal = store.read(id).await.expect("it reads").expect("the saga").journal;
        self.close(store).await;
        assert!(!journal.is_empty(), "{key} has begun");
        journal
    }

    /// The process dies in the middle of anything.
    async fn dies(&self, process: Process<Self::Store>) {
        process.engine.abort().await;
        drop(process.engine);
        self.close(process.store).await;
    }
}

/// An engine on a place.
pub(crate) struct Process<S> {
    pub(crate) store: Arc<S>,
    pub(crate) engine: Engine,
}

impl<S: Store> Process<S> {
    pub(crate) async fn ends(&self, key: &str) -> Result<Outcome, OutcomeError> {
        self.saga("order", key).await.outcome().await
    }

    pub(crate) async fn saga(&self, workflow: &str, key: &str) -> SagaHandle {
        self.engine.find(workflow, key).await.expect("it reads").expect("the saga")
    }

    pub(crate) async fn row(&self, workflow: &str, key: &str) -> SagaRow {
        self.store.find(workflow, key).await.expect("it reads").expect("the saga")
    }

    /// Asks for a saga, as a trigger does.
    pub(crate) async fn start(
        &self,
        workflow: &str,
        key: &str,
        input: &str,
    ) -> Result<SagaHandle, SagaStartError> {
        let input = Json::parse(input).expect("JSON");
        self.engine.start_json(workflow, key, input, StartOptions::default()).await
    }
}

/// `charge`: safe to repeat, and it waits for the test to let it go on.
struct Charge(Arc<Semaphore>);

impl Step for Charge {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, amount: u32) -> Result<u32, StepError<Never>> {
        self.0.acquire().await.expect("nobody closes it").forget();
        Ok(amount)
    }
}

/// A read that the second version and the changed first one have before `charge`.
fn looked_up(s: &mut SagaBuilder<u32>, amount: Handle<u32>) -> Handle<u32> {
    s.read_fn("look-up", amount, |_, amount: u32| async move { Ok(amount) })
}

/// A workflow of one step that waits until `go` has permits.
pub(crate) fn waits(
    workflow: &'static str,
    version: u32,
    longer: bool,
    go: &Arc<Semaphore>,
) -> Saga<u32, u32> {
    let (mut s, amount) = SagaBuilder::<u32>::new(workflow, version);
    let amount = if longer { looked_up(&mut s, amount) } else { amount };
    let (charged, s) = s.pivot("charge", Charge(go.clone()).query("at-once"), amount);
    s.finish(charged).expect("the definition is sound")
}

pub(crate) fn shut() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

pub(crate) fn open() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(10_000))
}

/// Two at once (on two nodes where the place has them), one that comes late, one spelled in another way, and one that is another trigger.
pub(crate) async fn g13_a_trigger_that_comes_twice_at_once_is_one_saga_and_a_changed_one_a_conflict<
    S: Store,
>(
    process: &Process<S>,
    other: &Process<S>,
) {
    for n in 0..50 {
        let key = format!("evt-{n}");
        let start_on = |node: &Process<S>, input: &str| {
            let (engine, key, input) = (node.engine.clone(), key.clone(), Json::parse(input).expect("JSON"));
            async move { engine.start_json("order", &key, input, StartOptions::default()).await }
        };
        let start = |input| start_on(process, input);
        let (first, second) = (tokio::spawn(start("200")), tokio::spawn(start_on(other, "200")));
        let first = first.await.expect("no panic").expect("it starts").id();
        let second = second.await.expect("no panic").expect("it is no error to come second").id();
        assert_eq!(first, second);
        assert!(matches!(process.ends(&key).await, Ok(Outcome::Completed(_))));
        let late = start(" 200 ").await.expect("a repeat after the end is the same saga").id();
        assert_eq!(late, first);
        let before = process.store.read(first).await.expect("it reads");
        let error = start("500").await.expect_err("it is another trigger");
        let SagaStartError::Conflict { standing, input_digest } = error else { panic!("{error}") };
        assert_eq!(
            (standing.id, Json::parse("500").expect("JSON").canonical_digest().expect("a digest")),
            (first, input_digest)
        );
        assert_eq!(process.store.read(first).await.expect("it reads"), before, "the saga is untouched");
    }
    assert_eq!(process.store.counts().await.expect("it counts").sagas, 50);
}

/// What a person or a failing disk can do to the third of five sagas, and what the desk then says of it.
pub(crate) async fn g20_one_saga_that_cannot_be_read_stops_none_of_the_others<P: Place>(
    new_place: impl Fn() -> P,
    damage: &[(&str, &str)],
) {
    for (statement, told) in damage {
        let place = new_place();
        let first = place.process(&[&waits("order", 1, false, &shut())]).await;
        let keys = ["1", "2", "3", "4", "5"];
        for key in keys {
            first.start("order", key, key).await.expect("it starts");
        }
        let broken = first.row("order", "3").await.id;
        place.dies(first).await;
        place.damage(statement, broken).await;

        // Recovery is a loop: a later process finds the same, and disturbs nobody.
        for _process in 0..2 {
            let next = place.process(&[&waits("order", 1, false, &open())]).await;
            for key in keys.into_iter().filter(|key| *key != "3") {
                let end = next.ends(key).await;
                assert!(matches!(end, Ok(Outcome::Completed(_))), "{statement}: {key} ended as {end:?}");
            }
            let reason = place.reason(broken).await;
            assert!(reason.contains(told), "{statement}: {reason}");
            // Its trigger comes again, and a person asks for it: whoever asks is answered, and nobody else notices.
            match next.start("order", "3", "3").await {
                Ok(same) => {
                    assert_eq!(same.id(), broken, "{statement}");
                    let end = same.outcome().await;
                    assert!(
                        matches!(
                            end,
                            Err(OutcomeError::SetAside(_) | OutcomeError::Store(Fault::Corrupt(_)))
                        ),
                        "{statement}: {end:?}"
                    );
                }
                Err(error) => assert!(error.to_string().contains("cannot be read"), "{statement}: {error}"),
            }
            let new = next.start("order", "6", "6").await;
            assert!(matches!(new.expect("it starts").outcome().await, Ok(Outcome::Completed(_))));
            let health = next.engine.health().await;
            let told = format!("degraded: 1 saga is set aside, first {broken}: ");
            assert!(health.to_string().starts_with(&told), "{statement}: {health}");
            place.dies(next).await;
        }
    }
}

/// Twenty sagas of the first version wait; one of another workflow too, whose end shows that this process has
/// looked for what is due.
pub(crate) async fn g33_sagas_whose_version_is_not_registered_are_left_untouched_and_visible(
    place: &impl Place,
) {
    let v1 = |go: &Arc<Semaphore>| waits("order", 1, false, go);
    let first = place.process(&[&v1(&shut()), &waits("other", 1, false, &shut())]).await;
    let keys: Vec<String> = (0..20).map(|n| format!("order-{n}")).collect();
    for (workflow, key) in keys.iter().map(|key| ("order", key.as_str())).chain([("other", "one")]) {
        first.start(workflow, key, "7").await.expect("it starts");
    }
    place.dies(first).await;
    let mut left = Vec::new();
    for key in &keys {
        left.push(place.journal("order", key).await);
    }

    let next = place.process(&[&waits("order", 2, true, &open()), &waits("other", 1, false, &open())]).await;
    assert!(matches!(next.saga("other", "one").await.outcome().await, Ok(Outcome::Completed(_))));
    let new = next.start("order", "new", "7").await;
    assert!(matches!(new.expect("it starts").outcome().await, Ok(Outcome::Completed(_))));
    for (key, left) in keys.iter().zip(left) {
        let row = next.row("order", key).await;
        assert_eq!((row.phase.as_str(), row.owner, row.set_aside), ("running", None, None), "{key}");
        let journal = next.store.read(row.id).await.expect("it reads").expect("the saga").journal;
        assert_eq!(journal, left, "{key} is as the first process left it");
        let error = next.engine.inspect(row.id).await.expect_err("nobody here knows its version");
        assert!(error.to_string().contains("version 1"), "{error}");
    }
    let running = SagaFilter { phase: Some("running".to_owned()), limit: 100, ..SagaFilter::default() };
    let listed = next.store.list(&running).await.expect("it lists");
    assert!(listed.len() == 20 && listed.iter().all(|row| row.definition.version == 1), "they are listed");
    place.dies(next).await;

    let both = place.process(&[&v1(&open()), &waits("order", 2, true, &open())]).await;
    for key in &keys {
        assert!(matches!(both.ends(key).await, Ok(Outcome::Completed(_))), "{key}");
    }
    place.dies(both).await;
}

pub(crate) async fn g33_other_content_under_a_version_that_is_under_way_is_refused_at_the_start(
    place: &impl Place,
) {
    let first = place.process(&[&waits("order", 1, false, &shut())]).await;
    first.start("order", "order-1", "7").await.expect("it starts");
    place.dies(first).await;
    let before = place.journal("order", "order-1").await;

    let Err(error) = place.try_process(&[&waits("order", 1, true, &open())]).await else {
        panic!("another shape was let in")
    };
    let text = error.to_string();
    assert!(text.contains("it has another shape than when the saga of `order-1` began"), "{text}");
    assert_eq!(place.journal("order", "order-1").await, before, "the saga is untouched");
}

/// The retention of 30 days is over; the same trigger on day 31.
pub(crate) async fn g15_a_trigger_after_the_purge_finds_that_it_was_handled(place: &impl Place) {
    let go = Arc::new(Semaphore::new(1));
    let process = place.process(&[&waits("order", 1, false, &go)]).await;
    let first = process.start("order", "evt-9", "200").await.expect("it starts").id();
    assert!(matches!(process.ends("evt-9").await, Ok(Outcome::Completed(_))));
    let waiting = process.start("order", "evt-10", "200").await.expect("it starts").id();
    let day = Duration::from_secs(24 * 3_600);
    let now = process.engine.now() + 31 * day;
    // The end is told before the saga is given up: until then it may not be purged.
    let mut purged = 0;
    for _look in 0..100_000 {
        purged += process.store.purge(now, now, 100).await.expect("it purges");
        if purged > 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(purged, 1, "the other one waits and is not over");

    let again = process.start("order", "evt-9", "200").await.expect("it is the same start");
    assert_eq!(again.id(), first);
    let told = again.outcome().await.expect_err("its result is gone");
    assert!(matches!(&told, OutcomeError::Purged(left) if left.ended_as("completed")), "{told}");
    let error = process.start("order", "evt-9", "500").await.expect_err("it is another trigger");
    assert!(matches!(error, SagaStartError::Conflict { .. }), "{error}");
    drop(again);
    assert_eq!(go.available_permits(), 0, "charged once, and nobody waits for a second time");
    go.add_permits(1);
    assert!(matches!(process.ends("evt-10").await, Ok(Outcome::Completed(_))), "{waiting}");
    place.dies(process).await;

    let next = place.process(&[&waits("order", 2, true, &open())]).await;
    let again = next.start("order", "evt-9", "200").await.expect("nobody here knows its version any more");
    assert_eq!(again.id(), first);
    drop(again);
    place.dies(next).await;
}

/// Nobody is there to say what the row of a node means but that node: the others go on, and so does it.
pub(crate) async fn a_damaged_row_of_a_node_stops_no_engine_and_hides_no_other(place: &impl Place) {
    let damage = [
        "UPDATE worker SET beat = -7000000",
        "UPDATE node SET definitions = 'no JSON', lease = -1",
        "INSERT INTO worker (incarnation, beat, started_at, node) VALUES (SAGA, -1, 0, 'dead')",
        "UPDATE worker SET beat = 9223372036854775807 WHERE node <> 'dead'",
    ];
    let process = place.process(&[&waits("order", 1, false, &open())]).await;
    let (store, me) = (&process.store, process.engine.incarnation());
    for (n, damage) in damage.into_iter().enumerate() {
        place.damage(damage, SagaId(uuid::Uuid::from_u128(0xdead))).await;
        let live = process.engine.live_nodes().await.expect("it reads");
        assert!(live.len() == 1 && live[0].incarnation == me, "{damage}: {live:?}");
        let peers = store.peers().await.expect("it reads");
        assert!(peers.iter().any(|peer| peer.incarnation == me), "{damage}: {peers:?}");
        let introduced = store.introduce(me, &live[0].profile).await;
        assert_eq!(introduced, Ok(Introduced::Welcome), "{damage}");
        let key = n.to_string();
        process.start("order", &key, "1").await.expect("it starts");
        assert!(matches!(process.ends(&key).await, Ok(Outcome::Completed(_))), "{damage}");
    }
    if store.sharing() == Sharing::Shared {
        // Several leases pass: who beats stays, and who does not is dismissed.
        while store.peers().await.expect("it reads").len() > 1 {
            assert!(process.engine.stopped().is_none(), "{:?}", process.engine.stopped());
        }
        let again = place.process(&[&waits("order", 1, false, &open())]).await;
        assert_eq!(process.engine.live_nodes().await.expect("it reads").len(), 2);
        place.dies(again).await;
    }
    assert!(store.beat(me, Duration::from_secs(20)).await.is_ok());
    assert!(process.engine.stopped().is_none(), "{:?}", process.engine.stopped());
    place.dies(process).await;
}
