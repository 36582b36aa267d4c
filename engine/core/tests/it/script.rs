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
//! crash · crash-paused                     # another incarnation claims the saga; its workflow is paused
//! ok auth#? · refuse auth#?                # an answer that names no attempt
//! cancel op1 · turn-back op1 · pause op1 · unpause op1
//! resume auth op2 · retry-now auth op · reject auth op · waive auth op · compensate-in-doubt auth op
//! send-again auth op [override] · keep auth 60s op · supply auth "value" op
//! accept auth "value" op3 · accept auth op3 · person-found auth not-applied|refused|partial op
//! compensate m1:auth op [by-policy] · approve m1:auth op [bob] · deny op1 op · approve undo:auth op
//! close op [auth …] · assign auth|- who op · dispose auth|- what op
//! agenda · agenda-paused · verbs auth · answer op1 # questions
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use amends_core::agenda::{Agenda, tasks_of_paused};
use amends_core::event::{Failure, FailureKind, Finding, JournalEvent, Recorded, Transition};
use amends_core::machine::{
    Approval, Attempted, Command, CompensationOrder, Operation, PersonFinding, Start, advance, start,
};
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
            trace: None,
            tenant: None,
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
            "agenda-paused" => {
                let (tasks, wake) = tasks_of_paused(&self.plan, &self.state, self.now);
                let asked = Agenda { tasks, wake, waits: Vec::new() };
                self.story += &format!("{:<6} ?\n{}", story::time(self.now), story::to_do(&asked));
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
        for offer in amends_core::agenda::verbs(&self.plan, &self.state, self.now) {
            if offer.action.as_ref() != Some(&action) && offer.action.is_some() {
                continue;
            }
            let of = offer.action.as_ref().map_or("the saga".to_owned(), story::name);
            let finding = if offer.finding.is_empty() { "" } else { ": " };
            let asked = format!("{:?}{finding}{} {of}", offer.verb, offer.finding);
            match offer.refused {
                Some(why) => {
                    let _ = writeln!(self.story, "  {asked} — {why}");
                }
                None => {
                    let facts: Vec<String> = offer.consequences.iter().map(story::fact).collect();
                    let _ = writeln!(self.story, "  {asked}: {}", facts.join("; "));
                }
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
            "crash-paused" => {
                self.incarnations += 1;
                return Command::ClaimPaused { incarnation: Incarnation(Uuid::from_u128(self.incarnations)) };
            }
            "cancel" => return Command::Cancel(operation(args[0])),
            "decide" => return Command::DecideBranch { branch: args[0].into(), taken: args[1] == "yes" },
            "condition-fails" => {
                let failure = failure(FailureKind::Persistent, "condition", &[]);
                return Command::ConditionFailed { branch: args[0].into(), failure };
            }
            "turn-back" => return Command::TurnBack(operation(args[0])),
            "pause" => return Command::Pause(operation(args[0])),
            "unpause" => return Command::Unpause(operation(args[0])),
            "close" => {
                let named = args[1..].iter().map(|name| self::action(name).0).collect();
                return Command::Close { follow_up: "by hand".into(), named, operation: operation(args[0]) };
            }
            "approve" | "deny" => {
                let request = if args[0].contains(':') {
                    self::action(args[0]).0.to_string()
                } else {
                    args[0].to_owned()
                };
                let actor = args.get(2).unwrap_or(&"bob");
                let operation = Operation { actor: (*actor).into(), ..operation(args[1]) };
                return match verb {
                    "approve" => Command::Approve { request, operation },
                    _ => Command::Deny { request, operation },
                };
            }
            "assign" | "dispose" => {
                let item = if args[0] == "-" { String::new() } else { self::action(args[0]).0.to_string() };
                let (note, operation) = (args[1].to_owned(), operation(args[2]));
                return match verb {
                    "assign" => Command::Assign { item, assignee: note, operation },
                    _ => Command::SetDisposition { item, disposition: note, operation },
                };
            }
            "compensate" => {
                let by_policy = args.contains(&"by-policy");
                let approval = match by_policy {
                    true => Approval::Policy("refunds".into()),
                    false => Approval::AnotherPerson,
                };
                let order = CompensationOrder {
                    reason_code: "goodwill".into(),
                    approval,
                    expected: Some(json("1")),
                    proposed: None,
                    affected: None,
                    dry_run: None,
                };
                let action = self::action(args[0]).0;
                return Command::Compensate { action, order, operation: operation(args[1]) };
            }
            _ => {}
        }
        let names_none = args[0].ends_with("#?");
        let (action, attempt) = action(args[0].trim_end_matches("#?"));
        let known = self.state.action(&self.plan, &action);
        let attempt = attempt
            .or_else(|| known.and_then(|a| a.running).map(|running| running.attempt))
            .unwrap_or_else(|| known.map_or(0, |a| a.attempts));
        let query = known.map_or(0, |a| a.queries);
        match verb {
            "begin" => {
                let given = |what: &str| args[1..].iter().find_map(|text| text.strip_prefix(what)).map(json);
                let input = args.get(1).filter(|text| !text.starts_with("expects:")).map(|text| json(text));
                Command::Begin { action, input, expected: given("expects:") }
            }
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
            "retry-now" => Command::RetryNow { action, operation: operation(args[1]) },
            "reject" => Command::Reject { action, operation: operation(args[1]) },
            "waive" => Command::Waive { action, operation: operation(args[1]) },
            "compensate-in-doubt" => Command::CompensateInDoubt { action, operation: operation(args[1]) },
            "send-again" => {
                let override_reason = args.get(2).map(|_| "they know it".to_owned());
                Command::SendAgain { action, override_reason, operation: operation(args[1]) }
            }
            "keep" => {
                let until = story::BIRTH + duration(args[1]);
                Command::Keep { action, until, operation: operation(args[2]) }
            }
            "supply" => {
                let (output, operation) = (json(args[1]), operation(args[2]));
                Command::Supply { action, output, evidence: "the log".into(), operation }
            }
            "person-found" => {
                let finding = match args[1] {
                    "not-applied" => PersonFinding::NotApplied,
                    "refused" => PersonFinding::Refused(Some(json("\"no\""))),
                    "partial" => PersonFinding::Partial(None),
                    other => panic!("a person does not find `{other}`"),
                };
                let operation = operation(args[2]);
                Command::FoundByPerson { action, finding, evidence: "she saw it".into(), operation }
            }
            "resume" => Command::Resume { action, operation: operation(args[1]) },
            "accept" => {
                let (output, id) = match args[1..] {
                    [output, id] => (Some(json(output)), id),
                    [id] => (None, id),
                    _ => panic!("accept what?"),
                };
                Command::Accept { action, output, evidence: "she saw it".into(), operation: operation(id) }
            }
            _ => {
                let answer = answer(verb, &action, &args[1..]);
                let attempt = if names_none { None } else { Some(attempt) };
                Command::Answer { action, attempt, answer }
            }
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
        "accepted" => Attempted::Accepted {
            wait: words.iter().find_map(|word| word.strip_prefix("hint=")).map(duration),
        },
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
pub(crate) fn action(text: &str) -> (ActionId, Option<u32>) {
    let (name, attempt) = match text.split_once('#') {
        Some((name, attempt)) => (name, Some(attempt.parse().expect("an attempt"))),
        None => (text, None),
    };
    let (name, direction) = match name.split_once(':') {
        Some(("undo", step)) => (step, Direction::Compensation),
        Some((manual, step)) => {
            let number = manual.strip_prefix('m').and_then(|number| number.parse().ok());
            let id = Uuid::from_u128(number.expect("m1:step is a requested compensation"));
            (step, Direction::Manual(id))
        }
        None => (name, Direction::Forward),
    };
    (ActionId { step: Arc::from(name), direction }, attempt)
}
