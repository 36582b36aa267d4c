//! The shapes, and what was seen of each.
//!
//! Every directed acyclic graph of up to three steps: with compensated steps only, with a pivot, with a branch.
//! The ways of settling and the contracts go round, so that each of them stands somewhere in every size.

use std::fmt::Write as _;

use amends_core::SagaPlan;
use expect_test::{Expect, expect};

use crate::plan_text::plan;
use crate::search::{Bounds, Seen, explore};

const POLICIES: &str = "
policy attempts=2 base=1s cap=1s give-up=60s
undo-policy attempts=2 base=1s cap=1s give-up=60s
query-policy queries=2 base=1s cap=1s
";

/// Name, steps in one line each, and what else the policies say.
type Shape = (&'static str, &'static str);

const ONE: &[Shape] = &[
    ("a, read", "read a(input)"),
    ("a, by query", "step a(input) by-query window=5s retention=30s keeps-answers"),
    ("a, by query, no contract", "step a(input) by-query undo-by-repeating"),
    ("a, by repeating", "step a(input) by-repeating; policy exhausted=turn-back"),
    ("a, by operator", "step a(input) by-operator"),
    ("a, fence", "step a(input) by-query window=5s fence undo-by-repeating"),
    ("a, deadline", "deadline 30s; step a(input) by-query window=5s"),
    ("pivot", "pivot a(input) by-query window=5s"),
    ("pivot, by repeating, deadline", "deadline 30s; pivot a(input) by-repeating"),
    ("when: a", "when g(input); step a(input) by-query if=g; result g"),
];

const TWO: &[Shape] = &[
    ("a | b", "step a(input) by-query window=5s; step b(input) by-query window=5s"),
    ("a → b", "step a(input) by-repeating; step b(a) by-query window=5s keeps-answers"),
    ("a → b, fence", "step a(input) by-query window=5s fence; step b(a) by-operator fence"),
    ("read → b", "read a(input); step b(a) by-query window=5s; policy exhausted=turn-back"),
    ("a → pivot", "step a(input) by-query window=5s; pivot b(a) by-query window=5s"),
    ("a → pivot, by repeating", "step a(input) by-operator; pivot b(a) by-repeating"),
    ("pivot → b", "pivot a(input) by-query window=5s; retriable b(a) by-repeating"),
    ("when: a → b", "when g(input); step a(input) by-query if=g; step b(g) by-query window=5s"),
    (
        "either: a or b",
        "either g(input); step a(input) by-query if=g; step b(input) by-repeating unless=g; result g",
    ),
];

const THREE: &[Shape] = &[
    ("a | b | c", "step a(input) by-query; step b(input) by-query; step c(input) by-query"),
    ("a → b | c", "step a(input) by-repeating; step b(a) by-query window=5s; step c(input) by-operator"),
    ("a → b → c", "step a(input) by-query window=5s; step b(a) by-repeating; step c(b) by-query fence"),
    ("a → (b | c)", "step a(input) by-query; step b(a) by-repeating; step c(a) by-repeating"),
    ("(a | b) → c", "step a(input) by-query; step b(input) by-query; step c(a,b) by-repeating"),
    ("a → b → c, a → c", "step a(input) by-operator; step b(a) by-query window=5s; step c(a,b) by-query"),
    ("(a | b) → pivot", "step a(input) by-query; step b(input) by-query; pivot c(a,b) by-query window=5s"),
    ("a → b → pivot", "step a(input) by-repeating; read b(a); pivot c(a,b) by-repeating"),
    ("a → pivot → c", "step a(input) by-query; pivot b(a) by-query window=5s; retriable c(b) by-repeating"),
    ("pivot → (b | c)", "pivot a(input) by-query; retriable b(a) by-query; retriable c(a) by-query"),
    ("pivot → b → c", "pivot a(input) by-operator; retriable b(a) by-repeating; retriable c(b) by-query"),
    (
        "when: b, then pivot",
        "step a(input) by-query; when g(a); step b(a) by-query window=5s if=g; pivot c(a,g) by-query",
    ),
    (
        "either: a or b, then c",
        "either g(input); step a(input) by-query if=g; step b(input) by-query unless=g; step c(g) by-query",
    ),
];

const FOUR: &[Shape] = &[
    (
        "a → (b | c) → d",
        "step a(input) by-query; step b(a) by-query; step c(a) by-query; step d(b,c) by-query",
    ),
    (
        "(a | b) → pivot → d",
        "step a(input) by-query; step b(input) by-query; pivot c(a,b) by-query; retriable d(c) by-repeating",
    ),
    (
        "a → b → c → d",
        "step a(input) by-query; step b(a) by-repeating; step c(b) by-query fence; step d(c) by-operator",
    ),
    (
        "a → pivot → (c | d)",
        "step a(input) by-query; pivot b(a) by-query; retriable c(b) by-query; retriable d(b) by-query",
    ),
    (
        "either: (a or b) → pivot → d",
        "either g(input); step a(input) by-query if=g; step b(input) by-query unless=g; \
         pivot c(g) by-repeating; retriable d(c) by-query",
    ),
];

fn long() -> bool {
    std::env::var("EXPLORE").is_ok_and(|how| how == "long")
}

#[test]
fn one_step() {
    explored(
        ONE,
        2,
        20_000,
        expect![[r#"
            shape                           states by troubles
            a, read                         3 + 56 + 559, 1466 transitions, 971 refused
            a, by query                     3 + 74 + 1621, 3731 transitions, 2570 refused
            a, by query, no contract        3 + 74 + 1574, 3616 transitions, 2568 refused
            a, by repeating                 3 + 64 + 1108, 2334 transitions, 2229 refused
            a, by operator                  3 + 63 + 1045, 2252 transitions, 2204 refused
            a, fence                        3 + 74 + 1576, 3618 transitions, 2568 refused
            a, deadline                     3 + 95 + 2296, 4993 transitions, 3284 refused
            pivot                           3 + 63 + 976, 2461 transitions, 1026 refused
            pivot, by repeating, deadline   3 + 76 + 1155, 2482 transitions, 1256 refused
            when: a                         5 + 85 + 1693, 3919 transitions, 2994 refused
        "#]],
    );
}

#[test]
fn two_steps() {
    explored(
        TWO,
        2,
        2_000,
        expect![[r#"
            shape                           states by troubles
            a | b                           6 + 235 + 6629, 17621 transitions, 9493 refused, cut: no trouble made in 98 of them, 2 orders merged
            a → b                           5 + 227 + 5021, 11988 transitions, 10457 refused, cut: no trouble made in 69 of them
            a → b, fence                    5 + 214 + 4908, 12946 transitions, 10123 refused, cut: no trouble made in 61 of them
            read → b                        5 + 147 + 3123, 7918 transitions, 7429 refused
            a → pivot                       5 + 208 + 4832, 13332 transitions, 8068 refused, cut: no trouble made in 55 of them
            a → pivot, by repeating         5 + 199 + 4535, 11074 transitions, 8748 refused, cut: no trouble made in 26 of them
            pivot → b                       5 + 176 + 4221, 11194 transitions, 6718 refused, cut: no trouble made in 10 of them
            when: a → b                     9 + 313 + 5244, 14343 transitions, 11600 refused, cut: no trouble made in 142 of them
            either: a or b                  7 + 153 + 2956, 6464 transitions, 10433 refused
        "#]],
    );
}

#[test]
fn three_steps() {
    explored(
        THREE,
        2,
        1_000,
        expect![[r#"
            shape                           states by troubles
            a | b | c                       10 + 553 + 4493, 10928 transitions, 4692 refused, cut: no trouble made in 516 of them, 6 orders merged
            a → b | c                       15 + 986 + 0, 1948 transitions, 1448 refused, cut: no trouble made in 986 of them
            a → b → c                       7 + 464 + 2892, 7786 transitions, 6220 refused, cut: no trouble made in 406 of them
            a → (b | c)                     8 + 460 + 3678, 9817 transitions, 6044 refused, cut: no trouble made in 405 of them, 2 orders merged
            (a | b) → c                     8 + 401 + 3881, 9032 transitions, 6418 refused, cut: no trouble made in 344 of them, 2 orders merged
            a → b → c, a → c                7 + 474 + 2691, 6803 transitions, 6283 refused, cut: no trouble made in 415 of them
            (a | b) → pivot                 8 + 378 + 4021, 9481 transitions, 5602 refused, cut: no trouble made in 319 of them, 2 orders merged
            a → b → pivot                   7 + 362 + 2577, 6797 transitions, 5263 refused, cut: no trouble made in 287 of them
            a → pivot → c                   7 + 397 + 3826, 10875 transitions, 5591 refused, cut: no trouble made in 329 of them
            pivot → (b | c)                 8 + 404 + 3377, 8466 transitions, 4060 refused, cut: no trouble made in 344 of them, 2 orders merged
            pivot → b → c                   7 + 420 + 3335, 8387 transitions, 5193 refused, cut: no trouble made in 349 of them
            when: b, then pivot             11 + 630 + 2015, 5794 transitions, 5200 refused, cut: no trouble made in 577 of them
            either: a or b, then c          11 + 466 + 2094, 5643 transitions, 7907 refused, cut: no trouble made in 395 of them
        "#]],
    );
}

#[test]
fn four_steps() {
    explored(
        FOUR,
        1,
        4_000,
        expect![[r#"
        shape                           states by troubles
        a → (b | c) → d                 10 + 762, 1579 transitions, 1283 refused, 2 orders merged
        (a | b) → pivot → d             10 + 573, 1212 transitions, 1000 refused, 2 orders merged
        a → b → c → d                   9 + 763, 1360 transitions, 1154 refused
        a → pivot → (c | d)             10 + 736, 1784 transitions, 867 refused, 2 orders merged
        either: (a or b) → pivot → d    15 + 836, 1557 transitions, 1542 refused
    "#]],
    );
}

fn explored(shapes: &[Shape], troubles: usize, states: usize, expected: Expect) {
    let bounds = if long() {
        Bounds { troubles: troubles + 1, states: usize::MAX, thorough: true }
    } else {
        Bounds { troubles, states, thorough: false }
    };
    let mut table = format!("{:<32}states by troubles\n", "shape");
    for (name, text) in shapes {
        let text = text.replace(';', "\n");
        let own: Vec<&str> = text.lines().filter(|line| line.trim().starts_with("policy")).collect();
        let steps: Vec<&str> = text.lines().filter(|line| !line.trim().starts_with("policy")).collect();
        let plan = plan(&format!("{}\n{POLICIES}{}\n", steps.join("\n"), own.join("\n")));
        let orders = orders(&plan);
        let seen = explore(&plan, &orders, bounds);
        table += &row(name, orders.len(), &seen);
    }
    if long() {
        told(&table);
    } else {
        expected.assert_eq(&table);
    }
}

#[expect(clippy::print_stdout, reason = "the long variant is run by hand, to see its table")]
fn told(table: &str) {
    println!("{table}");
}

fn row(name: &str, orders: usize, seen: &Seen) -> String {
    let levels: Vec<String> = seen.states.iter().map(usize::to_string).collect();
    let mut row = format!("{name:<32}{}", levels.join(" + "));
    let _ = write!(row, ", {} transitions, {} refused", seen.transitions, seen.refused);
    if seen.rest > 0 {
        let _ = write!(row, ", cut: no trouble made in {} of them", seen.rest);
    }
    if orders > 1 {
        let _ = write!(row, ", {orders} orders merged");
    }
    row + "\n"
}

/// The orders of the steps that look the same: the same graph, kinds and ways of settling.
fn orders(plan: &SagaPlan) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for at in 0..plan.steps.len() {
        let longer = |order: &Vec<usize>| {
            let free = (0..plan.steps.len()).filter(|to| !order.contains(to) && alike(plan, at, *to));
            free.map(|to| [order.clone(), vec![to]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

/// Have both steps the same neighbours, and the same declaration? Steps of a branch stay as they are.
fn alike(plan: &SagaPlan, one: usize, other: usize) -> bool {
    let of = |at: usize| {
        let (ix, step) = (amends_core::StepIx(at), &plan.steps[at]);
        let same = (step.kind, step.settle, step.undo, &step.contract);
        (plan.graph.parents(ix).to_vec(), plan.graph.children(ix).to_vec(), format!("{same:?}"))
    };
    one == other || (plan.branches.is_empty() && of(one) == of(other))
}
