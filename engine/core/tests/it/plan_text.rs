//! Plans as text, one step a line:
//!
//! ```text
//! workflow order v2                        # optional; `test v1` otherwise
//! deadline 1h                              # of the saga; none otherwise
//! read check(input)
//! step reserve(check) by-query window=10s retention=1h keeps-answers undo-by-repeating fence
//! step book(input,check) by-repeating after=reserve shaped
//! pivot capture(book) by-query
//! retriable ship(capture) by-repeating
//! policy attempts=3 base=1s cap=8s timeout=30s give-up=1h exhausted=turn-back
//! policy ship attempts=1                   # of one step
//! undo-policy attempts=2                   # of compensations
//! query-policy queries=4 base=1s cap=1s    # of queries and repeats
//! ```
//!
//! A compensation settles as its step does, unless `undo-by-…` says otherwise.

use std::time::Duration;

use amends_core::StepIx;
use amends_core::plan::{
    Contract, Exhausted, InDoubt, Input, QueryPolicy, RetryPolicy, SagaPlan, Schemas, Settle, Source,
    StepKind, StepPlan, UndoPlan,
};

/// Reads a plan.
///
/// # Panics
/// When the text is none.
pub(crate) fn plan(text: &str) -> SagaPlan {
    let mut draft = Draft { workflow: "test".into(), version: 1, deadline: None, steps: Vec::new() };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            draft.line(line);
        }
    }
    let result = Source::Step(StepIx(draft.steps.len() - 1));
    let mut plan = SagaPlan::new(draft.workflow, draft.version, "test/1", draft.steps, result)
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    plan.deadline = draft.deadline;
    plan
}

/// `1500ms`, `3s`, `2m`, `1h`.
pub(crate) fn duration(text: &str) -> Duration {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().unwrap_or_else(|_| panic!("`{text}` is not a duration"));
    let unit = match &text[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        other => panic!("`{other}` is not a unit of time"),
    };
    Duration::from_micros((number * unit * 1e6).round() as u64)
}

struct Draft {
    workflow: String,
    version: u32,
    deadline: Option<Duration>,
    steps: Vec<StepPlan>,
}

impl Draft {
    fn line(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let first = words.next().expect("the line is not empty");
        let words: Vec<&str> = words.collect();
        match first {
            "workflow" => {
                self.workflow = words[0].into();
                self.version = words[1].trim_start_matches('v').parse().expect("a version");
            }
            "deadline" => self.deadline = Some(duration(words[0])),
            "read" => self.step(StepKind::Read, &words),
            "step" => self.step(StepKind::Compensated, &words),
            "pivot" => self.step(StepKind::Pivot, &words),
            "retriable" => self.step(StepKind::Retriable, &words),
            "policy" => self.policies(&words, |step, word| retry(&mut step.retry, word)),
            "undo-policy" => self.policies(&words, |step, word| retry(&mut step.compensation, word)),
            "query-policy" => self.policies(&words, |step, word| query(&mut step.query, word)),
            other => panic!("a line of a plan does not begin with `{other}`"),
        }
    }

    fn find(&self, name: &str) -> StepIx {
        let at = self.steps.iter().position(|step| *step.name == *name);
        StepIx(at.unwrap_or_else(|| panic!("no step `{name}` stands before")))
    }

    fn step(&mut self, kind: StepKind, words: &[&str]) {
        let (name, sources) = words[0].trim_end_matches(')').split_once('(').expect("name(sources)");
        let source = |name: &str| match name {
            "input" => Source::SagaInput,
            step => Source::Step(self.find(step)),
        };
        let sources: Vec<Source> = sources.split(',').filter(|s| !s.is_empty()).map(source).collect();
        let mut step = StepPlan {
            name: name.into(),
            kind,
            after: Vec::new(),
            input: Input::Recorded(sources.clone()),
            settle: Settle::NoEffect,
            undo: None,
            contract: Contract::default(),
            schemas: Schemas::default(),
            retry: RetryPolicy { max_attempts: 3, ..RetryPolicy::default() },
            query: QueryPolicy::default(),
            compensation: RetryPolicy { max_attempts: 3, ..RetryPolicy::default() },
        };
        let (mut undo_settle, mut in_doubt) = (None, InDoubt::Wait);
        for word in &words[1..] {
            match word.split_once('=').unwrap_or((word, "")) {
                ("shaped", _) => step.input = Input::Shaped(sources.clone()),
                ("fence", _) => in_doubt = InDoubt::Fence,
                ("keeps-answers", _) => step.contract.keeps_answers = true,
                ("window", text) => step.contract.settle_window = Some(duration(text)),
                ("retention", text) => step.contract.key_retention = Some(duration(text)),
                ("after", names) => step.after = names.split(',').map(|name| self.find(name)).collect(),
                (word, _) => match word.strip_prefix("undo-") {
                    Some(undo) => undo_settle = Some(settle(undo)),
                    None => step.settle = settle(word),
                },
            }
        }
        if kind == StepKind::Compensated {
            step.undo = Some(UndoPlan { settle: undo_settle.unwrap_or(step.settle), in_doubt });
        }
        let settles = step.settle != Settle::NoEffect;
        assert_eq!(settles, kind != StepKind::Read, "`{name}`: say how its unknown is settled");
        self.steps.push(step);
    }

    fn policies(&mut self, words: &[&str], set: impl Fn(&mut StepPlan, (&str, &str))) {
        let of_one = words.first().filter(|word| !word.contains('=')).map(|name| self.find(name));
        let words = if of_one.is_some() { &words[1..] } else { words };
        for (ix, step) in self.steps.iter_mut().enumerate() {
            if of_one.is_none_or(|of| of.0 == ix) {
                words.iter().for_each(|word| set(step, word.split_once('=').expect("name=number")));
            }
        }
    }
}

fn settle(word: &str) -> Settle {
    match word {
        "by-query" => Settle::ByQuery,
        "by-repeating" => Settle::ByRepeating,
        "by-operator" => Settle::ByOperator,
        other => panic!("a step has no word `{other}`"),
    }
}

fn retry(policy: &mut RetryPolicy, (word, value): (&str, &str)) {
    match word {
        "attempts" => policy.max_attempts = value.parse().expect("a number of attempts"),
        "base" => policy.base = duration(value),
        "cap" => policy.cap = duration(value),
        "timeout" => policy.attempt_timeout = duration(value),
        "give-up" => policy.give_up_after = duration(value),
        "exhausted" if value == "turn-back" => policy.on_exhausted = Exhausted::TurnBack,
        other => panic!("a policy has no `{other}={value}`"),
    }
}

fn query(policy: &mut QueryPolicy, (word, value): (&str, &str)) {
    match word {
        "queries" => policy.max_queries = value.parse().expect("a number of queries"),
        "base" => policy.base = duration(value),
        "cap" => policy.cap = duration(value),
        "timeout" => policy.timeout = duration(value),
        other => panic!("a query policy has no `{other}={value}`"),
    }
}
