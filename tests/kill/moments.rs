//! When the shop is killed, and what is under way then.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sea_orm::DatabaseConnection;

use crate::process::{Page, number, repository, run, shop};
use crate::same::Same;

/// A second of the shop takes so many seconds here.
const PACE: &str = "0.15";

/// What is under way when a process is gone: the last word of a saga's journal.
const COMPENSATING: &str = "SELECT count(*) FROM journal j \
    WHERE j.events LIKE '%\"Started\":{\"action\":\"%/compensation\"%' \
    AND NOT EXISTS (SELECT 1 FROM journal l WHERE l.saga_id = j.saga_id AND l.seq > j.seq)";
const CAPTURE_UNKNOWN: &str = "SELECT count(*) FROM journal j \
    WHERE (j.events LIKE '%\"BecameUnknown\":{\"action\":\"capture-payment/forward\"%' \
        OR j.events LIKE '%\"QueryStarted\":{\"action\":\"capture-payment/forward\"%') \
    AND NOT EXISTS (SELECT 1 FROM journal l WHERE l.saga_id = j.saga_id AND l.seq > j.seq)";

/// What the journal tells of either, as its last word before a takeover.
const COMPENSATION_STARTED: &str = "event = 'Started' AND action LIKE '%/compensation'";
const CAPTURE_BEING_SETTLED: &str = "action = 'capture-payment/forward' \
    AND event IN ('BecameUnknown', 'QueryStarted', 'QueryAnswered', 'QueryFailed')";

/// Counts the takeovers that come directly after an event like this.
fn directly_before_takeover(event: &str) -> String {
    format!(
        "SELECT count(*) FROM (
             SELECT event, detail ->> 'action' AS action,
                 lead(event) OVER (PARTITION BY saga_id ORDER BY seq, n) AS then_event
             FROM saga_event) AS told
         WHERE then_event = 'Claimed' AND {event}"
    )
}

/// One database, on which the shop is run again and again.
pub trait Place {
    /// A new one.
    fn new() -> Self;

    /// How the shop is told of it.
    fn args(&self) -> Vec<String>;

    /// What the engine keeps, opened so that it disturbs nobody.
    async fn engine(&self) -> DatabaseConnection;

    /// What the participants keep.
    async fn participants(&self) -> DatabaseConnection;
}

/// When a process is killed, after it has begun to work.
enum Moment {
    /// So long after.
    After(Duration),
    /// As soon as this counts something in the database.
    AsSoonAs(&'static str),
}

/// What the kills met.
#[derive(Debug, Default)]
pub struct Killed {
    /// How many came while a compensation was under way, and while a capture was unknown.
    pub compensating: usize,
    pub unknown: usize,
    /// How many sagas were taken over in the middle of either, as their journals tell.
    pub taken_over_undoing: i64,
    pub taken_over_unknown: i64,
}

/// Kills so many processes in all, each within so long after it has begun, so many of one database before that is
/// left to be finished; and compares what is there in the end with what an undisturbed run leaves.
pub async fn kill<P: Place>(kills_in_all: usize, of_one: usize, within: Duration) -> Killed {
    let seed =
        std::env::var("SHOP_KILL_SEED").map_or(20_261_130, |seed| seed.parse().expect("a whole number"));
    println!("SHOP_KILL_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let undisturbed = P::new();
    let expected = Same::of(&finish(&undisturbed), &undisturbed.participants().await).await;
    assert!(!expected.outcomes.is_empty() && expected.rules.len() > 5, "{expected:?}");

    let (mut kills, mut killed) = (0, Killed::default());
    while kills < kills_in_all {
        let place = P::new();
        for _ in 0..of_one.min(kills_in_all - kills) {
            let moment = match &killed {
                Killed { compensating: 0, .. } => Moment::AsSoonAs(COMPENSATING),
                Killed { unknown: 0, .. } => Moment::AsSoonAs(CAPTURE_UNKNOWN),
                _ => Moment::After(within.mul_f64(rng.f64())),
            };
            if !kill_at(&place, moment).await {
                break;
            }
            kills += 1;
            // What the dead process left is what the next one will find.
            let db = place.engine().await;
            let (undoing, capturing) = (number(&db, COMPENSATING).await, number(&db, CAPTURE_UNKNOWN).await);
            db.close().await.expect("it can be closed");
            println!("kill {kills}: {undoing} compensations under way, {capturing} captures unknown");
            killed.compensating += usize::from(undoing > 0);
            killed.unknown += usize::from(capturing > 0);
        }
        let page = finish(&place);
        let left = Same::of(&page, &place.participants().await).await;
        assert_eq!(left, expected, "after kill {kills}, seed {seed}");
        let db = place.engine().await;
        killed.taken_over_undoing += number(&db, &directly_before_takeover(COMPENSATION_STARTED)).await;
        killed.taken_over_unknown += number(&db, &directly_before_takeover(CAPTURE_BEING_SETTLED)).await;
    }
    println!("{killed:?}");
    killed
}

fn args(place: &impl Place) -> Vec<String> {
    let short = repository("tests/data/short-orders.jsonl").into_os_string().into_string();
    let more =
        ["--orders".to_owned(), short.expect("paths are in UTF-8"), "--pace".to_owned(), PACE.to_owned()];
    place.args().into_iter().chain(more).collect()
}

/// Runs to the end and reads the page.
fn finish(place: &impl Place) -> Page {
    let ended = run(args(place));
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.out, ended.err);
    Page::read(&ended.out)
}

/// Starts the shop and kills it at the moment; false if it had ended before.
#[expect(clippy::disallowed_methods, reason = "a real process is killed at moments of real time")]
async fn kill_at(place: &impl Place, moment: Moment) -> bool {
    let mut child = start(shop().args(args(place)));
    match moment {
        Moment::After(wait) => tokio::time::sleep(wait).await,
        Moment::AsSoonAs(sql) => {
            let db = place.engine().await;
            while number(&db, sql).await == 0 {
                if child.try_wait().expect("it can be asked").is_some() {
                    return false;
                }
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            db.close().await.expect("it can be closed");
        }
    }
    // Of this child alone, by its id: `Child::kill` sends SIGKILL.
    if child.try_wait().expect("it can be asked").is_some() {
        return false;
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it can be waited for");
    true
}

/// Starts it, and returns when it has said its first word of progress, so that it has begun to work.
fn start(command: &mut Command) -> Child {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the shop starts");
    let mut err = BufReader::new(child.stderr.take().expect("it was piped"));
    let mut line = String::new();
    while err.read_line(&mut line).expect("it prints text") > 0 && !line.contains("sagas ended") {
        line.clear();
    }
    // The rest is read and forgotten, so that the process is never held up.
    std::thread::spawn(move || err.lines().map_while(Result::ok).for_each(drop));
    child
}
