//! `RULES.md` is kept true: every test and every file that it names is there, and every rule has a mutation that
//! breaks it, or says why not. The list of mutations is kept true as well, without trying one: see
//! `tests/mutations/README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const RULES: &str = include_str!("../../RULES.md");

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cells of every rule and every choice. A choice names no code.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = RULES.lines().filter(|line| line.starts_with("| "));
    let rules = rows.filter(|row| !row.starts_with("| rule |") && !row.starts_with("| choice |"));
    rules.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect())
}

/// What stands in backticks.
fn named(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split('`').skip(1).step_by(2)
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|of| of == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a source is text")
}

#[test]
fn every_rule_has_its_cells() {
    for row in rows() {
        assert!(matches!(row.len(), 3 | 4), "a rule, its code, its tests and its mutations: {row:?}");
    }
}

#[test]
fn every_test_that_the_rules_name_is_there() {
    let texts: Vec<String> = files(&package().join("tests/it"), "rs").iter().map(|path| text(path)).collect();
    let is_test = |name: &str| {
        let test = format!("#[test]\nfn {name}(");
        let inside = format!("    fn {name}(");
        texts.iter().any(|text| text.contains(&test) || text.contains(&inside))
    };
    let tests: BTreeSet<&str> = rows().flat_map(|row| named(row[row.len() - 2])).collect();
    let missing: Vec<&&str> = tests.iter().filter(|name| !is_test(name)).collect();
    assert!(missing.is_empty(), "RULES.md names tests that are not there: {missing:#?}");
    assert!(tests.len() > 100, "the rules name their tests");
}

#[test]
fn every_file_that_the_rules_name_is_there() {
    for name in rows().filter(|row| row.len() == 4).flat_map(|row| named(row[1])) {
        assert!(package().join("src").join(name).exists(), "RULES.md names {name}, which is not there");
    }
}

#[test]
fn every_rule_names_a_test() {
    for row in rows() {
        assert!(row[row.len() - 2].contains('`'), "no test: {row:?}");
    }
}

/// One section of `tests/mutations/*.md`.
struct Mutation {
    file: String,
    /// The whole lines that it changes, and what they become.
    lines: [String; 2],
    caught: String,
}

/// The list, by name.
fn mutations() -> BTreeMap<String, Mutation> {
    let mut all = BTreeMap::new();
    for path in files(&package().join("tests/mutations"), "md") {
        let page = text(&path);
        for section in page.split("\n## ").skip(1) {
            let (name, rest) = section.split_once('\n').expect("a section has lines");
            let mutation = mutation(rest).unwrap_or_else(|| panic!("{name} is not written as its page says"));
            assert!(all.insert(name.to_owned(), mutation).is_none(), "two mutations are named {name}");
        }
    }
    all
}

fn mutation(section: &str) -> Option<Mutation> {
    let caught = section.lines().find_map(|line| line.strip_prefix("Caught by: "))?.to_owned();
    let (_, diff) = section.split_once("```diff\n--- ")?;
    let (file, diff) = diff.split_once('\n')?;
    let (diff, _) = diff.split_once("```")?;
    let side = |mark| {
        let lines = diff.lines().filter_map(|line| match line.split_at_checked(1) {
            Some((first, rest)) => (first == " " || first == mark).then_some(rest),
            None => Some(""),
        });
        lines.fold(String::from("\n"), |text, line| text + line + "\n")
    };
    Some(Mutation { file: file.to_owned(), lines: [side("-"), side("+")], caught })
}

#[test]
fn every_rule_names_a_mutation_that_is_there_or_says_why_not() {
    let there = mutations();
    for row in rows() {
        let cell = row[row.len() - 1];
        assert!(cell.contains('`') || cell.contains(' '), "no mutation, and no reason: {row:?}");
        let missing: Vec<&str> = named(cell).filter(|name| !there.contains_key(*name)).collect();
        assert!(missing.is_empty(), "RULES.md names mutations that are not there: {missing:?}");
    }
}

#[test]
fn every_mutation_breaks_a_rule() {
    let named: BTreeSet<&str> = rows().flat_map(|row| named(row[row.len() - 1])).collect();
    let unnamed: Vec<String> =
        mutations().into_keys().filter(|name| !named.contains(name.as_str())).collect();
    assert!(unnamed.is_empty(), "no row of RULES.md names {unnamed:?}");
}

#[test]
fn every_mutation_still_has_its_place() {
    for (name, Mutation { file, lines: [old, new], .. }) in mutations() {
        let source = format!("\n{}", text(&package().join(&file)));
        let times = source.matches(&old).count();
        assert_eq!(times, 1, "{name} is stale: its lines stand {times} times in {file}");
        assert_ne!(old, new, "{name} breaks nothing");
    }
}

#[test]
fn every_mutation_was_caught_by_a_test() {
    for (name, Mutation { caught, .. }) in mutations() {
        assert!(caught.starts_with('`'), "{name}: {caught} (run engine/core/tests/mutate --record {name})");
    }
}
