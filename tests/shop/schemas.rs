//! Two schemas of one test on the tests' PostgreSQL server: the engine's, and that of the shop's participants.

// Each test program uses a part of it.
#![allow(dead_code)]

use amends::ports::{Ids as _, RandomIds};
use amends_core::Timestamp;
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{self, AssertSqlSafe, ConnectOptions as _, Executor as _};
use sea_orm::{Database, DatabaseConnection};

use super::process::{Ended, run_with_input};

/// Where the server is, and what to do if that is not known.
fn server() -> String {
    std::env::var("AMENDS_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "AMENDS_TEST_POSTGRES is not set. Run `tests/run --quick -E 'binary(shop_postgres)'`, which starts a \
             private PostgreSQL for the tests, or set it to the URL of a server whose user may create roles and schemas"
        )
    })
}

/// Two schemas of one test, which go with it.
pub struct Schemas {
    pub name: String,
}

impl Schemas {
    pub fn new() -> Self {
        Self { name: format!("shop_{}", RandomIds::from_system().next(Timestamp(0)).simple()) }
    }

    pub fn url(&self) -> String {
        let server = server();
        let joint = if server.contains('?') { '&' } else { '?' };
        format!("{server}{joint}options[search_path]={}", self.name)
    }

    pub fn participants(&self) -> String {
        format!("{}_participants", self.name)
    }

    pub fn run_lines(&self, lines: &str, more: &[&str]) -> Ended {
        let url = self.url();
        run_with_input(["--database", &url, "--orders", "-"].iter().chain(more), lines.as_bytes())
    }

    /// The engine's schema, opened as the first to be looked in.
    pub async fn engine(&self) -> DatabaseConnection {
        connect(&self.url()).await
    }

    /// The participants'.
    pub async fn of_participants(&self) -> DatabaseConnection {
        connect(&self.url().replace(&self.name, &self.participants())).await
    }

    pub async fn person(&self) -> PgConnection {
        let options: PgConnectOptions = server().parse().expect("it is a URL");
        options.connect().await.expect("the server is there")
    }

    pub async fn sql(&self, statement: &str) {
        let statement = statement.replace("SHOP", &self.name);
        let done = self.person().await.execute(AssertSqlSafe(statement.clone())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    pub async fn number(&self, select: &str) -> i64 {
        let select = sqlx::query_scalar(AssertSqlSafe(select.replace("SHOP", &self.name)));
        select.fetch_one(&mut self.person().await).await.expect("it is a number")
    }

    pub async fn schemas(&self) -> i64 {
        self.number("SELECT count(*) FROM pg_namespace WHERE nspname IN ('SHOP', 'SHOP_participants')").await
    }
}

impl Drop for Schemas {
    /// On a thread and a runtime of its own, because a test's own may be ending.
    fn drop(&mut self) {
        let (name, participants) = (self.name.clone(), self.participants());
        let drop = async move {
            let options: PgConnectOptions = server().parse()?;
            let sql =
                format!("DROP SCHEMA IF EXISTS {name} CASCADE; DROP SCHEMA IF EXISTS {participants} CASCADE");
            options.connect().await?.execute(AssertSqlSafe(sql)).await
        };
        let thread = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(drop)
        });
        if let Err(error) = thread.join().expect("no panic")
            && !std::thread::panicking()
        {
            panic!("the schemas {} stay: {error}", self.name);
        }
    }
}

async fn connect(url: &str) -> DatabaseConnection {
    Database::connect(url).await.unwrap_or_else(|error| panic!("{url} opens: {error}"))
}
