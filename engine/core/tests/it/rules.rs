//! `RULES.md` is kept true: every test and every file that it names is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const RULES: &str = include_str!("../../RULES.md");

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What stands in backticks in the rows of the tables.
fn named() -> BTreeSet<&'static str> {
    let rows = RULES.lines().filter(|line| line.starts_with("| "));
    rows.flat_map(|row| row.split('`').skip(1).step_by(2)).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_test_that_the_rules_name_is_there() {
    let mut files = Vec::new();
    sources(&package().join("tests/it"), &mut files);
    let texts: Vec<String> =
        files.iter().map(|path| std::fs::read_to_string(path).expect("a source is text")).collect();
    let is_test = |name: &str| {
        let test = format!("#[test]\nfn {name}(");
        let inside = format!("    fn {name}(");
        texts.iter().any(|text| text.contains(&test) || text.contains(&inside))
    };
    let tests: Vec<&str> = named().into_iter().filter(|name| !name.contains(".rs")).collect();
    let missing: Vec<&&str> = tests.iter().filter(|name| !is_test(name)).collect();
    assert!(missing.is_empty(), "RULES.md names tests that are not there: {missing:#?}");
    assert!(tests.len() > 100, "the rules name their tests");
}

#[test]
fn every_file_that_the_rules_name_is_there() {
    for name in named().into_iter().filter(|name| name.ends_with(".rs")) {
        assert!(package().join("src").join(name).exists(), "RULES.md names {name}, which is not there");
    }
}

#[test]
fn every_rule_names_a_test() {
    for row in RULES.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| rule")) {
        let named = row.rsplit(" | ").next().is_some_and(|tests| tests.contains('`'));
        assert!(named || row.starts_with("| choice"), "no test: {row}");
    }
}
