//! Names: the words of the literature, and none that name nothing.

use super::rust_text::{line_of, words};
use super::{File, complains, no_complaints, tracked};

/// Words that say nothing about what they name: not in files, folders or definitions.
const EMPTY: &[&str] =
    &["util", "utils", "helper", "helpers", "manager", "managers", "common", "misc", "stuff"];

/// Words that name another thing than we have: not in types, files or folders. In brackets, the word to use.
const FOREIGN: &[(&str, &str)] = &[
    ("job", "saga or step"),
    ("jobs", "sagas or steps"),
    ("task", "step or attempt"),
    ("tasks", "steps or attempts"),
    ("rollback", "turning back, or compensation"),
    ("abort", "turning back, or cancel"),
    ("stuck", "quarantine, or the reason why it waits"),
];

/// Types that bear a foreign word all the same: file, name, and why none of ours fits.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "engine/core/src/agenda.rs",
    "Task",
    "what the runtime may do now is neither a step nor an attempt: it may start one, ask about one or stop one",
)];

/// What introduces the name of a definition, and whether that is a type.
const DEFINITIONS: &[(&str, bool)] =
    &[("struct", true), ("enum", true), ("trait", true), ("type", true), ("mod", false), ("fn", false)];

/// The words of a name, in lower case: `RetryBudget`, `retry_budget` and `retry-budget` have two.
fn split(name: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut before_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before_lower) {
            found.push(String::new());
        }
        if c.is_alphanumeric() {
            found.last_mut().expect("there is always a word").extend(c.to_lowercase());
        }
        before_lower = c.is_lowercase();
    }
    found.retain(|word| !word.is_empty());
    found
}

fn fault(name: &str, is_type: bool) -> Option<String> {
    split(name).iter().find_map(|word| {
        if EMPTY.contains(&word.as_str()) {
            return Some(format!("`{name}`: `{word}` names nothing; say what it does or holds"));
        }
        let (_, ours) = FOREIGN.iter().filter(|_| is_type).find(|(foreign, _)| foreign == word)?;
        Some(format!("`{name}`: `{word}` is not our word; say {ours}"))
    })
}

fn badly_named_files(files: &[File]) -> Vec<String> {
    let judge = |file: &File| {
        let fault = file.path.split('/').find_map(|part| fault(part, true))?;
        Some(format!("{}: {fault}", file.path))
    };
    files.iter().filter_map(judge).collect()
}

fn badly_named_definitions(files: &[File], exceptions: &[(&str, &str, &str)]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut unused = exceptions.to_vec();
    for file in files.iter().filter(|file| file.is_rust()) {
        let code = file.code();
        for (keyword, is_type) in DEFINITIONS {
            for at in words(&code, keyword) {
                let after = code[at + keyword.len()..].trim_start();
                let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
                let name = &after[..end];
                let Some(fault) = fault(name, *is_type) else { continue };
                if exceptions.iter().any(|(path, excepted, _)| *path == file.path && *excepted == name) {
                    unused.retain(|(path, excepted, _)| *path != file.path || *excepted != name);
                } else {
                    complaints.push(format!("{}:{}: {fault}", file.path, line_of(&code, at)));
                }
            }
        }
    }
    complaints.extend(
        unused.iter().map(|(path, name, _)| format!("{path}: no `{name}` any more; drop its exception")),
    );
    complaints
}

#[test]
fn files_and_folders_are_named_for_what_they_hold() {
    no_complaints(&badly_named_files(&tracked()));
}

#[test]
fn definitions_use_the_words_of_the_house() {
    no_complaints(&badly_named_definitions(&tracked(), EXCEPTIONS));
}

#[test]
fn a_file_named_for_nothing_is_named() {
    let files =
        ["src/util.rs", "tests/common/mod.rs", "src/retry_helpers.rs", "src/job.rs", "src/community.rs"];
    let files = files.map(|path| File::sample(path, ""));
    complains(
        &badly_named_files(&files),
        &["src/util.rs", "`common` names", "`helpers`", "say saga or step"],
    );
}

#[test]
fn a_definition_named_for_nothing_is_named() {
    let source = "/// A struct LeaseManager {}\nstruct LeaseManager;\nfn abort() {}\nenum JobState {}\nmod db_util {}\n";
    let files = [File::sample("a.rs", source), File::sample("a.md", source)];
    let expected = ["a.rs:2: `LeaseManager`", "a.rs:4: `JobState`", "a.rs:5: `db_util`"];
    complains(&badly_named_definitions(&files, &[]), &expected);
    let exceptions = [("a.rs", "JobState", "why"), ("b.rs", "JobState", "why")];
    let expected = [expected[0], expected[2], "b.rs: no `JobState` any more; drop its exception"];
    complains(&badly_named_definitions(&files, &exceptions), &expected);
}
