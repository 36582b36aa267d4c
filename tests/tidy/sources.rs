//! Sources: how long they are, what does not stand in them, what shape some of them have.

use super::rust_text::{line_of, words};
use super::{File, complains, no_complaints, tracked};

/// Lines of a Rust file: of a test, and of any other.
const LINES_MAX_TEST: usize = 1000;
const LINES_MAX: usize = 600;

/// What stands for work that was not done, and what to do instead. Looked for in code.
const UNFINISHED: &[(&str, &str)] = &[
    ("#[ignore", "a test runs or does not exist"),
    ("todo!", "finish it, or leave it out and say so in ARCHITECTURE.md"),
    ("unimplemented!", "finish it, or leave it out and say so in ARCHITECTURE.md"),
    ("dbg!", "use `tracing`, or an assertion"),
];

/// Paths of one machine, in two halves so that this file does not hold them.
const MACHINE_PATHS: &[(&str, &str)] =
    &[("/wo", "rk/"), ("/tmp", "/wt"), ("/ro", "ot/"), ("/ho", "me/"), ("/Us", "ers/")];

/// The folder whose code is a function of its arguments, and what it therefore never names.
const PURE: &str = "engine/core/src/";
const IMPURE: &[&str] = &[
    "SystemTime",
    "Instant",
    "tokio",
    "fastrand",
    "std::fs",
    "std::net",
    "std::env",
    "std::io",
    "std::process",
    "std::thread",
];
/// The same modules where `use std::{…}` names them without their crate.
const IMPURE_IN_GROUP: &[&str] = &["fs", "net", "env", "io", "process", "thread"];

fn is_test(path: &str) -> bool {
    let mut folders = path.split('/').rev();
    let name = folders.next().unwrap_or_default();
    name == "tests.rs"
        || name.ends_with("_tests.rs")
        || folders.any(|folder| matches!(folder, "tests" | "ui"))
}

fn too_long(files: &[File]) -> Vec<String> {
    let judge = |file: &File| {
        let (lines, max) =
            (file.text.lines().count(), if is_test(&file.path) { LINES_MAX_TEST } else { LINES_MAX });
        let (path, over) = (&file.path, lines > max);
        over.then(|| format!("{path}: {lines} lines, at most {max}; split it by phase or by command, control flow in the parent"))
    };
    files.iter().filter(|file| file.is_rust()).filter_map(judge).collect()
}

fn unfinished(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let (path, code) = (&file.path, file.code());
        for (mark, instead) in UNFINISHED {
            for (at, _) in code.match_indices(mark) {
                complaints.push(format!("{path}:{}: `{mark}`; {instead}", line_of(&code, at)));
            }
        }
        for (index, line) in file.text.lines().enumerate() {
            let doc = line.trim_start().strip_prefix("///").or_else(|| line.trim_start().strip_prefix("//!"));
            let fence = doc.and_then(|doc| doc.trim_start().strip_prefix("```"));
            if fence.is_some_and(|fence| fence.split(',').any(|word| word.trim() == "ignore")) {
                complaints.push(format!(
                    "{path}:{}: an ignored example; make it compile, or call it `text`",
                    index + 1
                ));
            }
        }
    }
    complaints
}

fn machine_paths(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for path in MACHINE_PATHS.iter().map(|(start, end)| format!("{start}{end}")) {
            for (at, _) in file.text.match_indices(&path) {
                let line = line_of(&file.text, at);
                complaints.push(format!(
                    "{}:{line}: `{path}` exists on one machine only; say it relatively",
                    file.path
                ));
            }
        }
    }
    complaints
}

fn impure(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.path.starts_with(PURE)) {
        let code = file.code();
        let mut named: Vec<_> =
            IMPURE.iter().flat_map(|word| words(&code, word).map(move |at| (at, *word))).collect();
        for (start, opening) in code.match_indices("std::{") {
            let group = &code[start + opening.len()..];
            let group = &group[..group.find(';').unwrap_or(group.len())];
            for word in IMPURE_IN_GROUP.iter().filter(|word| {
                group.split([',', '{', '}']).any(|item| item.trim().split("::").next() == Some(word))
            }) {
                named.push((start, word));
            }
        }
        named.sort_unstable();
        complaints.extend(named.into_iter().map(|(at, word)| {
            let line = line_of(&code, at);
            format!("{}:{line}: the core is a function and does not know `{word}`; take what it yields as an argument", file.path)
        }));
    }
    complaints
}

/// In each `lib.rs`, every item that is not a `mod` or a `pub use`.
fn crowded_roots(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with("src/lib.rs")) {
        let code = file.code();
        for (at, item) in other_items(&code, 0) {
            let line = line_of(&code, at);
            complaints.push(format!(
                "{}:{line}: a lib.rs holds docs, `mod` and `pub use`; move `{item} …` into a module",
                file.path
            ));
        }
    }
    complaints
}

/// The items from `base` on that are neither modules nor re-exports: where, and how they begin.
fn other_items(code: &str, base: usize) -> Vec<(usize, String)> {
    let mut others = Vec::new();
    let mut at = 0;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        let item = &code[at..];
        if item.is_empty() {
            return others;
        }
        if item.starts_with('#') {
            at += balanced(item, item.find('[').unwrap_or(0));
            continue;
        }
        let public = item.starts_with("pub");
        let plain = item.strip_prefix("pub").map_or(item, |rest| rest.trim_start());
        let plain =
            if public && plain.starts_with('(') { plain[balanced(plain, 0)..].trim_start() } else { plain };
        let end = item.find([';', '{']).unwrap_or(item.len() - 1);
        let keyword = plain.split(|c: char| !c.is_alphanumeric() && c != '_').next();
        if public && keyword == Some("use") {
            at += item.find(';').map_or(item.len(), |end| end + 1);
        } else if keyword == Some("mod") && item[end..].starts_with('{') {
            let length = balanced(item, end);
            others.extend(other_items(&item[end + 1..length - 1], base + at + end + 1));
            at += length;
        } else {
            if keyword != Some("mod") {
                others.push((base + at, item.split_whitespace().take(2).collect::<Vec<_>>().join(" ")));
            }
            at += if item[end..].starts_with('{') { balanced(item, end) } else { end + 1 };
        }
    }
}

/// The length of the text up to the bracket that closes the one at `open`.
fn balanced(text: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text[open..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return open + at + 1;
        }
    }
    text.len()
}

/// Compile-fail cases without the message they promise, and messages without a case.
fn unpaired_cases(files: &[File]) -> Vec<String> {
    let in_ui = |file: &&File| file.path.contains("tests/ui/") && !file.path.contains("/pass/");
    let exists = |path: &str| files.iter().any(|file| file.path == path);
    let judge = |file: &File| {
        let path = &file.path;
        if let Some(case) = path.strip_suffix(".rs") {
            let message = format!("{case}.stderr");
            return (!exists(&message)).then(|| {
                format!("{path}: commit {message} too (TRYBUILD=overwrite writes it); read it first")
            });
        }
        let case = format!("{}.rs", path.strip_suffix(".stderr")?);
        (!exists(&case)).then(|| format!("{path}: its case {case} is gone; remove it"))
    };
    files.iter().filter(in_ui).filter_map(judge).collect()
}

#[test]
fn no_rust_file_is_longer_than_a_reader_bears() {
    no_complaints(&too_long(&tracked()));
}

#[test]
fn a_long_file_is_named_and_a_test_may_be_longer() {
    let lines = |count: usize| "\n".repeat(count);
    let files = [
        File::sample("engine/core/src/a.rs", &lines(601)),
        File::sample("engine/core/src/b.rs", &lines(600)),
        File::sample("engine/core/tests/c.rs", &lines(1000)),
        File::sample("engine/core/src/machine/tests.rs", &lines(1001)),
        File::sample("Cargo.lock", &lines(5000)),
    ];
    complains(&too_long(&files), &["src/a.rs: 601 lines, at most 600", "tests.rs: 1001 lines, at most 1000"]);
}

#[test]
fn nothing_unfinished_is_committed() {
    no_complaints(&unfinished(&tracked()));
}

#[test]
fn unfinished_code_is_named_and_talk_about_it_is_not() {
    let source = "// todo!() is banned\nlet s = \"todo!()\";\ntodo!();\n#[ignore = \"slow\"]\nfn f() {}\n/// ```rust,ignore\n/// ```text\n";
    complains(
        &unfinished(&[File::sample("a.rs", source)]),
        &["a.rs:4", "a.rs:3", "a.rs:6: an ignored example"],
    );
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    no_complaints(&machine_paths(&tracked()));
}

#[test]
fn a_path_of_one_machine_is_named() {
    let text = format!("fine\nsee {}{}notes.md\n", MACHINE_PATHS[0].0, MACHINE_PATHS[0].1);
    complains(&machine_paths(&[File::sample("README.md", &text)]), &["README.md:2"]);
}

#[test]
fn the_core_names_no_clock_no_chance_and_no_io() {
    no_complaints(&impure(&tracked()));
}

#[test]
fn an_impure_line_of_the_core_is_named() {
    let source = "//! No tokio here.\nuse std::{collections::BTreeMap, fs};\nlet t = std::time::Instant::now();\nstd::env::var(\"A\");\n";
    let files =
        [File::sample("engine/core/src/a.rs", source), File::sample("engine/core/tests/a.rs", source)];
    complains(
        &impure(&files),
        &["a.rs:2: the core is a function and does not know `fs`", "a.rs:3", "`std::env`"],
    );
}

#[test]
fn a_crate_root_is_a_table_of_contents() {
    no_complaints(&crowded_roots(&tracked()));
}

#[test]
fn code_in_a_crate_root_is_named() {
    let source = "//! Docs: fn.\n#![doc = \"x\"]\n\nmod a;\n#[cfg(test)]\nmod tests;\npub mod b;\npub(crate) mod c;\npub use a::{A, B};\n\
                  #[doc(hidden)]\npub mod d {\n    pub use serde::Serialize;\n    use std::fmt;\n}\nuse a::C;\npub fn run() { if x { y } }\nconst N: u8 = 1;\n";
    let files =
        [File::sample("engine/core/src/lib.rs", source), File::sample("engine/core/src/a.rs", source)];
    complains(
        &crowded_roots(&files),
        &["lib.rs:13: ", "lib.rs:15: ", "lib.rs:16: a lib.rs holds docs", "lib.rs:17: "],
    );
}

#[test]
fn every_compile_fail_case_has_its_message() {
    no_complaints(&unpaired_cases(&tracked()));
}

#[test]
fn a_compile_fail_case_without_its_message_is_named() {
    let paths = [
        "x/tests/ui/a.rs",
        "x/tests/ui/a.stderr",
        "x/tests/ui/b.rs",
        "x/tests/ui/c.stderr",
        "x/tests/ui/pass/d.rs",
    ];
    let files = paths.map(|path| File::sample(path, ""));
    complains(&unpaired_cases(&files), &["commit x/tests/ui/b.stderr", "its case x/tests/ui/c.rs is gone"]);
}
