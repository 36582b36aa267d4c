//! How long the sagas of a killed process wait: until the first goes on elsewhere, until the last has, and until all are
//! settled. Their first two steps take nine seconds of the shop, so that all of them are under way at the kill.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use tempfile::TempDir;

use crate::crowd::logged;
use crate::process::{look_into, number};
use crate::real::{Logs, is_long, moment, pause, since, wall_clock};
use crate::server::Server;

/// What is measured with.
struct Load {
    sagas: i64,
    pace: &'static str,
    leases: &'static [&'static str],
}

/// In the long variant as in life: no time is scaled.
fn load() -> Load {
    if is_long() {
        Load { sagas: 1_000, pace: "1", leases: &["10", "2"] }
    } else {
        Load { sagas: 100, pace: "0.2", leases: &["2"] }
    }
}

/// So long everything may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// How many calls the one who goes on may have under way, so that participants and time limits bear it.
const CALLS: &str = "64";

/// From the kill on.
struct Recovery {
    what: String,
    in_flight: i64,
    first_goes_on: f64,
    all_go_on: f64,
    all_settled: f64,
    on_desks: i64,
    effects: i64,
    doubled: i64,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, in_flight, first_goes_on, all_go_on, all_settled, on_desks, effects, doubled } =
            self;
        write!(
            f,
            "{what}: {in_flight} in flight; the first goes on after {first_goes_on:.2} s, the last after \
             {all_go_on:.2} s, all are settled after {all_settled:.2} s ({on_desks} on a desk); {effects} effects, \
             {doubled} doubled"
        )
    }
}

/// Where the sagas are, and how to ask there.
enum Books<'a> {
    Server(&'a Server),
    File(&'a Path),
}

impl Books<'_> {
    /// One number; `SAGAS.` and `EFFECTS.` stand before the names of tables.
    async fn number(&self, select: &str) -> i64 {
        match self {
            Self::Server(server) => {
                let select = select.replace("SAGAS.", "shop.").replace("EFFECTS.", "shop_participants.");
                server.number(&select).await
            }
            Self::File(file) => {
                let of_effects = select.contains("EFFECTS.");
                let file =
                    if of_effects { file.with_extension("db.participants") } else { file.to_path_buf() };
                let db = look_into(&file).await;
                let number = number(&db, &select.replace("SAGAS.", "").replace("EFFECTS.", "")).await;
                db.close().await.expect("it can be closed");
                number
            }
        }
    }

    async fn under_way(&self) -> i64 {
        self.number(
            "SELECT count(*) FROM SAGAS.saga WHERE ended_at IS NULL \
             AND id NOT IN (SELECT saga_id FROM SAGAS.work_item)",
        )
        .await
    }

    /// Returns when so many are under way.
    async fn wait_for(&self, sagas: i64) {
        let began = moment();
        while self.under_way().await != sagas {
            assert!(since(began) < PATIENCE, "{} of {sagas} are under way", self.under_way().await);
            pause(20).await;
        }
    }

    /// What became of those that were under way at the kill.
    async fn recovery(&self, what: String, in_flight: i64, killed_at: i64) -> Recovery {
        self.wait_for(0).await;
        let claims = format!("FROM SAGAS.saga_event WHERE event = 'Claimed' AND at > {killed_at}");
        let claimed = self.number(&format!("SELECT count(DISTINCT saga_id) {claims}")).await;
        assert!(claimed >= in_flight, "{claimed} of {in_flight} sagas were taken over");
        let after = async |select: &str| (self.number(select).await - killed_at) as f64 / 1e6;
        let doubled = "SELECT count(*) FROM (SELECT request_id FROM EFFECTS.effect \
                       GROUP BY request_id HAVING count(*) > 1) AS doubled";
        Recovery {
            first_goes_on: after(&format!("SELECT min(at) {claims}")).await,
            all_go_on: after(&format!(
                "SELECT max(first) FROM (SELECT min(at) AS first {claims} GROUP BY saga_id) AS one"
            ))
            .await,
            all_settled: after("SELECT max(at) FROM SAGAS.journal").await,
            on_desks: self.number("SELECT count(DISTINCT saga_id) FROM SAGAS.work_item").await,
            effects: self.number("SELECT count(*) FROM EFFECTS.effect").await,
            doubled: self.number(doubled).await,
            what,
            in_flight,
        }
    }
}

/// The lines: orders that nothing is wrong with but that two participants are slow at first.
fn lines(folder: &Path, sagas: i64) -> PathBuf {
    let line = |n| {
        format!(
            r#"{{"order": {{"order": "O-{n}", "customer": "c-1", "card": "tok-visa-1", "address": "Lindenweg 4", "lines": [{{"sku": "tea-assam", "quantity": 1, "price": {{"minor": 1250, "currency": "EUR"}}}}], "total": {{"minor": 1250, "currency": "EUR"}}}}, "faults": [{{"call": "reserve-stock", "kind": "slow", "millis": 9000}}, {{"call": "authorize-payment", "kind": "slow", "millis": 9000}}]}}
"#
        )
    };
    let path = folder.join("lines.jsonl");
    std::fs::write(&path, (0..sagas).map(line).collect::<String>()).expect("the lines can be written");
    path
}

fn kill(mut child: Child) -> i64 {
    let at = wall_clock();
    child.kill().expect("it can be killed");
    child.wait().expect("it can be waited for");
    at
}

/// Holds for whoever recovers: everything is settled by itself, once.
fn judge(recovery: &Recovery, sagas: i64) {
    println!("{recovery}");
    assert_eq!(recovery.doubled, 0, "a request id took effect twice");
    assert!(recovery.in_flight > 0 && recovery.first_goes_on > 0.0, "nothing was in flight");
    // Reserved, held, taken, sent, told; and nobody is needed.
    assert_eq!((recovery.effects, recovery.on_desks), (sagas * 5, 0));
}

#[tokio::test]
async fn the_sagas_of_a_killed_process_go_on_elsewhere_after_a_lease() {
    let Load { sagas, pace, leases } = load();
    for lease in leases {
        let folder = TempDir::new().expect("a temporary folder");
        let server = Server::start().await;
        let _logs = Logs(folder.path());
        let url = server.url("shop");
        let with = ["--pace", pace, "--lease", lease];
        let mut waiting = logged(folder.path().join("waits.log"), &url);
        let waiting = Running(Some(
            waiting.args(with).args(["--worker", "--in-flight", CALLS]).spawn().expect("it starts"),
        ));
        let books = Books::Server(&server);
        let joined = "SELECT count(*) FROM pg_tables WHERE schemaname = 'shop' AND tablename = 'worker'";
        while server.number(joined).await == 0 || books.number("SELECT count(*) FROM SAGAS.worker").await == 0
        {
            pause(20).await;
        }
        let mut dies = logged(folder.path().join("dies.log"), &url);
        dies.args(with)
            .args(["--in-flight", &sagas.to_string(), "--orders"])
            .arg(lines(folder.path(), sagas));
        let mut dies = Running(Some(dies.spawn().expect("it starts")));
        books.wait_for(sagas).await;
        let killed_at = kill(dies.0.take().expect("it runs"));
        let in_flight = books.under_way().await;
        let what = format!("PostgreSQL, lease {lease} s, pace {pace}");
        judge(&books.recovery(what, in_flight, killed_at).await, sagas);
        drop(waiting);
    }
}

#[tokio::test]
async fn the_sagas_of_a_killed_process_go_on_when_it_is_started_again_on_its_file() {
    let Load { sagas, pace, .. } = load();
    let folder = TempDir::new().expect("a temporary folder");
    let _logs = Logs(folder.path());
    let file = folder.path().join("shop.db");
    let lines = lines(folder.path(), sagas);
    let spawn = || {
        let mut shop = logged(folder.path().join("shop.log"), file.to_str().expect("UTF-8"));
        shop.args(["--pace", pace, "--in-flight", &sagas.to_string(), "--orders"]).arg(&lines);
        Running(Some(shop.spawn().expect("it starts")))
    };
    let mut dies = spawn();
    let books = Books::File(&file);
    while !file.exists() || !file.with_extension("db.participants").exists() {
        pause(20).await;
    }
    books.wait_for(sagas).await;
    let killed_at = kill(dies.0.take().expect("it runs"));
    let in_flight = books.under_way().await;
    let again = spawn();
    judge(
        &books.recovery(format!("SQLite, started again at once, pace {pace}"), in_flight, killed_at).await,
        sagas,
    );
    drop(again);
}

/// A process that goes with the test.
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
