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
    std::env::var("EXPLORE").is_ok_and(|how| how == "long")
}

/// The shapes, and the branches of as many steps.
fn with_branches(steps: usize, branches: &[(&str, &str)]) -> Vec<Shape> {
    let mut shapes = all(steps);
    shapes.extend(read(branches));
    shapes
}

fn seen(text: &mut String, shapes: &[Shape], left: Left, visits: usize) {
    for shape in shapes {
        let bounds = Bounds { left, visits, sample: if long() { 16 } else { 64 } };
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
        a, by operator      61652 states (88 + 1073 + 5946 + 18047 + 24775 + 11723), 2514119 transitions, 443185 refused
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
            a, window           15538 states (2340 + 13198), 474721 transitions, 63378 refused
            a, by query         73186 states (852 + 9754 + 62580), 2679392 transitions, 294542 refused
            a, retention        28244 states (620 + 5967 + 21657), 886340 transitions, 194512 refused
            a, by repeating     18170 states (460 + 5066 + 12644), 703817 transitions, 172524 refused
            a, fence            31812 states (484 + 6000 + 25328), 1071865 transitions, 187138 refused
            a, deadline         19435 states (614 + 4739 + 14082), 745368 transitions, 155445 refused
            pivot, window       6636 states (281 + 1623 + 4732), 202885 transitions, 22333 refused
            pivot, repeats      2395 states (166 + 696 + 1533), 73365 transitions, 11776 refused
            when: a             7392 states (181 + 1899 + 5312), 255004 transitions, 65040 refused
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
            a b                 26524 states (6 + 91 + 914 + 6387 + 19126), 728719 transitions, 428082 refused
            a b(a)              24245 states (5 + 83 + 833 + 5679 + 17645), 567915 transitions, 387523 refused
            a! b                4024 states (5 + 59 + 331 + 1217 + 2412), 89337 transitions, 46988 refused
            a b!                6700 states (5 + 64 + 438 + 2032 + 4161), 174881 transitions, 117518 refused
            read, b(a)          12073 states (5 + 65 + 513 + 3179 + 8311), 303219 transitions, 180996 refused
            fences              23557 states (5 + 84 + 837 + 5619 + 17012), 546619 transitions, 382232 refused
            when: a, b          24838 states (9 + 119 + 1012 + 6168 + 17530), 581569 transitions, 429173 refused
            either: a, b        7329 states (7 + 72 + 434 + 1909 + 4907), 142362 transitions, 151799 refused
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
            a b                 10886 states (12 + 189 + 2005 + 8680), 193972 transitions, 131232 refused
            a b(a)              7660 states (9 + 142 + 1446 + 6063), 124056 transitions, 95210 refused
            a! b                2051 states (9 + 101 + 541 + 1400), 33625 transitions, 19534 refused
            a b!                2842 states (9 + 115 + 787 + 1931), 55571 transitions, 41134 refused
            read, b(a)          3529 states (9 + 89 + 729 + 2702), 59810 transitions, 39748 refused
            fences              7488 states (9 + 144 + 1441 + 5894), 121044 transitions, 94985 refused
            when: a, b          8316 states (15 + 195 + 1693 + 6413), 135315 transitions, 114338 refused
            either: a, b        2971 states (11 + 107 + 642 + 2211), 39687 transitions, 47703 refused
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
            a b c               20096 states (10 + 201 + 2773 + 17112), 416726 transitions, 273000 refused
            a b(a) c            46207 states (15 + 403 + 6305 + 39484), 849561 transitions, 621981 refused
            a b(a) c(a)         14410 states (8 + 168 + 2208 + 12026), 273888 transitions, 221161 refused
            a b(a) c(b)         11767 states (7 + 145 + 1890 + 9725), 224651 transitions, 188455 refused
            a b c(ab)           12725 states (8 + 158 + 2052 + 10507), 271939 transitions, 204573 refused
            a b(a) c(ab)        12090 states (7 + 150 + 1952 + 9981), 227603 transitions, 194967 refused
            a! b c              3900 states (8 + 116 + 884 + 2892), 94689 transitions, 46701 refused
            a! b c(b)           3222 states (7 + 103 + 741 + 2371), 65325 transitions, 39800 refused
            a b! c              7923 states (7 + 130 + 1331 + 6455), 130025 transitions, 93606 refused
            a b c!              7216 states (8 + 126 + 1282 + 5800), 145009 transitions, 109730 refused
            a b(a) c!           8503 states (7 + 131 + 1441 + 6924), 149896 transitions, 124187 refused
            when: b, c!         11108 states (11 + 194 + 1976 + 8927), 192857 transitions, 171778 refused
            either: a, b, c     10320 states (11 + 173 + 1752 + 8384), 159255 transitions, 182235 refused
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
        a b c d             4001 states (15 + 384 + 3602), 62203 transitions, 49831 refused, cut: 7509 more were reached
        a b(a) c d          4002 states (30 + 1124 + 2848), 128116 transitions, 144771 refused, cut: 47395 more were reached
        a b(a) c(a) d       4002 states (24 + 864 + 3114), 98199 transitions, 111675 refused, cut: 31338 more were reached
        a b(a) c(b) d       4001 states (21 + 678 + 3302), 78346 transitions, 88447 refused, cut: 19685 more were reached
        a b c(ab) d         4001 states (24 + 856 + 3121), 98314 transitions, 111041 refused, cut: 32003 more were reached
        a b(a) c(ab) d      4002 states (21 + 743 + 3238), 81806 transitions, 96520 refused, cut: 23439 more were reached
        a b(a) c(a) d(a)    4002 states (12 + 330 + 3660), 53240 transitions, 43125 refused, cut: 1780 more were reached
        a b c(b) d(a)       4001 states (25 + 913 + 3063), 99439 transitions, 118592 refused, cut: 31061 more were reached
        a b(a) c(b) d(a)    4001 states (17 + 572 + 3412), 68342 transitions, 74467 refused, cut: 14937 more were reached
        a b c(ab) d(a)      4001 states (21 + 694 + 3286), 80024 transitions, 90439 refused, cut: 20905 more were reached
        a b(a) c(ab) d(a)   4002 states (17 + 563 + 3422), 68411 transitions, 73423 refused, cut: 14075 more were reached
        a b(a) c(b) d(b)    3243 states (10 + 264 + 2969), 38063 transitions, 34788 refused
        a b(a) c(ab) d(b)   4001 states (13 + 388 + 3600), 53115 transitions, 50775 refused, cut: 4946 more were reached
        a b c(ab) d(ab)     2859 states (11 + 251 + 2597), 36931 transitions, 33270 refused
        a b(a) c(ab) d(ab)  3243 states (10 + 264 + 2969), 38045 transitions, 34788 refused
        a b(a) c(b) d(c)    2720 states (9 + 226 + 2485), 30560 transitions, 29971 refused
        a b c(ab) d(c)      2629 states (10 + 233 + 2386), 32895 transitions, 30953 refused
        a b(a) c(ab) d(c)   2939 states (9 + 234 + 2696), 31654 transitions, 30965 refused
        a b c(b) d(ac)      4001 states (17 + 506 + 3478), 58234 transitions, 66445 refused, cut: 10258 more were reached
        a b(a) c(b) d(ac)   2802 states (9 + 230 + 2563), 31019 transitions, 30483 refused
        a b c(ab) d(ac)     4001 states (13 + 359 + 3629), 45175 transitions, 47324 refused, cut: 3089 more were reached
        a b(a) c(ab) d(ac)  2720 states (9 + 226 + 2485), 30616 transitions, 29971 refused
        a b(a) c(a) d(bc)   3238 states (10 + 254 + 2974), 36375 transitions, 33534 refused
        a b(a) c(b) d(bc)   2939 states (9 + 234 + 2696), 31625 transitions, 30965 refused
        a b(a) c(ab) d(bc)  2720 states (9 + 226 + 2485), 30616 transitions, 29971 refused
        a b c d(abc)        3897 states (12 + 309 + 3576), 49866 transitions, 40605 refused
        a b(a) c d(abc)     4001 states (17 + 532 + 3452), 59946 transitions, 69743 refused, cut: 11782 more were reached
        a b(a) c(a) d(abc)  2713 states (10 + 241 + 2462), 34317 transitions, 31967 refused
        a b(a) c(b) d(abc)  2802 states (9 + 230 + 2563), 31011 transitions, 30483 refused
        a b c(ab) d(abc)    3243 states (10 + 248 + 2985), 35192 transitions, 32751 refused
        a b(a) c(ab) d(abc) 2720 states (9 + 226 + 2485), 30623 transitions, 29971 refused
        a! b c d            1967 states (12 + 232 + 1723), 31102 transitions, 15143 refused
        a! b c(b) d         3336 states (17 + 383 + 2936), 46172 transitions, 25298 refused
        a! b c(b) d(b)      1385 states (10 + 182 + 1193), 21270 transitions, 12189 refused
        a! b c(b) d(c)      1150 states (9 + 161 + 980), 16505 transitions, 10953 refused
        a! b c d(bc)        1183 states (10 + 165 + 1008), 17443 transitions, 11220 refused
        a! b c(b) d(bc)     1084 states (9 + 157 + 918), 16111 transitions, 10700 refused
        a b! c d            1715 states (10 + 196 + 1509), 24076 transitions, 16564 refused
        a b! c d(c)         1930 states (9 + 198 + 1723), 22170 transitions, 16648 refused
        a b c! d            1550 states (10 + 174 + 1366), 20521 transitions, 17639 refused
        a b(a) c! d         2091 states (9 + 201 + 1881), 24139 transitions, 20228 refused
        a b c d!            4001 states (12 + 299 + 3690), 44767 transitions, 34117 refused, cut: 648 more were reached
        a b(a) c d!         4001 states (17 + 487 + 3497), 53991 transitions, 56029 refused, cut: 8091 more were reached
        a b(a) c(a) d!      2677 states (10 + 231 + 2436), 30474 transitions, 26814 refused
        a b(a) c(b) d!      2338 states (9 + 213 + 2116), 26292 transitions, 24826 refused
        a b c(ab) d!        2087 states (10 + 200 + 1877), 25566 transitions, 23423 refused
        a b(a) c(ab) d!     2269 states (9 + 209 + 2051), 25835 transitions, 24407 refused
        either: a, b, c! d  2182 states (15 + 258 + 1909), 23574 transitions, 26347 refused
    "#]],
    );
}

/// Beyond so many explored states even the long variant is cut: they need some gigabytes.
const VISITS_MAX: usize = 1_000_000;
