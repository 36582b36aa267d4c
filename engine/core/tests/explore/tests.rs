//! What was seen of each shape. A move that is lost, or a rule that changes, changes the counts.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use crate::left::Left;
use crate::search::{Bounds, Seen, explore};
use crate::shapes::{Shape, all};

/// Each way of settling, each promise of a participant. The first two are complete at every bound.
const ONE: &[(&str, &str)] = &[
    ("a, read", "read a(input)"),
    ("a, by operator", "step a(input) by-operator; policy attempts=1"),
    ("a, window", "step a(input) by-query window=5s; query-policy queries=1"),
    ("a, by query", "step a(input) by-query"),
    ("a, retention", "step a(input) by-query retention=200s keeps-answers undo-by-operator"),
    ("a, by repeating", "step a(input) by-repeating retention=200s; policy exhausted=turn-back"),
    ("a, fence", "step a(input) by-query fence undo-by-repeating"),
    ("a, deadline", "deadline 500s; step a(input) by-operator"),
    ("pivot, window", "pivot a(input) by-query window=5s"),
    ("pivot, repeats", "deadline 500s; pivot a(input) by-repeating"),
    ("when: a", "when g(input); step a(input) by-operator if=g; result g"),
];

const TWO: &[(&str, &str)] = &[
    ("read, b(a)", "read a(input); step b(a) by-query window=5s; policy exhausted=turn-back"),
    ("fences", "step a(input) by-query fence; step b(a) by-operator fence"),
    ("when: a, b", "when g(input); step a(input) by-query if=g; step b(g) by-operator"),
    (
        "either: a, b",
        "either g(input); step a(input) by-query if=g; step b(input) by-repeating unless=g; result g",
    ),
];

const THREE: &[(&str, &str)] = &[
    ("when: b, c!", "step a(input) by-operator; when g(a); step b(a) by-query if=g; pivot c(a,g) by-query"),
    (
        "either: a, b, c",
        "either g(input); step a(input) by-query if=g; step b(input) by-operator unless=g; step c(g) by-query",
    ),
];

const FOUR: &[(&str, &str)] = &[(
    "either: a, b, c! d",
    "either g(input); step a(input) by-query if=g; step b(input) by-query unless=g; \
     pivot c(g) by-repeating; retriable d(c) by-query",
)];

fn read(shapes: &[(&str, &str)]) -> Vec<Shape> {
    shapes.iter().map(|(name, lines)| Shape::read(name, lines)).collect()
}

fn long() -> bool {
    std::env::var("EXPLORE").is_ok_and(|how| how == "long" || how.starts_with("long:"))
}

/// `EXPLORE=long:fence` explores only the shapes whose names hold the word.
fn is_asked_for(shape: &Shape) -> bool {
    let how = std::env::var("EXPLORE").unwrap_or_default();
    how.split_once(':').is_none_or(|(_, word)| shape.name.contains(word))
}

/// The shapes, and the branches of as many steps.
fn with_branches(steps: usize, branches: &[(&str, &str)]) -> Vec<Shape> {
    let mut shapes = all(steps);
    shapes.extend(read(branches));
    shapes
}

fn seen(text: &mut String, shapes: &[Shape], left: Left, visits: usize) {
    for shape in shapes.iter().filter(|shape| is_asked_for(shape)) {
        let bounds = Bounds { left, visits, sample: if long() { 16 } else { 64 }, twins: 0 };
        let row = row(shape, &explore(&shape.plan, &shape.alike, bounds));
        if long() {
            told(&row);
        }
        *text += &row;
    }
}

fn row(shape: &Shape, seen: &Seen) -> String {
    let levels: Vec<String> = seen.states.iter().map(usize::to_string).collect();
    let states: usize = seen.states.iter().sum();
    let mut row = format!("{:<20}{states} states ({})", shape.name, levels.join(" + "));
    let _ = write!(row, ", {} transitions, {} refused", seen.transitions, seen.refused);
    if seen.rest > 0 {
        let _ = write!(row, ", cut: {} more were reached", seen.rest);
    }
    row + "\n"
}

#[expect(clippy::print_stdout, reason = "the long variant is run by hand, to see its table")]
fn told(row: &str) {
    print!("{row}");
}

/// Compares, in the short variant.
fn kept(text: &str, expected: &Expect) {
    if !long() {
        expected.assert_eq(text);
    }
}

/// Every bound of a path, all together, and as many faults as fit in.
#[test]
fn one_step_at_every_bound() {
    let shapes = if long() { read(ONE) } else { read(&ONE[..2]) };
    let mut text = String::new();
    seen(&mut text, &shapes, Left::faults_free(5), if long() { VISITS_MAX } else { usize::MAX });
    kept(
        &text,
        &expect![[r#"
            a, read             219 states (25 + 74 + 88 + 29 + 3 + 0), 6680 transitions, 2820 refused
            a, by operator      63718 states (88 + 1073 + 5946 + 18100 + 25808 + 12703), 2554251 transitions, 446487 refused
        "#]],
    );
}

/// As many faults as fit in, and two of the rest; beside a settle window, which has the most times, one.
#[test]
fn one_step() {
    let mut text = String::new();
    seen(&mut text, &read(&ONE[2..3]), Left::faults_free(1), usize::MAX);
    seen(&mut text, &read(&ONE[3..]), Left::faults_free(2), usize::MAX);
    kept(
        &text,
        &expect![[r#"
            a, window           23958 states (3347 + 20611), 733452 transitions, 90936 refused
            a, by query         74434 states (852 + 9754 + 63828), 2705640 transitions, 294542 refused
            a, retention        29168 states (620 + 5967 + 22581), 902079 transitions, 194512 refused
            a, by repeating     19205 states (460 + 5066 + 13679), 722596 transitions, 172524 refused
            a, fence            33659 states (484 + 6000 + 27175), 1112467 transitions, 187138 refused
            a, deadline         20759 states (614 + 4739 + 15406), 770534 transitions, 155445 refused
            pivot, window       14444 states (468 + 3179 + 10797), 452861 transitions, 43836 refused
            pivot, repeats      2395 states (166 + 696 + 1533), 73365 transitions, 11776 refused
            when: a             7695 states (181 + 1899 + 5615), 259578 transitions, 65040 refused
        "#]],
    );
}

#[test]
fn two_steps() {
    let mut text = String::new();
    let shapes = with_branches(2, TWO);
    seen(&mut text, &shapes, Left::troubles(if long() { 5 } else { 4 }), VISITS_MAX);
    kept(
        &text,
        &expect![[r#"
            a b                 26565 states (6 + 91 + 914 + 6395 + 19159), 730163 transitions, 428057 refused
            a b(a)              24249 states (5 + 83 + 833 + 5679 + 17649), 567383 transitions, 387523 refused
            a! b                4250 states (5 + 59 + 336 + 1274 + 2576), 92578 transitions, 48880 refused
            a b!                6702 states (5 + 64 + 438 + 2032 + 4163), 174732 transitions, 117518 refused
            read, b(a)          12857 states (5 + 66 + 527 + 3306 + 8953), 315302 transitions, 188162 refused
            fences              23609 states (5 + 84 + 837 + 5619 + 17064), 546143 transitions, 382232 refused
            when: a, b          24844 states (9 + 119 + 1012 + 6168 + 17536), 580986 transitions, 429173 refused
            either: a, b        7333 states (7 + 72 + 434 + 1909 + 4911), 142218 transitions, 151799 refused
        "#]],
    );
}

#[test]
fn two_steps_and_their_deadlines() {
    let mut text = String::new();
    let left = Left { deadlines: true, ..Left::troubles(if long() { 4 } else { 3 }) };
    seen(&mut text, &with_branches(2, TWO), left, VISITS_MAX);
    kept(
        &text,
        &expect![[r#"
            a b                 12931 states (12 + 199 + 2262 + 10458), 221281 transitions, 146868 refused
            a b(a)              9109 states (9 + 150 + 1593 + 7357), 138565 transitions, 104880 refused
            a! b                2644 states (9 + 107 + 634 + 1894), 40034 transitions, 22595 refused
            a b!                3152 states (9 + 119 + 841 + 2183), 60131 transitions, 43988 refused
            read, b(a)          4004 states (9 + 93 + 779 + 3123), 64008 transitions, 42470 refused
            fences              8619 states (9 + 150 + 1551 + 6909), 131257 transitions, 102293 refused
            when: a, b          9554 states (15 + 203 + 1823 + 7513), 146975 transitions, 123110 refused
            either: a, b        3811 states (11 + 115 + 749 + 2936), 47296 transitions, 54912 refused
        "#]],
    );
}

#[test]
fn three_steps() {
    let mut text = String::new();
    let shapes = with_branches(3, THREE);
    seen(&mut text, &shapes, Left::troubles(if long() { 4 } else { 3 }), VISITS_MAX);
    kept(
        &text,
        &expect![[r#"
            a b c               20096 states (10 + 201 + 2773 + 17112), 416762 transitions, 272964 refused
            a b(a) c            46207 states (15 + 403 + 6305 + 39484), 849420 transitions, 621981 refused
            a b(a) c(a)         14410 states (8 + 168 + 2208 + 12026), 273896 transitions, 221112 refused
            a b(a) c(b)         11767 states (7 + 145 + 1890 + 9725), 224510 transitions, 188455 refused
            a b c(ab)           12725 states (8 + 158 + 2052 + 10507), 271852 transitions, 204573 refused
            a b(a) c(ab)        12090 states (7 + 150 + 1952 + 9981), 227462 transitions, 194967 refused
            a! b c              3900 states (8 + 116 + 884 + 2892), 94863 transitions, 46608 refused
            a! b c(b)           3222 states (7 + 103 + 741 + 2371), 65325 transitions, 39800 refused
            a b! c              8045 states (7 + 130 + 1340 + 6568), 130654 transitions, 94164 refused
            a b c!              7216 states (8 + 126 + 1282 + 5800), 144964 transitions, 109730 refused
            a b(a) c!           8542 states (7 + 131 + 1443 + 6961), 149954 transitions, 124341 refused
            when: b, c!         11221 states (11 + 194 + 1984 + 9032), 193504 transitions, 172394 refused
            either: a, b, c     10320 states (11 + 173 + 1752 + 8384), 159123 transitions, 182235 refused
        "#]],
    );
}

#[test]
fn four_steps() {
    let mut text = String::new();
    let (troubles, visits) = if long() { (3, VISITS_MAX) } else { (2, 4_000) };
    seen(&mut text, &with_branches(4, FOUR), Left::troubles(troubles), visits);
    kept(
        &text,
        &expect![[r#"
            a b c d             4001 states (15 + 384 + 3602), 62204 transitions, 49830 refused, cut: 7508 more were reached
            a b(a) c d          4002 states (30 + 1124 + 2848), 128129 transitions, 144758 refused, cut: 47402 more were reached
            a b(a) c(a) d       4002 states (24 + 864 + 3114), 98199 transitions, 111675 refused, cut: 31332 more were reached
            a b(a) c(b) d       4001 states (21 + 678 + 3302), 78346 transitions, 88447 refused, cut: 19677 more were reached
            a b c(ab) d         4001 states (24 + 856 + 3121), 98314 transitions, 111041 refused, cut: 31997 more were reached
            a b(a) c(ab) d      4002 states (21 + 743 + 3238), 81806 transitions, 96520 refused, cut: 23431 more were reached
            a b(a) c(a) d(a)    4002 states (12 + 330 + 3660), 53251 transitions, 43119 refused, cut: 1776 more were reached
            a b c(b) d(a)       4001 states (25 + 913 + 3063), 99439 transitions, 118592 refused, cut: 31053 more were reached
            a b(a) c(b) d(a)    4001 states (17 + 572 + 3412), 68342 transitions, 74467 refused, cut: 14929 more were reached
            a b c(ab) d(a)      4001 states (21 + 694 + 3286), 80024 transitions, 90439 refused, cut: 20897 more were reached
            a b(a) c(ab) d(a)   4002 states (17 + 563 + 3422), 68411 transitions, 73423 refused, cut: 14067 more were reached
            a b(a) c(b) d(b)    3243 states (10 + 264 + 2969), 38062 transitions, 34785 refused
            a b(a) c(ab) d(b)   4001 states (13 + 388 + 3600), 53115 transitions, 50775 refused, cut: 4938 more were reached
            a b c(ab) d(ab)     2859 states (11 + 251 + 2597), 36929 transitions, 33269 refused
            a b(a) c(ab) d(ab)  3243 states (10 + 264 + 2969), 38044 transitions, 34785 refused
            a b(a) c(b) d(c)    2720 states (9 + 226 + 2485), 30552 transitions, 29971 refused
            a b c(ab) d(c)      2629 states (10 + 233 + 2386), 32889 transitions, 30953 refused
            a b(a) c(ab) d(c)   2939 states (9 + 234 + 2696), 31646 transitions, 30965 refused
            a b c(b) d(ac)      4001 states (17 + 506 + 3478), 58234 transitions, 66445 refused, cut: 10250 more were reached
            a b(a) c(b) d(ac)   2802 states (9 + 230 + 2563), 31011 transitions, 30483 refused
            a b c(ab) d(ac)     4001 states (13 + 359 + 3629), 45175 transitions, 47324 refused, cut: 3081 more were reached
            a b(a) c(ab) d(ac)  2720 states (9 + 226 + 2485), 30608 transitions, 29971 refused
            a b(a) c(a) d(bc)   3238 states (10 + 254 + 2974), 36369 transitions, 33534 refused
            a b(a) c(b) d(bc)   2939 states (9 + 234 + 2696), 31617 transitions, 30965 refused
            a b(a) c(ab) d(bc)  2720 states (9 + 226 + 2485), 30608 transitions, 29971 refused
            a b c d(abc)        3897 states (12 + 309 + 3576), 49862 transitions, 40605 refused
            a b(a) c d(abc)     4001 states (17 + 532 + 3452), 59946 transitions, 69743 refused, cut: 11774 more were reached
            a b(a) c(a) d(abc)  2713 states (10 + 241 + 2462), 34311 transitions, 31967 refused
            a b(a) c(b) d(abc)  2802 states (9 + 230 + 2563), 31003 transitions, 30483 refused
            a b c(ab) d(abc)    3243 states (10 + 248 + 2985), 35186 transitions, 32751 refused
            a b(a) c(ab) d(abc) 2720 states (9 + 226 + 2485), 30615 transitions, 29971 refused
            a! b c d            1967 states (12 + 232 + 1723), 31118 transitions, 15134 refused
            a! b c(b) d         3338 states (17 + 383 + 2938), 46174 transitions, 25298 refused
            a! b c(b) d(b)      1385 states (10 + 182 + 1193), 21280 transitions, 12183 refused
            a! b c(b) d(c)      1150 states (9 + 161 + 980), 16505 transitions, 10953 refused
            a! b c d(bc)        1185 states (10 + 165 + 1010), 17445 transitions, 11220 refused
            a! b c(b) d(bc)     1084 states (9 + 157 + 918), 16111 transitions, 10700 refused
            a b! c d            1715 states (10 + 196 + 1509), 24066 transitions, 16563 refused
            a b! c d(c)         1938 states (9 + 198 + 1731), 22173 transitions, 16648 refused
            a b c! d            1550 states (10 + 174 + 1366), 20515 transitions, 17639 refused
            a b(a) c! d         2095 states (9 + 201 + 1885), 24134 transitions, 20228 refused
            a b c d!            4001 states (12 + 299 + 3690), 44765 transitions, 34117 refused, cut: 647 more were reached
            a b(a) c d!         4001 states (17 + 487 + 3497), 53991 transitions, 56029 refused, cut: 8085 more were reached
            a b(a) c(a) d!      2679 states (10 + 231 + 2438), 30473 transitions, 26814 refused
            a b(a) c(b) d!      2342 states (9 + 213 + 2120), 26291 transitions, 24826 refused
            a b c(ab) d!        2089 states (10 + 200 + 1879), 25565 transitions, 23423 refused
            a b(a) c(ab) d!     2271 states (9 + 209 + 2053), 25832 transitions, 24407 refused
            either: a, b, c! d  2190 states (15 + 258 + 1917), 23576 transitions, 26347 refused
        "#]],
    );
}

/// Two states with one key are one to the search: what follows from the one follows from the other.
#[test]
fn states_with_the_same_key_go_on_alike() {
    let mut text = String::new();
    let mut compare = |shapes: &[Shape], twins, left| {
        for shape in shapes {
            let bounds = Bounds { left, visits: usize::MAX, sample: usize::MAX, twins };
            let seen = explore(&shape.plan, &shape.alike, bounds);
            let _ = writeln!(text, "{:<20}{} pairs", shape.name, seen.twins);
        }
    };
    let (more, few) = if long() { (1, 1) } else { (0, 16) };
    compare(&read(&ONE[..2]), few, Left::faults_free(2 + more));
    compare(&read(&ONE[2..3]), few, Left::faults_free(more));
    compare(&read(&ONE[3..]), few, Left::faults_free(1 + more));
    compare(&with_branches(2, TWO), 2, Left::troubles(3 + more));
    compare(&with_branches(2, TWO), 2, Left { deadlines: true, ..Left::troubles(2 + more) });
    kept(
        &text,
        &expect![[r#"
            a, read             12 pairs
            a, by operator      1834 pairs
            a, window           1359 pairs
            a, by query         2518 pairs
            a, retention        1067 pairs
            a, by repeating     700 pairs
            a, fence            1654 pairs
            a, deadline         1312 pairs
            pivot, window       945 pairs
            pivot, repeats      281 pairs
            when: a             400 pairs
            a b                 754 pairs
            a b(a)              1023 pairs
            a! b                525 pairs
            a b!                402 pairs
            read, b(a)          435 pairs
            fences              1136 pairs
            when: a, b          1152 pairs
            either: a, b        444 pairs
            a b                 205 pairs
            a b(a)              79 pairs
            a! b                67 pairs
            a b!                29 pairs
            read, b(a)          44 pairs
            fences              86 pairs
            when: a, b          106 pairs
            either: a, b        54 pairs
        "#]],
    );
}

/// Beyond so many explored states even the long variant is cut: they need some gigabytes.
const VISITS_MAX: usize = 1_000_000;
