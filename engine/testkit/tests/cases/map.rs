//! `tests/cases.md` names tests that exist, and leaves no case out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of `cases.md`: the links of the page begin there.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// What is wrong with the page. `read` gives the text of a linked file, if there is one.
fn complaints(page: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut listed: BTreeMap<String, u32> = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| G")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [case, symptom, tests, later] = cells[..] else {
            complaints.push(format!("`{line}` has not four cells"));
            continue;
        };
        *listed.entry(case.to_owned()).or_default() += 1;
        if symptom.is_empty() || (tests.is_empty() && later.is_empty()) {
            complaints.push(format!("{case} has no symptom, or neither a test nor an issue"));
        }
        for link in tests.split("<br>").filter(|link| !link.is_empty()) {
            complaints.extend(wrong_link(link, &read).map(|wrong| format!("{case}: {wrong}")));
        }
    }
    for case in (1..=34).map(|n| format!("G{n:02}")) {
        match listed.remove(&case) {
            Some(1) => {}
            Some(times) => complaints.push(format!("{case} is listed {times} times")),
            None => complaints.push(format!("{case} is not listed")),
        }
    }
    complaints.extend(listed.into_keys().map(|case| format!("{case} is no case")));
    complaints
}

/// A link is written ``[`name`](path)``, and the file holds a function of that name.
fn wrong_link(link: &str, read: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let parts = link.strip_prefix("[`").and_then(|rest| rest.strip_suffix(")")?.split_once("`]("));
    let Some((name, path)) = parts else {
        return Some(format!("`{link}` is not a link to a test"));
    };
    let Some(text) = read(path) else {
        return Some(format!("there is no file {path}"));
    };
    let defined = text.contains(&format!("fn {name}("));
    (!defined).then(|| format!("{path} has no test `{name}`"))
}

#[test]
fn every_case_is_listed_and_every_test_named_for_one_exists() {
    let page = fs::read_to_string(folder().join("cases.md")).expect("the page is there");
    let complaints = complaints(&page, |path| fs::read_to_string(folder().join(path)).ok());
    assert!(complaints.is_empty(), "tests/cases.md: {complaints:#?}");
}

#[test]
fn a_page_that_leaves_something_out_is_told() {
    let mut page: String = (1..=33).map(|n| format!("| G{n:02} | symptom | | issue 4 |\n")).collect();
    page += "| G01 | again | [`gone`](it.rs)<br>[`here`](it.rs)<br>[`x`](no.rs)<br>x | |\n| G35 | | | |\n";
    let read = |path: &str| (path == "it.rs").then(|| "fn here() {}".to_owned());
    let told = complaints(&page, read);
    let expected = [
        "G01: it.rs has no test `gone`",
        "G01: there is no file no.rs",
        "G01: `x` is not a link to a test",
        "G35 has no symptom, or neither a test nor an issue",
        "G01 is listed 2 times",
        "G34 is not listed",
        "G35 is no case",
    ];
    assert_eq!(told, expected);
}
