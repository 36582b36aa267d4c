//! Kept journals: what earlier versions of the machine wrote is read by this one, and tells the same story.
//!
//! `tests/journals/README.md` says what the files are. A journal of [`PATHS`] that is not there yet is written
//! by `KEEP_JOURNALS=1 cargo test -p amends-core --test it journals`; one that is there is never written anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use amends_core::{SagaPlan, Transition, replay};
use expect_test::expect_file;
use serde::{Deserialize, Serialize};

use crate::plan_text::plan;
use crate::script::play;
use crate::story;

/// The first line of a kept journal.
#[derive(Serialize, Deserialize)]
struct Head {
    /// The plan it was written under, line by line.
    plan: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals")
}

#[test]
fn every_kept_journal_tells_the_story_it_told_when_it_was_written() {
    let mut kept: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the folder of journals is there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    kept.sort();
    assert!(kept.len() >= PATHS.len(), "{} journals are kept, of {} paths", kept.len(), PATHS.len());
    for path in kept {
        let (plan, journal) = read(&path);
        let state = replay(&plan, &journal).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut told = String::new();
        for transition in &journal {
            for event in &transition.events {
                let _ = writeln!(told, "{:<6} {}", time(&journal, transition), story::fact(event));
            }
        }
        told += &story::ending(&plan, &state, state.at);
        expect_file![path.with_extension("story")].assert_eq(&told);
    }
}

#[test]
fn every_path_has_a_kept_journal() {
    let write = std::env::var_os("KEEP_JOURNALS").is_some();
    for (name, plan, script) in PATHS {
        let path = folder().join(name).with_extension("jsonl");
        if write && !path.exists() {
            std::fs::write(&path, lines(plan, script)).expect("the journal can be kept");
        }
        assert!(path.exists(), "{name} is not kept yet: see the head of this file");
        let head = std::fs::read_to_string(&path).expect("it is there");
        let head: Head = serde_json::from_str(head.lines().next().expect("a head")).expect("a head");
        assert_eq!(head, Head::of(plan), "{name} was kept under another plan");
    }
}

impl Head {
    fn of(plan: &str) -> Self {
        let lines = plan.lines().map(|line| line.trim().to_owned());
        Self { plan: lines.filter(|line| !line.is_empty()).collect() }
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.plan == other.plan
    }
}

impl std::fmt::Debug for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.plan.join("\n"))
    }
}

/// Journals from elsewhere begin at a time of their own; the stories are told from the birth of the saga.
fn time(journal: &[Transition], transition: &Transition) -> String {
    story::time(story::BIRTH + transition.at.since(journal[0].at))
}

fn read(path: &Path) -> (SagaPlan, Vec<Transition>) {
    let text = std::fs::read_to_string(path).expect("it was listed");
    let mut lines = text.lines();
    let bad = |error| panic!("{}: {error}", path.display());
    let head: Head = serde_json::from_str(lines.next().expect("a head")).unwrap_or_else(bad);
    let bad = |error| panic!("{}: {error}", path.display());
    let journal = lines.map(|line| serde_json::from_str(line).unwrap_or_else(bad)).collect();
    (plan(&head.plan.join("\n")), journal)
}

fn lines(plan: &str, script: &str) -> String {
    let mut text = serde_json::to_string(&Head::of(plan)).expect("a head is JSON") + "\n";
    for transition in play(plan, script).journal {
        text += &(serde_json::to_string(&transition).expect("a transition is JSON") + "\n");
    }
    text
}

const ORDER: &str = "
    deadline 1h
    read check(input)
    step reserve(check) by-query window=10s retention=1h fence
    step auth(input) by-repeating retention=1h undo-by-query
    pivot capture(reserve,auth) by-query window=10s keeps-answers
    retriable ship(capture) by-repeating
    retriable tell(ship) by-operator
    policy attempts=3 base=1s cap=8s
    undo-policy attempts=2 base=1s cap=8s
    query-policy queries=3 base=1s cap=8s
";

const TURNING: &str = "
    step a(input) by-query shaped
    step b(a) by-query fence
    step c(a) by-repeating
    policy attempts=2 base=0s exhausted=turn-back
    undo-policy attempts=2 base=0s
    query-policy queries=2 base=0s
";

const BRANCHING: &str = "
    step a(input) by-query
    either side(a) shaped
    step b(input) by-query if=side
    when inner(b) if=side
    step c(b) by-query if=inner
    step d(input) by-query unless=side
    pivot p(side) by-query
    when told(a)
    retriable e(p) by-query if=told
    retriable f(p,told) by-query
";

const NEWS: &str = "
    step z(input) by-query
    step a(z) by-query
    step b(a) by-repeating retention=1h fence
    policy attempts=3 base=1s cap=1s
    undo-policy attempts=2 base=1s cap=1s
    query-policy queries=2 base=0s
";

const PIVOT: &str = "
    deadline 1h
    step a(input) by-query
    pivot p(a) by-query
    retriable r(p) by-operator
    retriable t(p) by-query after=r
    policy attempts=2 base=1s cap=1s
    query-policy queries=2 base=0s
";

/// Name, plan and script of every path that this machine walks.
const PATHS: &[(&str, &str, &str)] = &[
    (
        "success",
        ORDER,
        "run check\n at 1s begin auth\n run reserve\n at 2s ok auth\n run capture\n run ship\n at 3s run tell",
    ),
    (
        "retried",
        ORDER,
        "begin check\n transient check\n due\n run check\n begin reserve\n transient reserve hint=5s\n due\n run reserve",
    ),
    (
        "quarantined-and-resumed",
        ORDER,
        "run check\n begin reserve\n persistent reserve\n at 60s resume reserve op1\n run reserve\n run auth\n run capture\n run ship\n run tell",
    ),
    (
        "quarantined-and-accepted",
        ORDER,
        "run check\n begin reserve\n persistent reserve\n at 60s accept reserve \"by-hand\" op1",
    ),
    ("input-failed", ORDER, "run check\n input-fails reserve"),
    (
        "refused-and-compensated",
        TURNING,
        "begin a {\"n\":1}\n ok a\n begin b\n begin c\n at 1s refuse b\n at 2s ok c\n run undo:c\n run undo:a",
    ),
    ("exhausted-and-turned", TURNING, "run a\n begin b\n transient b\n begin b\n transient b\n run undo:a"),
    ("cancelled", TURNING, "run a\n at 5s cancel op1\n cancel op2\n run undo:a\n cancel op3"),
    (
        "settled-by-query",
        ORDER,
        "run check\n begin reserve\n at 30s lost reserve\n due\n query reserve\n query-fails reserve\n due\n query reserve\n found reserve in-progress\n due\n query reserve\n found reserve absent\n due\n run reserve",
    ),
    (
        "settled-by-repeating",
        ORDER,
        "run check\n begin auth\n at 30s lost auth\n due\n begin auth\n transient auth\n due\n run auth",
    ),
    (
        "settled-by-a-person",
        ORDER,
        "run check\n run auth\n run reserve\n run capture\n run ship\n begin tell\n at 30s lost tell\n at 60s accept tell \"told\" op1",
    ),
    (
        "repeats-spent",
        ORDER,
        "run check\n begin auth\n lost auth\n due\n begin auth\n lost auth\n due\n begin auth\n lost auth",
    ),
    ("fenced", TURNING, "run a\n begin b\n lost b\n cancel op1\n query b\n found b fenced 1\n run undo:a"),
    (
        "closed-out-by-its-query",
        ORDER,
        "run check\n run auth\n begin reserve\n lost reserve\n at 10s query reserve\n query-fails reserve\n fenced reserve#1 1\n due\n run reserve\n run capture",
    ),
    (
        "compensated-in-doubt",
        TURNING,
        "run a\n begin b\n lost b\n cancel op1\n query b\n found b unclear\n query b\n query-fails b\n begin undo:b\n nothing undo:b\n run undo:a",
    ),
    (
        "compensation-unknown",
        ORDER,
        "run check\n run auth\n cancel op1\n begin undo:auth\n at 30s lost undo:auth\n due\n query undo:auth\n found undo:auth undone",
    ),
    (
        "compensation-quarantined",
        TURNING,
        "run a\n begin b\n refuse b\n begin undo:a\n transient undo:a\n begin undo:a\n transient undo:a\n at 60s resume undo:a op1\n run undo:a",
    ),
    (
        "wish-too-late",
        ORDER,
        "run check\n run auth\n run reserve\n begin capture\n cancel op1\n lost capture\n due\n query capture\n found capture applied\n run ship\n run tell",
    ),
    (
        "wish-granted",
        ORDER,
        "run check\n run auth\n run reserve\n begin capture\n at 3600s tick\n cancel op1\n refuse capture\n run undo:auth\n run undo:reserve",
    ),
    ("late", ORDER, "run check\n run auth\n run reserve\n run capture\n at 3600s tick\n run ship\n run tell"),
    ("deadline", ORDER, "run check\n at 3600s tick"),
    (
        "crashed",
        ORDER,
        "begin check\n begin auth\n crash\n due\n run check\n begin reserve\n crash\n due\n begin auth\n due\n query reserve\n at 20s crash",
    ),
    (
        "branches-taken",
        BRANCHING,
        "run a\n decide side yes\n run b\n decide inner yes\n run c\n run p\n decide told no\n run f",
    ),
    (
        "branches-not-taken",
        BRANCHING,
        "run a\n decide side no\n crash\n begin d\n at 1s refuse d\n run undo:a",
    ),
    (
        "branch-quarantined",
        BRANCHING,
        "run a\n condition-fails side\n at 60s resume b op1\n decide side no\n run d\n run p",
    ),
    ("withdrawn", ORDER, "begin check\n withdraw check\n crash\n run check"),
    ("not-yet", ORDER, "run check\n begin reserve\n accepted reserve\n begin auth\n mismatch auth"),
    (
        "taken-and-answered",
        NEWS,
        "begin z\n accepted z hint=5s\n due\n query z\n found z in-progress\n at 9s ok z#1\n begin a\n accepted a\n transient a#1\n due\n run a\n begin b\n lost b\n accepted b#1",
    ),
    (
        "taken-and-overdue",
        PIVOT,
        "run a\n run p\n begin r\n accepted r\n at 86400s tick\n send-again r op1 override\n run r\n run t",
    ),
    (
        "partial-and-undone",
        NEWS,
        "run z\n begin a\n partial a\n begin undo:a\n partial undo:a\n accept undo:a \"Undone\" op1\n run undo:z",
    ),
    (
        "partial-pivot",
        PIVOT,
        "run a\n begin p\n lost p\n query p\n found p partial\n cancel op1\n person-found p not-applied op2\n run undo:a",
    ),
    (
        "closed-out-and-mismatched",
        NEWS,
        "begin z\n fenced z 1\n resume z op1\n begin z\n mismatch z\n retry-now z op2\n query z\n found z applied",
    ),
    (
        "stale-and-approved",
        NEWS,
        "run z\n begin a\n refuse a\n begin undo:z\n stale undo:z\n approve undo:z op1\n begin undo:z\n stale undo:z\n deny undo:z op2\n resume undo:z op3\n run undo:z",
    ),
    (
        "late-success",
        NEWS,
        "begin z\n transient z\n due\n begin z\n ok z#1\n transient z#2\n begin a\n persistent a\n ok a#1\n begin b\n lost b\n begin b\n lost b#1\n refuse b#1\n ok b#?",
    ),
    (
        "unknown-again",
        NEWS,
        "begin z\n transient z\n due\n begin z\n lost z#1\n transient z#2\n query z\n found z applied\n begin a\n persistent a\n partial a#1",
    ),
    (
        "disputed-and-settled",
        NEWS,
        "run z\n refuse z#1\n query z\n found z applied\n run a\n refuse a#1\n query a\n query-fails a\n accept a op1\n ok a#1",
    ),
    ("contradicted", NEWS, "run z\n run a\n refuse a#1\n query a\n found a refused\n run undo:z"),
    (
        "contradicted-under-the-pivot",
        PIVOT,
        "run a\n begin p\n refuse a#1\n query a\n found a refused\n refuse p\n person-found a not-applied op1",
    ),
    (
        "late-compensation",
        NEWS,
        "run z\n begin a\n refuse a\n run undo:z\n ok a#1\n query a\n found a applied\n run undo:a\n transient undo:a#1\n query undo:a\n found undo:a undone",
    ),
    (
        "in-doubt-contradicted",
        NEWS,
        "run z\n run a\n begin b\n lost b\n cancel op1\n begin undo:b\n ok b#1\n nothing undo:b\n person-found b not-applied op2",
    ),
    ("in-doubt-ordered", PIVOT, "begin a\n lost a\n cancel op1\n compensate-in-doubt a op2\n run undo:a"),
    (
        "found-by-persons",
        PIVOT,
        "begin a\n lost a\n keep a 60s op1\n send-again a op2\n begin a\n lost a\n person-found a not-applied op3\n resume a op4\n run a\n begin p\n persistent p\n reject p op5\n run undo:a",
    ),
    (
        "supplied-and-waived",
        PIVOT,
        "begin a\n omitted a\n input-fails p\n supply a \"it\" op1\n run p\n begin r\n persistent r\n waive r op2\n run t",
    ),
    (
        "turned-by-an-operator",
        NEWS,
        "run z\n turn-back op1\n begin undo:z\n transient undo:z\n retry-now undo:z op2\n run undo:z",
    ),
    ("paused", NEWS, "begin z\n pause op1\n transient z\n at 60s crash\n cancel op2\n unpause op3"),
    (
        "requested-and-compensated",
        PIVOT,
        "run a\n run p\n compensate m1:a op1\n deny m1:a op2\n compensate m2:a op3\n approve m2:a op4\n begin m2:a\n lost m2:a\n query m2:a\n found m2:a undone\n run r\n run t",
    ),
    (
        "closed",
        PIVOT,
        "run a\n begin p\n lost p\n assign p eve op1\n close op2 p\n deny op2 op3\n close op4 p\n assign - zoe op5\n approve op4 op6\n ok p#1\n accept p \"it\" op7",
    ),
    ("ended-under-a-closing", PIVOT, "run a\n run p\n run r\n close op1\n run t"),
];
