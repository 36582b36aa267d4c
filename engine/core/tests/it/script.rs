//! Scripts as text: what the world does to one saga, line by line. `at 5s` before a line sets the clock, which
//! otherwise stands still; actions are `auth` or `undo:auth`, their attempt is the running one unless the line
//! says `auth#1`.
//!
//! ```text
//! begin auth · run auth                    # run = begin, ok
//! ok auth ["result"] · refuse auth · lost auth · transient auth [hint=60s] · persistent auth
//! nothing undo:auth                        # the compensation answers NothingToUndo
//! accepted auth · partial auth · fenced auth 1 · mismatch auth · stale undo:auth
//! withdraw auth · input-fails auth
//! decide gift yes · decide gift no · condition-fails gift
//! query auth · query-fails auth
//! found auth absent · applied · undone · nothing · refused · partial · in-progress · unclear · fenced 1
//! tick · due                               # due = move the clock to the agenda's wake-up
//! crash                                    # another incarnation claims the saga
//! cancel op1 · resume auth op2 · accept auth "value" op3 · accept auth op3
//! agenda · verbs auth · answer op1         # questions
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use amends_core::event::{Failure, FailureKind, Finding, JournalEvent, Recorded, Transition};
use amends_core::machine::{Attempted, Command, Operation, Start, advance, start};
use amends_core::{
    ActionId, Direction, Incarnation, Json, OperationId, Rejected, SagaId, SagaPlan, SagaState, Timestamp,
    TransitionId, agenda, apply, decide, replay,
};
use expect_test::Expect;
use uuid::Uuid;

use crate::invariants;
use crate::plan_text::{duration, plan};
use crate::story;

/// Plays the script on the plan and compares the story.
pub(crate) fn check(plan_text: &str, script: &str, expected: Expect) {
    expected.assert_eq(&play(plan_text, script).told());
}

/// Plays the script on the plan.
pub(crate) fn play(plan_text: &str, script: &str) -> Trial {
    let mut trial = Trial::new(plan(plan_text), 1);
    trial.read(script);
    trial
}

/// One saga under test, held against the laws after every transition.
pub(crate) struct Trial {
    pub(crate) plan: SagaPlan,
    pub(crate) state: SagaState,
    /// As it is read back from its JSON.
    pub(crate) journal: Vec<Transition>,
    pub(crate) now: Timestamp,
    story: String,
    incarnations: u128,
}

impl Trial {
    /// A saga is born.
    pub(crate) fn new(plan: SagaPlan, saga: u128) -> Self {
        let begin = Start {
            saga: SagaId(Uuid::from_u128(saga)),
            key: "key".into(),
            input: json(r#"{"order":42}"#),
            occurred_at: None,
            owner: Incarnation(Uuid::from_u128(1)),
            trigger: None,
        };
        let now = story::BIRTH;
        let (state, events) = start(&plan, begin, now);
        let mut trial = Self { plan, state, journal: Vec::new(), now, story: String::new(), incarnations: 1 };
        let before = trial.state.clone();
        trial.keep(&before, events);
        trial
    }

    /// Obeys every line of `script`.
    pub(crate) fn read(&mut self, script: &str) {
        for line in script.lines() {
            let line = line.split('#').next().filter(|l| l.trim().is_empty()).map_or(line, |_| "");
            if !line.trim().is_empty() {
                self.line(line.trim());
            }
        }
    }

    /// The story, and where everything stands.
    pub(crate) fn told(&self) -> String {
        format!("{}{}", self.story, story::ending(&self.plan, &self.state, self.now))
    }

    /// Commands the machine, and holds what it does against every law.
    pub(crate) fn obey(&mut self, command: Command) -> Result<Vec<JournalEvent>, Rejected> {
        let before = self.state.clone();
        let advanced = advance(&self.plan, &mut self.state, command.clone(), self.now);
        let decided = decide(&self.plan, &before, command, self.now);
        assert_eq!(advanced, decided, "`advance` is `decide` and `apply` in one pass");
        match &advanced {
            Ok(events) => {
                let at = self.now.max(before.at);
                let mut applied = before.clone();
                for event in events {
                    applied = apply(&self.plan, applied, at, event).expect("`apply` accepts what is decided");
                }
                assert_eq!(applied, self.state, "`apply` comes to the state that `advance` left");
                self.keep(&before, events.clone());
            }
            Err(_) => assert_eq!(before, self.state, "a refused command changes nothing"),
        }
        advanced
    }

    /// Journals the events as their JSON reads, and checks the laws.
    fn keep(&mut self, before: &SagaState, events: Vec<JournalEvent>) {
        if !events.is_empty() {
            let seq = self.journal.len() as u64 + 1;
            let transition = Transition {
                seq,
                at: self.state.at,
                actor: "engine".into(),
                id: TransitionId(Uuid::from_u128(u128::from(seq))),
                events,
            };
            let text = serde_json::to_string(&transition).expect("a transition is JSON");
            let read: Transition = serde_json::from_str(&text).expect("its JSON is a transition");
            assert_eq!(read, transition, "a transition survives its JSON");
            for event in &read.events {
                let _ = writeln!(self.story, "{:<6} {}", story::time(read.at), story::fact(event));
            }
            self.journal.push(read);
        }
        let replayed = replay(&self.plan, &self.journal).expect("the journal can be replayed");
        assert_eq!(replayed, self.state, "replay equals live");
        if let Err(broken) = invariants::hold(&self.plan, before, &self.state, &self.journal, self.now) {
            panic!("{broken}\n{}", self.told());
        }
    }

    fn line(&mut self, line: &str) {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "at" {
            self.now = story::BIRTH + duration(words[1]);
            words.drain(..2);
        }
        let (verb, args) = (words[0], &words[1..]);
        match verb {
            "run" => {
                self.line(&format!("begin {}", args[0]));
                self.line(&format!("ok {}", args.join(" ")));
            }
            "due" => {
                let wake = agenda(&self.plan, &self.state, self.now).wake;
                self.now = wake.unwrap_or_else(|| panic!("nothing is waited for\n{}", self.told())).at;
            }
            "agenda" => {
                let asked = agenda(&self.plan, &self.state, self.now);
                self.story += &format!("{:<6} ?\n{}", story::time(self.now), story::to_do(&asked));
                self.story += &story::desks(&self.plan, &self.state);
            }
            "verbs" => self.verbs(args[0]),
            "answer" => {
                let (_, answer) = &self.state.answers[&OperationId::new(args[0])];
                let _ = writeln!(self.story, "  {} stands at: {}", args[0], story::answered(answer));
            }
            _ => {
                let command = self.command(verb, args);
                match self.obey(command) {
                    Ok(events) if events.is_empty() => self.remark(line, "nothing new"),
                    Ok(_) => {}
                    Err(rejected) => self.remark(line, &rejected.to_string()),
                }
            }
        }
    }

    fn remark(&mut self, line: &str, what: &str) {
        let _ = writeln!(self.story, "{:<6} ({line}: {what})", story::time(self.now));
    }

    fn verbs(&mut self, of: &str) {
        let action = action(of).0;
        for offer in amends_core::agenda::verbs(&self.plan, &self.state) {
            if offer.action.as_ref() == Some(&action)
                || (offer.action.is_none() && offer.refused.as_deref() != Some("not yet"))
            {
                let answer = offer.refused.unwrap_or_else(|| "possible".into());
                let of = offer.action.map_or("the saga".to_owned(), |action| story::name(&action));
                let _ = writeln!(self.story, "  {:?} {of}: {answer}", offer.verb);
            }
        }
    }

    fn command(&mut self, verb: &str, args: &[&str]) -> Command {
        let operation = |id: &str| Operation {
            id: OperationId::new(id),
            actor: "ann".into(),
            reason: "she has one".into(),
        };
        match verb {
            "tick" => return Command::Tick,
            "crash" => {
                self.incarnations += 1;
                return Command::Claim { incarnation: Incarnation(Uuid::from_u128(self.incarnations)) };
            }
            "cancel" => return Command::Cancel(operation(args[0])),
            "decide" => return Command::DecideBranch { branch: args[0].into(), taken: args[1] == "yes" },
            "condition-fails" => {
                let failure = failure(FailureKind::Persistent, "condition", &[]);
                return Command::ConditionFailed { branch: args[0].into(), failure };
            }
            _ => {}
        }
        let (action, attempt) = action(args[0]);
        let known = self.state.action(&self.plan, &action);
        let attempt = attempt
            .or_else(|| known.and_then(|a| a.running).map(|running| running.attempt))
            .unwrap_or_else(|| known.map_or(0, |a| a.attempts));
        let query = known.map_or(0, |a| a.queries);
        match verb {
            "begin" => Command::Begin { action, input: args.get(1).map(|text| json(text)) },
            "withdraw" => Command::Withdraw { action, attempt },
            "input-fails" => {
                Command::InputFailed { action, failure: failure(FailureKind::Persistent, "input", &[]) }
            }
            "query" => Command::BeginQuery { action },
            "query-fails" => {
                let failure = failure(FailureKind::Unknown, "timeout", &[]);
                Command::QueryFailed { action, query, failure }
            }
            "found" => Command::Found { query, finding: finding(&action, &args[1..]), action },
            "resume" => Command::Resume { action, operation: operation(args[1]) },
            "accept" => {
                let (output, id) = match args[1..] {
                    [output, id] => (Some(json(output)), id),
                    [id] => (None, id),
                    _ => panic!("accept what?"),
                };
                Command::Accept { action, output, evidence: "she saw it".into(), operation: operation(id) }
            }
            _ => Command::Answer { answer: answer(verb, &action, &args[1..]), attempt, action },
        }
    }
}

pub(crate) fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("`{text}` is not JSON: {error}"))
}

/// What a success holds when the script names nothing.
pub(crate) fn result(action: &ActionId) -> Recorded {
    let text = if action.is_forward() { format!("\"{}\"", action.step) } else { "\"Undone\"".into() };
    Recorded::Value(json(&text))
}

pub(crate) fn failure(kind: FailureKind, code: &str, words: &[&str]) -> Failure {
    let hint = words.iter().find_map(|word| word.strip_prefix("hint="));
    Failure {
        kind,
        code: code.into(),
        message: "as the participant put it".into(),
        rule: "script".into(),
        classifier: "test/1".into(),
        hint: hint.map(|hint| if hint == "max" { std::time::Duration::MAX } else { duration(hint) }),
    }
}

fn answer(verb: &str, action: &ActionId, words: &[&str]) -> Attempted {
    let given = words.iter().find(|word| word.starts_with(['"', '{', '['])).map(|text| json(text));
    let value = |otherwise: &str| Recorded::Value(given.clone().unwrap_or_else(|| json(otherwise)));
    match verb {
        "ok" => given.clone().map_or_else(
            || Attempted::Succeeded(result(action)),
            |v| Attempted::Succeeded(Recorded::Value(v)),
        ),
        "nothing" => Attempted::Succeeded(value("\"NothingToUndo\"")),
        "omitted" => Attempted::Succeeded(Recorded::Omitted(amends_core::event::Omitted {
            reason: "too large".into(),
            digest: None,
            size: 3_000_000,
        })),
        "refuse" => Attempted::Refused(value("\"no\"")),
        "transient" => Attempted::Transient(failure(FailureKind::Transient, "busy", words)),
        "persistent" => Attempted::Persistent(failure(FailureKind::Persistent, "credential", words)),
        "lost" => Attempted::Unknown(failure(FailureKind::Unknown, "timeout", words)),
        "accepted" => Attempted::Accepted,
        "partial" => Attempted::Partial(None),
        "fenced" => Attempted::Fenced { through: words[0].parse().expect("an attempt") },
        "mismatch" => Attempted::Mismatch(failure(FailureKind::Unknown, "mismatch", words)),
        "stale" => Attempted::Stale { found: json("{}") },
        other => panic!("a script does not say `{other}`"),
    }
}

fn finding(action: &ActionId, words: &[&str]) -> Finding {
    match words[0] {
        "absent" => Finding::Absent,
        "applied" | "undone" => {
            Finding::Applied(words.get(1).map_or_else(|| result(action), |text| Recorded::Value(json(text))))
        }
        "nothing" => Finding::Applied(Recorded::Value(json("\"NothingToUndo\""))),
        "refused" => Finding::Refused(Recorded::Value(json("\"no\""))),
        "partial" => Finding::Partial(None),
        "in-progress" => Finding::InProgress,
        "unclear" => Finding::Unclear { report: "status=weird".into() },
        "fenced" => Finding::Fenced { through: words[1].parse().expect("an attempt") },
        other => panic!("a query does not find `{other}`"),
    }
}

/// `auth`, `undo:auth`, `auth#2`.
fn action(text: &str) -> (ActionId, Option<u32>) {
    let (name, attempt) = match text.split_once('#') {
        Some((name, attempt)) => (name, Some(attempt.parse().expect("an attempt"))),
        None => (text, None),
    };
    let (name, direction) = match name.strip_prefix("undo:") {
        Some(step) => (step, Direction::Compensation),
        None => (name, Direction::Forward),
    };
    (ActionId { step: Arc::from(name), direction }, attempt)
}
