//! Three workers and who submits, on one PostgreSQL, and what happens to them: all of it drawn from one seed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::process::shop;
use crate::real::{is_long, moment, number, pause, signal, since};
use crate::server::{Ending, Server};

/// How many workers there are.
const WORKERS: usize = 3;

/// The lease of all of them, in seconds.
const LEASE: &str = "2";

/// So long a worker is stopped: past its lease, so that the others have dismissed it when it wakes.
const STOPPED: Duration = Duration::from_secs(6);

/// A second of the shop takes so many seconds. In the long variant calls have time enough for a busy machine.
fn pace() -> &'static str {
    if is_long() { "0.5" } else { "0.1" }
}

/// The longest time between two incidents.
fn calm_ms() -> u64 {
    number("CHAOS_CALM_MS", if is_long() { 3_000 } else { 1_200 })
}

/// In how many portions the lines are submitted. Each call submits all earlier ones again.
const PORTIONS: usize = 10;

/// How often it is looked after everybody.
const LOOK_EVERY_MS: u64 = 20;

/// A worker that was told to end has so long for it.
const DRAIN: Duration = Duration::from_secs(60);

/// So long after it has ended a worker is started again.
const AGAIN_AFTER: Duration = Duration::from_millis(300);

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Incident {
    /// A worker gets SIGKILL.
    Kill,
    /// A worker gets SIGSTOP, and SIGCONT after its lease.
    Stop,
    /// A worker gets SIGTERM.
    Drain,
    /// Whoever submits gets SIGKILL, if somebody does.
    KillSubmitter,
    /// The server ends, and starts again.
    Server(Ending),
    /// The server does not answer anybody for a while, sometimes for longer than a lease.
    Freeze,
}

/// What has happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub kills: usize,
    pub stops: usize,
    pub drains: usize,
    pub submitters_killed: usize,
    pub crashes: usize,
    pub fast_restarts: usize,
    pub freezes: usize,
    /// Workers that ended by themselves and were started again: the others had taken them for dead, or the server was
    /// away when they opened it.
    pub left: usize,
}

/// One worker. It is started again whenever it has ended.
struct Worker {
    child: Child,
    stopped: Option<Instant>,
    told_to_end: Option<Instant>,
    ended: Option<Instant>,
}

/// Everybody, and what is still to happen.
pub struct Crowd<'a> {
    server: &'a mut Server,
    rng: Rng,
    seed: u64,
    orders: u64,
    logs: &'a Path,
    workers: Vec<Worker>,
    submitter: Option<Child>,
    /// How many portions are to be submitted by now, and how many are.
    portions: (usize, usize),
    tally: Tally,
}

impl<'a> Crowd<'a> {
    /// Starts the workers.
    pub fn start(server: &'a mut Server, seed: u64, orders: u64, logs: &'a Path) -> Self {
        let rng = Rng::with_seed(seed);
        let (workers, tally) = (Vec::new(), Tally::default());
        let mut crowd =
            Self { server, rng, seed, orders, logs, workers, submitter: None, portions: (1, 0), tally };
        for n in 0..WORKERS {
            let child = crowd.spawn_worker(n);
            crowd.workers.push(Worker { child, stopped: None, told_to_end: None, ended: None });
        }
        crowd
    }

    /// Lets everything happen, and returns when all is submitted and every worker is at work again.
    pub async fn suffer(&mut self) -> Tally {
        let incidents = self.draw();
        for (n, incident) in incidents.iter().enumerate() {
            self.portions.0 = (1 + n * PORTIONS / incidents.len()).min(PORTIONS);
            let wait = self.rng.u64(0..=calm_ms());
            self.look_after(wait).await;
            self.let_happen(*incident).await;
        }
        self.portions.0 = PORTIONS;
        while self.portions.1 < PORTIONS || self.workers.iter().any(|worker| worker.is_disturbed()) {
            self.look_after(100).await;
        }
        self.tally
    }

    /// Tells every worker to end, and waits for it.
    pub async fn end(mut self) {
        for worker in &mut self.workers {
            // One that woke at the very end may have learned since that it was dismissed.
            if let Some(status) = worker.child.try_wait().expect("it can be asked") {
                assert_eq!(status.code(), Some(2), "a worker ended by itself");
                continue;
            }
            signal(&worker.child, "TERM");
            let began = moment();
            let code = loop {
                if let Some(status) = worker.child.try_wait().expect("it can be asked") {
                    break status.code();
                }
                assert!(since(began) < DRAIN, "a worker did not end within {DRAIN:?}");
                pause(LOOK_EVERY_MS).await;
            };
            assert_eq!(code, Some(0), "a worker that is told to end ends in good order");
        }
        self.workers.clear();
    }

    fn draw(&mut self) -> Vec<Incident> {
        // So many for each hundred orders, and of the rarest at least one.
        let of = |per_hundred: usize| (self.orders as usize * per_hundred).div_ceil(100);
        let server = (self.orders as usize).div_ceil(400);
        let mut all = Vec::new();
        for (incident, number) in [
            (Incident::Kill, of(3)),
            (Incident::Stop, of(1)),
            (Incident::Drain, of(1)),
            (Incident::KillSubmitter, of(1)),
            (Incident::Server(Ending::Crash), server),
            (Incident::Server(Ending::Fast), server),
            (Incident::Freeze, server),
        ] {
            all.extend(std::iter::repeat_n(incident, number));
        }
        self.rng.shuffle(&mut all);
        all
    }

    async fn let_happen(&mut self, incident: Incident) {
        match incident {
            Incident::Kill => {
                let n = self.rng.usize(..WORKERS);
                // Also one that is stopped, or about to end.
                let worker = &mut self.workers[n];
                let _ = worker.child.kill();
                worker.child.wait().expect("it can be waited for");
                self.tally.kills += 1;
                self.start_again(n);
            }
            Incident::Stop => {
                if let Some(n) = self.undisturbed() {
                    signal(&self.workers[n].child, "STOP");
                    self.workers[n].stopped = Some(moment());
                    self.tally.stops += 1;
                }
            }
            Incident::Drain => {
                if let Some(n) = self.undisturbed() {
                    signal(&self.workers[n].child, "TERM");
                    self.workers[n].told_to_end = Some(moment());
                    self.tally.drains += 1;
                }
            }
            Incident::KillSubmitter => {
                if let Some(mut submitter) = self.submitter.take() {
                    let _ = submitter.kill();
                    submitter.wait().expect("it can be waited for");
                    self.tally.submitters_killed += 1;
                }
            }
            Incident::Freeze => {
                self.server.freeze(true);
                let frozen = self.rng.u64(200..4_000);
                self.look_after(frozen).await;
                self.server.freeze(false);
                self.tally.freezes += 1;
            }
            Incident::Server(ending) => {
                self.server.end(ending).await;
                // Sometimes it is away for long enough to be missed by everybody.
                let away = self.rng.u64(0..2_500);
                self.look_after(away).await;
                self.server.begin().await;
                match ending {
                    Ending::Crash => self.tally.crashes += 1,
                    Ending::Fast => self.tally.fast_restarts += 1,
                }
            }
        }
    }

    /// One of the workers that nothing is happening to.
    fn undisturbed(&mut self) -> Option<usize> {
        let all: Vec<usize> = (0..WORKERS).filter(|n| !self.workers[*n].is_disturbed()).collect();
        self.rng.choice(all)
    }

    /// Does for so long what a supervisor does.
    async fn look_after(&mut self, millis: u64) {
        let began = moment();
        loop {
            for n in 0..WORKERS {
                self.look_after_worker(n);
            }
            self.look_after_submitter();
            if since(began) >= Duration::from_millis(millis) {
                return;
            }
            pause(LOOK_EVERY_MS).await;
        }
    }

    fn look_after_worker(&mut self, n: usize) {
        let worker = &mut self.workers[n];
        if worker.stopped.is_some_and(|stopped| since(stopped) >= STOPPED) {
            signal(&worker.child, "CONT");
            worker.stopped = None;
        }
        if let Some(ended) = worker.ended {
            if since(ended) >= AGAIN_AFTER {
                self.start_again(n);
            }
            return;
        }
        let Some(status) = worker.child.try_wait().expect("it can be asked") else {
            let late = worker.told_to_end.is_some_and(|told| since(told) > DRAIN);
            assert!(!late, "worker {n} did not end within {DRAIN:?}");
            return;
        };
        match (status.code(), worker.told_to_end) {
            (Some(0), Some(_)) => {}
            // Told to end while it was being dismissed, or while the server was away: it says so.
            (Some(2), _) => self.tally.left += 1,
            // The signal came before it could catch it.
            (None, Some(_)) => self.tally.left += 1,
            (code, _) => panic!("worker {n} ended by itself, with {code:?}"),
        }
        self.workers[n].ended = Some(moment());
    }

    fn look_after_submitter(&mut self) {
        if let Some(submitter) = &mut self.submitter {
            let Some(status) = submitter.try_wait().expect("it can be asked") else { return };
            self.submitter = None;
            match status.code() {
                Some(0) => self.portions.1 += 1,
                // The server was away, or it was taken for dead: the same again.
                Some(2) => {}
                code => panic!("who submits ended with {code:?}"),
            }
        }
        if self.portions.1 < self.portions.0 {
            let some = self.orders as usize * (self.portions.1 + 1) / PORTIONS;
            let mut command = self.command("submit");
            command.args(["--submit", "--lease", LEASE, "--pace", pace()]).args(self.lines(some as u64));
            self.submitter = Some(command.spawn().expect("the shop starts"));
        }
    }

    /// The first so many of the lines.
    pub fn lines(&self, number: u64) -> [String; 4] {
        ["--generated".into(), number.to_string(), "--seed".into(), self.seed.to_string()]
    }

    /// The database.
    pub fn url(&self) -> String {
        self.server.url("shop")
    }

    fn start_again(&mut self, n: usize) {
        let child = self.spawn_worker(n);
        self.workers[n] = Worker { child, stopped: None, told_to_end: None, ended: None };
    }

    fn spawn_worker(&self, n: usize) -> Child {
        let mut command = self.command(&format!("worker-{n}"));
        command.args(["--worker", "--lease", LEASE, "--pace", pace(), "--in-flight", "32"]);
        command.spawn().expect("the shop starts")
    }

    fn command(&self, name: &str) -> Command {
        logged(self.logs.join(format!("{name}.log")), &self.url())
    }
}

impl Drop for Crowd<'_> {
    fn drop(&mut self) {
        let workers = self.workers.iter_mut().map(|worker| &mut worker.child);
        for child in workers.chain(&mut self.submitter) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Worker {
    fn is_disturbed(&self) -> bool {
        self.stopped.is_some() || self.told_to_end.is_some() || self.ended.is_some()
    }
}

/// The shop on this database, with what it says in a log that goes on.
pub fn logged(log: PathBuf, database: &str) -> Command {
    let log = File::options().create(true).append(true).open(log).expect("the log can be written");
    let mut command = shop();
    command.args(["--database", database]).env("RUST_LOG", "amends=info").stdout(Stdio::null()).stderr(log);
    command
}
