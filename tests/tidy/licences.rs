//! Licences: ours lie beside the code, and those of others go together with ours.

use std::process::Command;

use cargo_metadata::MetadataCommand;

use super::{complains, no_complaints, top};

/// Licences of dependencies that ask for no more than their notice.
const ACCEPTED: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
];

/// Whether one may choose accepted licences only. An `OR` needs one side, an `AND` both.
fn acceptable(expression: &str) -> bool {
    let expression = expression.trim();
    if let Some(position) = outermost(expression, " OR ").or_else(|| outermost(expression, "/")) {
        return acceptable(&expression[..position.0]) || acceptable(&expression[position.1..]);
    }
    if let Some(position) = outermost(expression, " AND ") {
        return acceptable(&expression[..position.0]) && acceptable(&expression[position.1..]);
    }
    let inside = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inside.map_or_else(|| ACCEPTED.contains(&expression), acceptable)
}

/// Where an operator stands outside all parentheses: its begin and its end.
fn outermost(expression: &str, operator: &str) -> Option<(usize, usize)> {
    let outside =
        |at: &usize| expression[..*at].matches('(').count() == expression[..*at].matches(')').count();
    let at = expression.match_indices(operator).map(|(at, _)| at).find(outside)?;
    Some((at, at + operator.len()))
}

fn unacceptable(packages: &[(String, Option<String>)]) -> Vec<String> {
    let judge = |(name, licence): &(String, Option<String>)| match licence {
        Some(expression) if acceptable(expression) => None,
        Some(expression) => {
            Some(format!("`{name}` is under `{expression}`; choose another crate, or argue for the licence"))
        }
        None => Some(format!("`{name}` names no licence; choose another crate")),
    };
    packages.iter().filter_map(judge).collect()
}

/// The platform we build on: crates of other platforms need not have been downloaded.
fn host() -> String {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc is installed beside cargo");
    let version = String::from_utf8(version.stdout).expect("rustc speaks UTF-8");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc -vV names its host").to_owned()
}

#[test]
fn every_dependency_has_an_accepted_licence() {
    let metadata = MetadataCommand::new()
        .manifest_path(top().join("Cargo.toml"))
        .other_options(["--offline".to_owned(), "--filter-platform".to_owned(), host()])
        .exec()
        .expect("cargo can list the dependencies it just built");
    let packages =
        metadata.packages.iter().map(|p| (p.name.to_string(), p.license.clone())).collect::<Vec<_>>();
    assert!(packages.len() > 20, "the dependencies are listed too");
    no_complaints(&unacceptable(&packages));
}

#[test]
fn a_dependency_without_an_accepted_licence_is_named() {
    let package = |name: &str, licence: Option<&str>| (name.to_owned(), licence.map(str::to_owned));
    let packages = [
        package("a", Some("MIT OR GPL-3.0-only")),
        package("b", Some("(MIT OR Apache-2.0) AND Unicode-3.0")),
        package("c", Some("MIT/Apache-2.0")),
        package("d", Some("MIT AND GPL-3.0-only")),
        package("e", Some("(GPL-2.0 OR AGPL-3.0) AND MIT")),
        package("f", None),
    ];
    complains(&unacceptable(&packages), &["`d` is under", "`e` is under", "`f` names no licence"]);
}

#[test]
fn both_licence_texts_lie_at_the_top() {
    for (file, first_words) in [("LICENSE-MIT", "MIT License"), ("LICENSE-APACHE", "Apache License")] {
        let text = std::fs::read_to_string(top().join(file)).unwrap_or_default();
        assert!(text.trim_start().starts_with(first_words), "{file} holds the text of that licence");
    }
}
