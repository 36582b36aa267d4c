//! Plans as text, one step a line:
//!
//! ```text
//! workflow order v2                        # optional; `test v1` otherwise
//! deadline 1h                              # of the saga; none otherwise
//! read check(input)
//! step reserve(check) by-query window=10s retention=1h keeps-answers undo-by-repeating fence
//! step book(input,check) by-repeating after=reserve shaped
//! pivot capture(book) by-query
//! when gift(check)                         # a branch: what it gives may be missing
//! step wrap(book) by-query if=gift         # stands in it; sources outside of it may name `gift`
//! either speed(check) shaped               # a branch with two sides …
//! read slow(book) if=speed
//! read fast(book) unless=speed             # … of which this is the other one
//! pivot capture(book,gift) by-query
//! retriable ship(capture) by-repeating
//! result ship                              # the last step otherwise
//! policy attempts=3 base=1s cap=8s timeout=30s give-up=1h exhausted=turn-back
//! policy ship attempts=1                   # of one step
//! undo-policy attempts=2                   # of compensations
//! query-policy queries=4 base=1s cap=1s    # of queries and repeats
//! ```
//!
//! A compensation settles as its step does, unless `undo-by-…` says otherwise. A side gives the output of its
//! last step, unless the line of its branch says `gives=name`, `gives=name,name`; a branch stands in another one
//! by `if=…` or `unless=…` too.

use std::time::Duration;

use amends_core::plan::{
    BranchPlan, Contract, Exhausted, InDoubt, Input, Merge, QueryPolicy, RetryPolicy, SagaPlan, Schemas,
    Settle, Side, Source, StepKind, StepPlan, UndoPlan,
};
use amends_core::{BranchIx, StepIx};

/// Reads a plan.
///
/// # Panics
/// When the text is none.
pub(crate) fn plan(text: &str) -> SagaPlan {
    try_plan(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// Reads a plan that may be wrong.
///
/// # Errors
/// What is wrong with it, as sentences.
///
/// # Panics
/// When the text is none.
pub(crate) fn try_plan(text: &str) -> Result<SagaPlan, Vec<String>> {
    let mut draft = Draft {
        workflow: "test".into(),
        version: 1,
        deadline: None,
        steps: Vec::new(),
        branches: Vec::new(),
        gives: Vec::new(),
        result: None,
    };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            draft.line(line);
        }
    }
    draft.merge();
    let last = || Source::Step(StepIx(draft.steps.len() - 1));
    let result = draft.result.as_ref().map_or_else(last, |name| draft.source(name));
    let (workflow, version) = (draft.workflow, draft.version);
    let plan = SagaPlan::branching(workflow, version, "test/1", draft.steps, draft.branches, result);
    let plan = plan.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok(SagaPlan { deadline: draft.deadline, ..plan })
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
    branches: Vec<BranchPlan>,
    /// What each branch was told to give, by name: those steps may be declared later.
    gives: Vec<Vec<String>>,
    result: Option<String>,
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
            "result" => self.result = Some(words[0].into()),
            "when" | "either" => self.branch(first, &words),
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
        let sources: Vec<Source> =
            sources.split(',').filter(|s| !s.is_empty()).map(|s| self.source(s)).collect();
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
        let (mut undo_settle, mut in_doubt, mut side) = (None, InDoubt::Wait, None);
        for word in &words[1..] {
            match word.split_once('=').unwrap_or((word, "")) {
                ("shaped", _) => step.input = Input::Shaped(sources.clone()),
                ("fence", _) => in_doubt = InDoubt::Fence,
                ("keeps-answers", _) => step.contract.keeps_answers = true,
                ("window", text) => step.contract.settle_window = Some(duration(text)),
                ("retention", text) => step.contract.key_retention = Some(duration(text)),
                (word @ ("if" | "unless"), branch) => side = Some(self.side(word, branch)),
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
        if let Some(side) = side {
            let branch = &mut self.branches[side.branch.0];
            let steps = if side.taken { &mut branch.taken } else { &mut branch.otherwise };
            steps.push(StepIx(self.steps.len()));
        }
        self.steps.push(step);
    }

    fn source(&self, name: &str) -> Source {
        let branch = self.branches.iter().position(|branch| *branch.name == *name);
        match (name, branch) {
            ("input", _) => Source::SagaInput,
            (_, Some(branch)) => Source::Branch(BranchIx(branch)),
            (step, None) => Source::Step(self.find(step)),
        }
    }

    fn side(&self, word: &str, branch: &str) -> Side {
        let at = self.branches.iter().position(|of| *of.name == *branch);
        let branch = BranchIx(at.unwrap_or_else(|| panic!("no branch `{branch}` stands before")));
        Side { branch, taken: word == "if" }
    }

    fn branch(&mut self, kind: &str, words: &[&str]) {
        let (name, sources) = words[0].trim_end_matches(')').split_once('(').expect("name(sources)");
        let sources: Vec<Source> = sources.split(',').map(|source| self.source(source)).collect();
        let nothing = Source::SagaInput;
        let mut branch = BranchPlan {
            name: name.into(),
            within: None,
            condition: Input::Recorded(sources.clone()),
            after: Vec::new(),
            taken: Vec::new(),
            otherwise: Vec::new(),
            gives: match kind {
                "when" => Merge::When(nothing),
                _ => Merge::Either { taken: nothing, otherwise: nothing },
            },
            schema: String::new(),
        };
        let mut gives = Vec::new();
        for word in &words[1..] {
            match word.split_once('=').unwrap_or((word, "")) {
                ("shaped", _) => branch.condition = Input::Shaped(sources.clone()),
                (word @ ("if" | "unless"), outer) => branch.within = Some(self.side(word, outer)),
                ("after", names) => branch.after = names.split(',').map(|name| self.find(name)).collect(),
                ("gives", names) => gives.extend(names.split(',').map(str::to_owned)),
                (other, _) => panic!("a branch has no word `{other}`"),
            }
        }
        self.branches.push(branch);
        self.gives.push(gives);
    }

    /// What every branch gives, once all steps are known. A side without steps gives the saga's input: the plan
    /// is refused for the side.
    fn merge(&mut self) {
        for at in 0..self.branches.len() {
            let branch = &self.branches[at];
            let last = |steps: &[StepIx]| steps.last().map_or(Source::SagaInput, |step| Source::Step(*step));
            let told = |nth: usize| self.gives[at].get(nth).map(|name| self.source(name));
            let taken = told(0).unwrap_or_else(|| last(&branch.taken));
            let otherwise = told(1).unwrap_or_else(|| last(&branch.otherwise));
            self.branches[at].gives = match branch.gives {
                Merge::When(_) => Merge::When(taken),
                Merge::Either { .. } => Merge::Either { taken, otherwise },
            };
        }
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
