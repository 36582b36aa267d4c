//! The shop on NATS, as its user meets it: the real program, a real server, and the participants in a process of their
//! own, which can be killed.

#[path = "shop/process.rs"]
mod process;
#[path = "shop/schemas.rs"]
mod schemas;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};

use amends_nats_testkit::Server;
use expect_test::expect;
use process::{Ended, Page, look_into, number, repository, run, shop};
use schemas::Schemas;
use tempfile::TempDir;

/// A server, and a database, for one shop.
struct World {
    server: Server,
    folder: TempDir,
    database: String,
}

impl World {
    fn on_a_file() -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let database = folder.path().join("shop.db").to_str().expect("UTF-8").to_owned();
        Self { server: Server::start(), folder, database }
    }

    fn on(database: String) -> Self {
        Self { database, ..Self::on_a_file() }
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let url = self.server.url();
        let these = ["--nats", &url, "--database", &self.database];
        these.iter().chain(more).map(|arg| (*arg).to_owned()).collect()
    }

    /// The participants, at work.
    fn participants(&self) -> Participants {
        let mut command = shop();
        command.args(self.args(&["--serve-participants"])).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the shop starts");
        let mut err = BufReader::new(process.stderr.take().expect("it was piped"));
        let mut said = String::new();
        err.read_line(&mut said).expect("it prints text");
        assert_eq!(said, "the participants are at work\n");
        Participants { process, _err: err }
    }

    /// The shop, which runs on while the test does something else.
    fn begin(&self, more: &[&str]) -> Running {
        let mut command = shop();
        command.args(self.args(more)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the shop starts");
        let err = BufReader::new(process.stderr.take().expect("it was piped"));
        Running { process, err, said: String::new() }
    }
}

/// A process that serves the participants. It ends with the test.
struct Participants {
    process: Child,
    // What it says is read by nobody, and must have somewhere to go.
    _err: BufReader<ChildStderr>,
}

impl Participants {
    /// As by SIGKILL.
    fn kill(mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it can be waited for");
    }
}

impl Drop for Participants {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A shop that runs.
struct Running {
    process: Child,
    err: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    /// Returns once it says that more than so many sagas have ended, with the number.
    fn until_ended(&mut self, more_than: u32) -> u32 {
        loop {
            let mut line = String::new();
            let read = self.err.read_line(&mut line).expect("it prints text");
            self.said += &line;
            assert!(read > 0, "it ended before {more_than} sagas had: {}", self.said);
            let ended = line.split(" s ").nth(1).and_then(|tally| tally.trim().split(' ').next());
            match ended.and_then(|ended| ended.parse().ok()) {
                Some(ended) if ended > more_than => return ended,
                _ => {}
            }
        }
    }

    fn terminate(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }

    fn ended(mut self) -> Ended {
        self.err.read_to_string(&mut self.said).expect("it prints text");
        let output = self.process.wait_with_output().expect("it can be waited for");
        let out = String::from_utf8(output.stdout).expect("the shop prints text");
        Ended { code: output.status.code(), out, err: self.said }
    }
}

#[track_caller]
fn assert_code(ended: &Ended, code: i32) {
    assert_eq!(ended.code, Some(code), "--- out\n{}\n--- err\n{}", ended.out, ended.err);
}

/// What became of the sagas, of the lines, and what waits, without since when.
fn told(ended: &Ended) -> (Vec<Vec<String>>, Option<Vec<String>>, Vec<String>) {
    let page = Page::read(&ended.out);
    let desk = page.rows("DESK").into_iter().map(|mut row| {
        row.remove(4);
        row.join(" | ")
    });
    (page.rows("OUTCOMES"), page.sections.get("LINES").cloned(), desk.collect())
}

/// Every rule holds, and nobody is needed for it.
#[track_caller]
fn assert_well(ended: &Ended) {
    assert_code(ended, 0);
    let rules = Page::read(&ended.out).rows("AUDIT");
    assert!(rules.len() > 12 && rules.iter().all(|rule| rule[1] == "holds"), "{}", ended.out);
    assert!(ended.out.ends_with("Stock and money balance.\n"), "{}", ended.out);
}

fn short_orders() -> String {
    repository("tests/data/short-orders.jsonl").to_str().expect("UTF-8").to_owned()
}

#[test]
fn the_last_page_over_nats_is_that_of_calls_and_every_event_is_accounted_for() {
    let (world, orders) = (World::on_a_file(), short_orders());
    let _participants = world.participants();
    let over_nats = run(world.args(&["--participants", "elsewhere", "--orders", &orders]));
    let folder = TempDir::new().expect("a temporary folder can be made");
    let file = folder.path().join("shop.db");
    let by_calls = run(["--database", file.to_str().expect("UTF-8"), "--orders", &orders]);
    assert_well(&over_nats);
    assert_eq!(told(&over_nats), told(&by_calls));
    let page = Page::read(&over_nats.out);
    expect![[r#"
        [
            "EVENTS",
            "order: 24 sagas · 1 duplicate · 1 conflict · 0 refused · 0 to intake, of 26 deliveries",
            "payment: 1 saga · 0 duplicates · 0 conflicts · 0 refused · 0 to intake, of 1 delivery",
            "refund: 3 sagas · 0 duplicates · 0 conflicts · 0 refused · 0 to intake, of 3 deliveries",
            "",
        ]
    "#]]
    .assert_debug_eq(&page.sections["EVENTS"]);
}

#[tokio::test]
async fn participants_that_are_killed_in_the_middle_and_started_again_lose_and_double_nothing() {
    let world = World::on_a_file();
    let participants = world.participants();
    let lines = ["--participants", "elsewhere", "--generated", "150", "--seed", "5", "--in-flight", "24"];
    let mut running = world.begin(&lines);
    running.until_ended(10);
    participants.kill();
    // It says so once a second.
    running.until_ended(0);
    let participants = world.participants();
    let ended = running.until_ended(60);
    assert!(ended < 150, "it was killed in the middle: {}", running.said);
    participants.kill();
    let _participants = world.participants();
    let ended = running.ended();
    assert_well(&ended);
    let page = Page::read(&ended.out);
    assert!(page.line("LINES", "150 sagas · 0 duplicates · 0 conflicts").is_some(), "{}", ended.out);
    let open = page.rows("OUTCOMES").into_iter().filter(|row| row[1] == "under way" || row[1] == "set aside");
    assert_eq!(open.count(), 0, "{}", ended.out);
    let db = look_into(&world.folder.path().join("shop.db.participants")).await;
    assert_eq!(number(&db, "SELECT count(*) FROM effects WHERE effects > 1").await, 0);
    assert!(number(&db, "SELECT count(*) FROM effects").await > 500);
}

#[test]
fn on_postgres_the_shop_over_nats_tells_the_same() {
    let schemas = Schemas::new();
    let (world, orders) = (World::on(schemas.url()), short_orders());
    let _participants = world.participants();
    let over_nats = run(world.args(&["--participants", "elsewhere", "--orders", &orders]));
    assert_well(&over_nats);
    let by_calls = World::on_a_file();
    let by_calls = run(["--database", &by_calls.database, "--orders", &orders]);
    assert_eq!(told(&over_nats), told(&by_calls));
}

#[tokio::test]
async fn a_server_that_is_killed_and_started_again_in_the_middle_loses_no_message() {
    let mut world = World::on_a_file();
    let _participants = world.participants();
    let lines = ["--participants", "elsewhere", "--generated", "100", "--seed", "3", "--in-flight", "16"];
    let mut running = world.begin(&lines);
    let ended = running.until_ended(5);
    world.server.kill();
    world.server.start_again();
    let over = running.ended();
    assert_well(&over);
    assert!(ended < 100, "it was killed in the middle: {}", over.err);
    let page = Page::read(&over.out);
    assert!(page.line("LINES", "100 sagas · 0 duplicates · 0 conflicts").is_some(), "{}", over.out);
}

/// An order as a client of NATS sends it that knows nothing of the shop.
async fn send(server: &Server, order: &str) {
    let client = async_nats::connect(server.url()).await.expect("the server answers");
    let jetstream = async_nats::jetstream::new(client);
    let sent = jetstream.publish("shop.incoming.order", order.to_owned().into()).await;
    sent.expect("it leaves").await.expect("the stream takes it");
}

#[tokio::test]
async fn workers_take_what_others_publish_and_one_that_is_killed_is_missed_by_nobody() {
    let schemas = Schemas::new();
    let world = World::on(schemas.url());
    let worker = || {
        let mut worker = world.begin(&["--worker", "--lease", "2"]);
        let mut said = String::new();
        worker.err.read_line(&mut said).expect("it prints text");
        assert!(said.starts_with("at work as "), "{said}");
        worker
    };
    let (mut dying, staying) = (worker(), worker());
    let lines = ["--generated", "80", "--seed", "7"];
    let published = run(world.args(&lines).iter().map(String::as_str).chain(["--submit"]));
    assert_code(&published, 0);
    assert!(published.err.contains("80 events are published"), "{}", published.err);
    dying.process.kill().expect("it can be killed");
    dying.process.wait().expect("it can be waited for");
    send(
        &world.server,
        r#"{"order": "O-by-hand", "customer": "c-1", "card": "tok-visa-1", "address": "Lindenweg 4",
            "lines": [{"sku": "tea-assam", "quantity": 2, "price": {"minor": 1250, "currency": "EUR"}}],
            "total": {"minor": 2500, "currency": "EUR"}}"#,
    )
    .await;
    // What the dead one had in hand comes again, and what it owned is taken over.
    let audit = || run(["--database", &world.database].iter().chain(&lines).chain(&["--audit", "120"]));
    let mut audited = audit();
    for _ in 0..100 {
        if audited.code == Some(0) && schemas.number("SELECT count(*) FROM SHOP.saga").await == 81 {
            break;
        }
        audited = audit();
    }
    staying.terminate();
    assert_code(&staying.ended(), 0);
    assert_code(&audited, 0);
    let by_hand = "SELECT count(*) FROM SHOP.saga WHERE key = 'O-by-hand' AND phase = 'completed'";
    assert_eq!(schemas.number(by_hand).await, 1, "{}", audited.out);
    assert_eq!(schemas.number("SELECT count(*) FROM SHOP.saga").await, 81);
    let doubled = "SELECT count(*) FROM SHOP_participants.effects WHERE effects > 1";
    assert_eq!(schemas.number(doubled).await, 0);
}

#[test]
fn a_run_over_nats_that_was_ended_goes_on_by_calls() {
    let world = World::on_a_file();
    let lines = ["--generated", "100", "--seed", "9", "--in-flight", "16"];
    let mut running = world.begin(&lines);
    let ended = running.until_ended(5);
    running.terminate();
    let first = running.ended();
    assert_code(&first, 143);
    assert!(first.err.contains("continues"), "{}", first.err);
    let second = run(["--database", &world.database].iter().chain(&lines));
    assert_well(&second);
    assert!(ended < 100, "there was something left to do: {}", first.err);
    let page = Page::read(&second.out);
    assert!(page.line("LINES", "100 sagas · 0 duplicates").is_some(), "{}", second.out);
}

#[test]
fn where_nobody_serves_or_no_server_is_the_shop_says_what_to_start() {
    let mut world = World::on_a_file();
    let orders = short_orders();
    let elsewhere = ["--participants", "elsewhere", "--orders", &orders];
    let nobody = run(world.args(&elsewhere));
    assert_code(&nobody, 2);
    assert!(nobody.err.contains("nobody serves warehouse"), "{}", nobody.err);
    assert!(nobody.err.contains("--serve-participants"), "{}", nobody.err);
    world.server.stop();
    let nothing = run(world.args(&elsewhere));
    assert_code(&nothing, 2);
    assert!(nothing.err.contains("failed to reach NATS"), "{}", nothing.err);
    assert!(nothing.err.contains("nats-server -js"), "{}", nothing.err);
}

#[test]
fn fresh_waits_for_the_end_of_the_participants_and_is_theirs_to_give() {
    let (world, orders) = (World::on_a_file(), short_orders());
    let participants = world.participants();
    let refused = run(world.args(&["--fresh", "--orders", &orders]));
    assert_code(&refused, 2);
    assert!(refused.err.contains("another process is at work on"), "{}", refused.err);
    let refused = run(world.args(&["--fresh", "--participants", "elsewhere", "--orders", &orders]));
    assert_code(&refused, 2);
    assert!(refused.err.contains("give --fresh to the process with --serve-participants"), "{}", refused.err);
    participants.kill();
    assert_well(&run(world.args(&["--fresh", "--orders", &orders])));
}
