//! Plays simulations: `cargo run --release -p amends-testkit --bin simulate -- --help`.

use std::io::{IsTerminal, Write as _, stderr, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use amends_testkit::simulation::{Failure, Run, Setup, Simulation, Summary, Trouble, shrink};

const USAGE: &str = "\
simulate: whole engines on one store, a broker and its participants, under virtual time and one seed, with faults,
held against the invariants.

    simulate --seed N | --seeds A..B [OPTIONS]

  --seed N            play this seed
  --seeds A..B        play the seeds from A up to B, without B
  --sagas N           business keys that are started (default 40)
  --nodes N           nodes that share the store (default 3)
  --minutes N         how long starts and faults go on, in virtual minutes (default 10)
  --stop-at SECONDS   end them so much earlier, and change nothing else
  --without A,B,…     leave out these kinds of faults; without `events`, `commands` and `purge` there are
                      neither messages nor purging
  --history           print everything that happened
  --no-shrink         do not look for the shortest history that still fails
  --help              this text, with the kinds of faults

The same arguments give the same history. It prints one summary, or the first violation with its seed, the
shortest history found that still fails, and the timeline. Exit code 0: no violation; 1: a violation; 2: the arguments
cannot be used.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Options::read(&arguments) {
        Ok(Some(options)) => play(&options),
        Ok(None) => {
            let kinds: Vec<&str> = Trouble::ALL.iter().map(|trouble| trouble.word()).collect();
            print(&format!("{USAGE}\n\nKinds of faults: {}.", kinds.join(", ")));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            complain(&format!("simulate: {problem}; see --help"));
            ExitCode::from(2)
        }
    }
}

/// What was asked for.
struct Options {
    seeds: std::ops::Range<u64>,
    /// Everything but the seed.
    setup: Setup,
    history: bool,
    shrinks: bool,
}

impl Options {
    /// None: only help was asked for.
    fn read(arguments: &[String]) -> Result<Option<Self>, String> {
        let mut options = Self { seeds: 0..0, setup: Setup::seeded(0), history: false, shrinks: true };
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} wants a value"));
            match name.as_str() {
                "--help" | "-h" => return Ok(None),
                "--history" => options.history = true,
                "--no-shrink" => options.shrinks = false,
                "--seed" => {
                    let seed = number(value()?)?;
                    options.seeds = seed..seed.checked_add(1).ok_or("the seed is too large")?;
                }
                "--seeds" => {
                    let range = value()?;
                    let (from, to) =
                        range.split_once("..").ok_or_else(|| format!("`{range}` is no range A..B"))?;
                    options.seeds = number(from)?..number(to)?;
                }
                "--sagas" => options.setup.sagas = positive(value()?)?,
                "--nodes" => options.setup.nodes = positive(value()?)?,
                "--minutes" => options.setup.minutes = positive(value()?)?,
                "--stop-at" => options.setup.stop_at = Some(Duration::from_secs(number(value()?)?)),
                "--without" => {
                    for word in value()?.split(',') {
                        options.setup.without.insert(word.parse().map_err(|e| format!("{e}"))?);
                    }
                }
                other => return Err(format!("`{other}` is no option")),
            }
        }
        if options.seeds.is_empty() {
            return Err("say --seed N or --seeds A..B".to_owned());
        }
        Ok(Some(options))
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn positive(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("`{text}` is no number from 1 to {}", u32::MAX)),
        Ok(number) => Ok(number),
    }
}

fn play(options: &Options) -> ExitCode {
    let begun = now();
    let mut summary = Summary::default();
    let all = options.seeds.end - options.seeds.start;
    for (played, seed) in (1_u64..).zip(options.seeds.clone()) {
        match run(&Setup { seed, ..options.setup.clone() }) {
            Ok(run) => {
                if options.history {
                    print(&run.history);
                }
                summary.add(&run.summary);
            }
            Err(failure) => return fail(failure, options),
        }
        progress(played, all, seed);
    }
    let took = begun.elapsed_secs();
    let rate = summary.saga_time.as_secs_f64() / 3_600.0 / took.max(0.001);
    print(&format!(
        "{} seeds {}..{}, no violation\n{summary}\nwall time     {took:.1} s, {rate:.0} saga-hours per second",
        coloured(&stdout(), "32", "ok"),
        options.seeds.start,
        options.seeds.end,
    ));
    ExitCode::SUCCESS
}

fn run(setup: &Setup) -> Result<Run, Box<Failure>> {
    Simulation::new(setup.clone()).run()
}

fn fail(failure: Box<Failure>, options: &Options) -> ExitCode {
    if options.history {
        print(&failure.history);
    }
    complain(&format!(
        "{} seed {}: {}",
        coloured(&stderr(), "31", "failed"),
        failure.setup.seed,
        failure.violation
    ));
    if !options.shrinks {
        print(&failure.to_string());
        return ExitCode::FAILURE;
    }
    complain("looking for the shortest history that still fails …");
    let shrunk = shrink(failure, run);
    print(&format!("{}\n\nfound by {} runs", shrunk.failure, shrunk.runs));
    ExitCode::FAILURE
}

/// A line that is overwritten, for people only.
fn progress(played: u64, all: u64, seed: u64) {
    if all > 1 && stderr().is_terminal() {
        let end = if played == all { "\r\x1b[K" } else { "" };
        let _ = write!(stderr(), "\r\x1b[K{played} of {all}, seed {seed}{end}");
    }
}

/// For people only: where it is printed is a terminal, and nobody asked for none.
fn coloured(stream: &impl IsTerminal, colour: &str, text: &str) -> String {
    let plain = !stream.is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if plain { text.to_owned() } else { format!("\x1b[{colour}m{text}\x1b[0m") }
}

fn print(text: &str) {
    // Who closed the pipe has read enough.
    let _ = writeln!(stdout(), "{text}");
}

fn complain(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

/// Wall time, to say how fast the simulation was; nothing in it depends on that.
struct Begun(Instant);

#[expect(clippy::disallowed_methods, reason = "it measures the program, and decides nothing")]
fn now() -> Begun {
    Begun(Instant::now())
}

impl Begun {
    #[expect(clippy::disallowed_methods, reason = "it measures the program, and decides nothing")]
    fn elapsed_secs(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
