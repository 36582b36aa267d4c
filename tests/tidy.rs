//! The house rules, as tests: what may depend on what, how long a file may grow, which words and
//! shapes do not come in. A rule that only a reviewer keeps is a rule that is kept until Friday.
//!
//! Each rule is a function from what it looks at to the sentences it complains with, so that the same
//! function is shown the repository (no complaint) and a bad sample (a complaint): no rule here is
//! unable to fail. The data of a rule stands at the top of its file. Only files that git tracks count.

#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/licences.rs"]
mod licences;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/rust_text.rs"]
mod rust_text;
#[path = "tidy/sources.rs"]
mod sources;

use std::path::Path;
use std::process::Command;

/// One tracked text file: its path from the top of the repository, with `/`, and what it holds.
struct File {
    path: String,
    text: String,
}

impl File {
    #[cfg(test)]
    fn sample(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The Rust code alone, with comments and the insides of literals blanked.
    fn code(&self) -> String {
        rust_text::code_only(&self.text)
    }
}

/// The top of the repository.
fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every text file that git tracks and that is still there.
fn tracked() -> Vec<File> {
    // A clone may belong to another user than the one who tests (containers do that).
    let listing = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .current_dir(top())
        .output()
        .expect("git is installed: the house rules look at tracked files");
    assert!(
        listing.status.success(),
        "git cannot list the tracked files; run the tests in a clone: {}",
        String::from_utf8_lossy(&listing.stderr)
    );
    let paths = String::from_utf8(listing.stdout).expect("tracked paths are UTF-8");
    let files: Vec<File> = paths
        .split('\0')
        .filter(|path| !path.is_empty())
        .filter_map(|path| {
            let bytes = std::fs::read(top().join(path)).ok()?;
            Some(File { path: path.to_owned(), text: String::from_utf8(bytes).ok()? })
        })
        .collect();
    assert!(
        files.iter().any(|file| file.path == "tests/tidy.rs"),
        "this file itself is tracked and readable"
    );
    files
}

/// Fails with every complaint at once, so that one run shows the whole work.
#[track_caller]
fn no_complaints(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} to mend:\n  {}\n", complaints.len(), complaints.join("\n  "));
}

/// Asserts that a rule sees what is wrong with a bad sample, and says so in these words.
#[track_caller]
fn complains(complaints: &[String], expected: &[&str]) {
    assert_eq!(complaints.len(), expected.len(), "one complaint per fault, got {complaints:#?}");
    for (complaint, words) in complaints.iter().zip(expected) {
        assert!(complaint.contains(words), "`{complaint}` does not say `{words}`");
    }
}
