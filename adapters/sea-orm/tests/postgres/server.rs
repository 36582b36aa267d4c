//! A role and a schema for one test, on the server that all tests share.

use std::time::Duration;

use amends::ports::{Ids as _, RandomIds};
use amends_core::Timestamp;
use amends_sea_orm::{PostgresSettings, PostgresStore};
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{self, AssertSqlSafe, ConnectOptions as _, Executor as _};

/// Where the server is, and what to do if that is not known.
fn server() -> PgConnectOptions {
    let url = std::env::var("AMENDS_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "AMENDS_TEST_POSTGRES is not set. Run `tests/run --quick -p amends-sea-orm`, which starts a private \
             PostgreSQL for the tests, or set it to the URL of a server whose user may create roles and schemas"
        )
    });
    url.parse()
        .unwrap_or_else(|error| panic!("AMENDS_TEST_POSTGRES is no URL of a PostgreSQL server: {error}"))
}

/// A role of this test, which owns a schema of the same name: PostgreSQL looks there first by itself. Both go
/// with the test.
pub(crate) struct OneSchema {
    server: PgConnectOptions,
    pub(crate) name: String,
}

impl OneSchema {
    /// Nothing is made yet.
    pub(crate) fn new() -> Self {
        Self {
            server: server(),
            name: format!("amends_{}", RandomIds::from_system().next(Timestamp(0)).simple()),
        }
    }

    /// Makes the role and its schema.
    pub(crate) async fn create(&self) {
        let name = &self.name;
        self.as_admin(&format!("CREATE ROLE {name} LOGIN PASSWORD '{name}'")).await;
        self.as_admin(&format!("GRANT {name} TO current_user")).await;
        self.as_admin(&format!("CREATE SCHEMA {name} AUTHORIZATION {name}")).await;
    }

    fn options(&self) -> PgConnectOptions {
        self.server.clone().username(&self.name).password(&self.name)
    }

    /// As the store takes it.
    pub(crate) fn url(&self) -> String {
        self.options().to_url_lossy().to_string()
    }

    /// A store with little patience.
    pub(crate) async fn open(&self, url: &str) -> PostgresStore {
        let settings = PostgresSettings {
            lock_timeout: Duration::from_millis(300),
            busy_retries: 1,
            ..PostgresSettings::default()
        };
        PostgresStore::open_with(url, settings).await.expect("the database opens")
    }

    /// Another program's connection, such as a person's SQL prompt.
    pub(crate) async fn stranger(&self) -> PgConnection {
        self.options().connect().await.expect("the server lets the role in")
    }

    /// A stranger's open transaction that has begun a saga under this key.
    pub(crate) async fn begin_a_start(&self, workflow: &str, key: &str) -> PgConnection {
        let mut stranger = self.stranger().await;
        sqlx::query("BEGIN").execute(&mut stranger).await.expect("it begins");
        let insert = "INSERT INTO saga (id, occurred_at, started_at, version, workflow, key, digest, input_digest, \
            phase) VALUES (gen_random_uuid(), 0, 0, 1, $1, $2, decode(repeat('07', 32), 'hex'), \
            decode(repeat('08', 32), 'hex'), 'running')";
        let insert = sqlx::query(insert).bind(workflow).bind(key);
        insert.execute(&mut stranger).await.expect("nobody else holds the key");
        stranger
    }

    /// Runs a statement as the role.
    pub(crate) async fn sql(&self, statement: &str) {
        let done = self.stranger().await.execute(AssertSqlSafe(statement.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    /// Runs a statement as whoever may make roles.
    pub(crate) async fn as_admin(&self, statement: &str) {
        let mut admin = self.server.connect().await.unwrap_or_else(|error| {
            panic!("the server that AMENDS_TEST_POSTGRES names cannot be reached: {error}")
        });
        let done = admin.execute(AssertSqlSafe(statement.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    /// Ends the server's processes behind some of the role's connections, as a restart of the server does.
    pub(crate) async fn disconnect(&self, application: &str) -> i64 {
        let mut admin = self.server.connect().await.expect("the server is there");
        let ended = sqlx::query_scalar(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
             WHERE usename = $1 AND application_name LIKE $2",
        );
        ended.bind(&self.name).bind(application).fetch_one(&mut admin).await.expect("it ends them")
    }

    /// Waits until one of the role's connections waits for a lock.
    pub(crate) async fn wait_until_blocked(&self, application: &str) {
        let mut admin = self.server.connect().await.expect("the server is there");
        let blocked = "SELECT count(*) FROM pg_stat_activity \
             WHERE usename = $1 AND application_name = $2 AND wait_event_type = 'Lock'";
        for _look in 0..100_000 {
            let count = sqlx::query_scalar(blocked).bind(&self.name).bind(application);
            if count.fetch_one(&mut admin).await.is_ok_and(|count: i64| count > 0) {
                return;
            }
        }
        panic!("nothing of {application} waits for a lock");
    }

    /// The URL of the same database by way of a port of this machine.
    pub(crate) fn url_by_port(&self, port: u16) -> String {
        let database = self.server.get_database().expect("AMENDS_TEST_POSTGRES names a database");
        let name = &self.name;
        format!("postgres://{name}:{name}@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// Where the server listens: a socket's path, or host and port.
    pub(crate) fn listens_at(&self) -> Result<std::path::PathBuf, (String, u16)> {
        match self.server.get_socket() {
            Some(folder) => Ok(folder.join(format!(".s.PGSQL.{}", self.server.get_port()))),
            None => Err((self.server.get_host().to_owned(), self.server.get_port())),
        }
    }
}

impl Drop for OneSchema {
    /// On a thread and a runtime of its own, because a test's own may be ending.
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let drop = async move {
            let mut admin = server.connect().await?;
            let sql = format!(
                "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE usename = '{name}'; \
                 DROP SCHEMA IF EXISTS {name} CASCADE; DROP OWNED BY {name}; DROP ROLE {name}"
            );
            admin.execute(AssertSqlSafe(sql)).await
        };
        let thread = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(drop)
        });
        let dropped = thread.join().expect("no panic");
        if let Err(error) = dropped
            && !std::thread::panicking()
        {
            panic!("the schema {} stays: {error}", self.name);
        }
    }
}
