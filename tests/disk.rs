//! A PostgreSQL that takes no more: its disk is full, or it has become read-only. What is under way stays under way,
//! nothing is lost, the same process goes on when there is room again, and no request takes effect twice.

#[path = "shop/process.rs"]
mod process;
#[path = "chaos/real.rs"]
mod real;
#[path = "chaos/server.rs"]
mod server;
#[path = "disk/small.rs"]
mod small;

use std::path::Path;
use std::process::{Child, Stdio};

use process::{Page, run, shop};
use real::{Logs, moment, pause, signal, since};
use server::Server;
use small::Small;
use tempfile::TempDir;

/// As fast as the participants' time limits allow.
const TEMPO: [&str; 4] = ["--lease", "2", "--pace", "0.05"];

/// What the engine says when the store refuses what it asks for.
const REFUSED: &str = "the store does not answer";

/// How long anything may take.
const PATIENCE_SECONDS: u64 = 60;

/// A process of the shop that goes with the test, and its log.
struct Process(Child);

impl Process {
    fn start(server: &Server, log: &Path, args: &[&str]) -> Self {
        let log = std::fs::File::create(log).expect("the log can be written");
        let mut command = shop();
        command.args(["--database", &server.url("shop")]).args(TEMPO).args(args);
        command.env("RUST_LOG", "amends=info").stdout(Stdio::null()).stderr(log);
        Self(command.spawn().expect("the shop starts"))
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("it can be asked").is_none()
    }

    async fn code(&mut self) -> Option<i32> {
        let began = moment();
        while self.is_running() {
            assert!(since(began).as_secs() < PATIENCE_SECONDS, "a process does not end");
            pause(20).await;
        }
        self.0.wait().expect("it has ended").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns when one of the logs says this.
async fn wait_for(logs: &[&Path], words: &str) {
    let began = moment();
    let says = |log: &&Path| std::fs::read_to_string(log).unwrap_or_default().contains(words);
    while !logs.iter().any(says) {
        assert!(since(began).as_secs() < PATIENCE_SECONDS, "nobody says `{words}`");
        pause(20).await;
    }
}

/// Every one of so many lines has its saga, which has ended or stands on a desk, and all balances.
fn all_is_well(server: &Server, lines: &str) {
    let url = server.url("shop");
    let audited = run(["--database", &url, "--audit", "90", "--generated", lines, "--seed", "3"]);
    assert_eq!(audited.code, Some(0), "{}\n{}", audited.err, audited.out);
    assert!(!Page::read(&audited.out).rows("OUTCOMES").is_empty());
}

/// A worker goes through a time in which the server refuses to write, and more is submitted meanwhile.
async fn goes_through(server: &Server, refuses: impl AsyncFn(), accepts: impl AsyncFn()) {
    let logs = TempDir::new().expect("a temporary folder");
    let _logs = Logs(logs.path());
    let log = |name: &str| logs.path().join(name);
    let mut worker = Process::start(server, &log("worker.log"), &["--worker"]);
    let submit = |lines: &'static str, name: &str| {
        Process::start(server, &log(name), &["--submit", "--generated", lines, "--seed", "3"])
    };
    wait_for(&[&log("worker.log")], "at work as").await;
    assert_eq!(submit("20", "first.log").code().await, Some(0));
    all_is_well(server, "20");

    // More is on its way when it happens.
    let mut second = submit("60", "second.log");
    let more = "SELECT count(*) FROM shop.saga";
    while server.number(more).await <= 20 {
        assert!(second.is_running(), "it submits more");
        pause(5).await;
    }
    refuses().await;
    // Whoever has something to write: the worker, or who submits.
    wait_for(&[&log("worker.log"), &log("second.log")], REFUSED).await;
    let rows = "SELECT count(*) FROM shop.journal";
    let held = server.number(rows).await;
    // For longer than a lease nothing comes of anything.
    let began = moment();
    while since(began).as_secs() < 3 {
        assert!(worker.is_running(), "a store that refuses ends nobody");
        pause(50).await;
    }
    let still = server.number(rows).await;
    accepts().await;
    // A few rows still fitted where there was room within a page.
    assert!(still - held < 40, "{} rows were written by a server that refuses to write", still - held);
    assert!(second.code().await.is_some(), "who submits ends");
    assert_eq!(
        submit("60", "third.log").code().await,
        Some(0),
        "whatever it had to leave is submitted again"
    );
    all_is_well(server, "60");
    let doubled = "SELECT count(*) FROM (SELECT request_id FROM shop_participants.effect \
                   GROUP BY request_id HAVING count(*) > 1) AS doubled";
    assert_eq!(server.number(doubled).await, 0);
    signal(&worker.0, "TERM");
    assert_eq!(worker.code().await, Some(0), "the same process has seen it through");
}

#[tokio::test]
async fn a_full_disk_holds_sagas_up_and_they_go_on_when_there_is_room() {
    let small = Small::start().await;
    goes_through(&small.server, async || small.fill().await, async || small.make_room().await).await;
}

#[tokio::test]
async fn a_server_that_becomes_read_only_holds_sagas_up_and_they_go_on_when_it_is_not() {
    let server = Server::start().await;
    let set = async |to: &str| {
        server.sql(&format!("ALTER SYSTEM SET default_transaction_read_only = {to}")).await;
        server.sql("SELECT pg_reload_conf()").await;
    };
    goes_through(&server, async || set("on").await, async || set("off").await).await;
}
