//! A PostgreSQL of one test, which may crash it: in a temporary folder, on a socket there and on no port, with fsync on.

// Each test program uses a part of it.
#![allow(dead_code)]

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{self, AssertSqlSafe, ConnectOptions as _, Executor as _};
use tempfile::TempDir;

use crate::real::{moment, pause, signal, since};

/// How long a server may take to start, or to end.
const PATIENCE_SECONDS: u64 = 120;

/// The server, and everything of it. Both go with this.
pub struct Server {
    programs: PathBuf,
    user: Option<User>,
    postmaster: Option<Child>,
    /// What comes before the server's program, to change what it sees.
    wrapped_in: Vec<OsString>,
    home: TempDir,
}

/// PostgreSQL does not run as root, so there it runs as somebody who owns its folder and nothing else.
struct User {
    name: &'static str,
    uid: u32,
    gid: u32,
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At once, in the middle of anything: what it had not written to its log is recovered from it, or lost.
    Crash,
    /// It disconnects everybody and closes in good order.
    Fast,
}

impl Server {
    /// Makes one and starts it.
    pub async fn start() -> Self {
        let mut server = Self::make(&[]);
        server.begin().await;
        server
    }

    /// Makes one. `initdb` gets these arguments besides.
    pub fn make(more: &[&str]) -> Self {
        let programs = programs().unwrap_or_else(|| {
            panic!(
                "PostgreSQL's server programs are missing (initdb and postgres: looked in PATH and in \
                 /usr/lib/postgresql); install them (Debian: apt-get install postgresql)"
            )
        });
        let home = TempDir::new().expect("a temporary folder can be made");
        let user = (id(&["-u"]) == Some(0)).then(User::found);
        if let Some(User { uid, gid, .. }) = user {
            chown(home.path(), Some(uid), Some(gid)).expect("root may give folders away");
        }
        let server = Self { programs, user, postmaster: None, wrapped_in: Vec::new(), home };
        let data = server.data();
        let args = ["-U", "amends", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"];
        let made = server.command("initdb").args(args).arg(&data).args(more).output().expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server
    }

    /// Its folder, which it owns.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Its data.
    pub fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// The database as the shop takes it, with this schema for the engine.
    pub fn url(&self, schema: &str) -> String {
        let home = self.home.path().display();
        format!("postgres://amends@localhost/postgres?host={home}&options[search_path]={schema}")
    }

    /// Starts it from now on by way of this command, which ends by running what follows it.
    pub fn wrap_in(&mut self, command: impl IntoIterator<Item = OsString>) {
        self.wrapped_in = command.into_iter().collect();
    }

    /// The id of its first process, while it runs.
    pub fn pid(&self) -> u32 {
        self.postmaster.as_ref().expect("it runs").id()
    }

    /// Starts it, and returns when it lets somebody in. One that crashed may leave processes behind that are still
    /// about to end; then it starts at another try.
    pub async fn begin(&mut self) {
        let began = moment();
        while since(began).as_secs() < PATIENCE_SECONDS {
            self.postmaster = Some(self.spawn());
            while self.is_running() {
                if self.options().connect().await.is_ok() {
                    return;
                }
                pause(20).await;
            }
            self.postmaster = None;
            pause(100).await;
        }
        panic!("the server in {} did not start:\n{}", self.programs.display(), self.log());
    }

    /// Ends it.
    pub async fn end(&mut self, how: Ending) {
        let Some(mut postmaster) = self.postmaster.take() else { return };
        signal(&postmaster, if how == Ending::Crash { "QUIT" } else { "INT" });
        let began = moment();
        while postmaster.try_wait().expect("it can be asked").is_none() {
            assert!(since(began).as_secs() < PATIENCE_SECONDS, "the server did not end:\n{}", self.log());
            pause(10).await;
        }
    }

    /// Stops everything that it does for others, or lets it go on: as a disk that does not answer.
    pub fn freeze(&self, frozen: bool) {
        let children = ["-o", "pid=", "--ppid", &self.pid().to_string()].map(str::to_owned);
        let children = Command::new("ps").args(children).output().expect("`ps` is there");
        let children = String::from_utf8(children.stdout).expect("numbers");
        let what = if frozen { "-STOP" } else { "-CONT" };
        // One that has just ended hears nothing.
        let _ = Command::new("kill")
            .arg(what)
            .args(children.split_whitespace())
            .output()
            .expect("`kill` is there");
    }

    /// Does it run, and has not ended by itself?
    pub fn is_running(&mut self) -> bool {
        self.postmaster.as_mut().is_some_and(|child| child.try_wait().expect("it can be asked").is_none())
    }

    /// One connection of a person.
    pub async fn person(&self) -> PgConnection {
        self.options().connect().await.unwrap_or_else(|error| panic!("{error}\n{}", self.log()))
    }

    /// Runs a statement.
    pub async fn sql(&self, statement: &str) {
        let done = self.person().await.execute(AssertSqlSafe(statement.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    /// One number.
    pub async fn number(&self, select: &str) -> i64 {
        let number = sqlx::query_scalar(AssertSqlSafe(select.to_owned()));
        let number = number.fetch_one(&mut self.person().await).await;
        number.unwrap_or_else(|error| panic!("{select}: {error}"))
    }

    /// What it has said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("postgres.log")).unwrap_or_default()
    }

    fn options(&self) -> PgConnectOptions {
        let options: PgConnectOptions = self.url("public").parse().expect("it is a URL");
        options.disable_statement_logging()
    }

    fn spawn(&self) -> Child {
        let log = File::options().create(true).append(true).open(self.home.path().join("postgres.log"));
        let log = log.expect("the log can be written");
        let home = self.home.path().display().to_string();
        let settings = [
            "listen_addresses=".to_owned(),
            format!("unix_socket_directories={home}"),
            "fsync=on".to_owned(),
            "synchronous_commit=on".to_owned(),
            "max_connections=200".to_owned(),
        ];
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).args(settings.iter().flat_map(|setting| ["-c", setting]));
        let same = || log.try_clone().expect("a file can be held twice");
        command.stdin(Stdio::null()).stdout(same()).stderr(same()).spawn().expect("the server starts")
    }

    /// A program of the server, run by who may run it. It ends with this test, whatever becomes of that.
    fn command(&self, program: &str) -> Command {
        let mut words = if program == "postgres" { self.wrapped_in.clone() } else { Vec::new() };
        if let Some(User { name, gid, .. }) = &self.user {
            let who = [format!("--reuid={name}"), format!("--regid={gid}")];
            words.extend(["setpriv".into(), "--init-groups".into(), "--pdeathsig=KILL".into()]);
            words.extend(who.map(OsString::from));
        }
        words.push(self.programs.join(program).into());
        let mut command = Command::new(&words[0]);
        // Another user may not enter the folder that this was started in.
        command.args(&words[1..]).current_dir("/").env("LC_ALL", "C");
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            signal(&postmaster, "QUIT");
            let _ = postmaster.wait();
        }
    }
}

impl User {
    fn found() -> Self {
        let name = ["postgres", "nobody"].into_iter().find(|name| id(&["-u", name]).is_some());
        let name = name.expect("there is another user than root");
        let number = |of| id(&[of, name]).expect("it has a number");
        Self { name, uid: number("-u"), gid: number("-g") }
    }
}

fn id(args: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(args).output().expect("`id` is there");
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The folder of `initdb` and `postgres`.
fn programs() -> Option<PathBuf> {
    let in_path = std::env::var_os("PATH").into_iter().flat_map(|path| {
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        // What stands there is often a link to where they are.
        folders.into_iter().filter_map(|folder| folder.join("initdb").canonicalize().ok())
    });
    let mut installed: Vec<PathBuf> = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr"]
        .iter()
        .flat_map(|above| std::fs::read_dir(above).into_iter().flatten())
        .filter_map(|version| Some(version.ok()?.path().join("bin/initdb")))
        .collect();
    installed.sort();
    let mut all = in_path.chain(installed.into_iter().rev());
    all.find_map(|initdb| {
        let folder = initdb.parent()?.to_owned();
        (initdb.exists() && folder.join("postgres").exists()).then_some(folder)
    })
}
