//! README.md shows real things: each block behind a marker `<!-- shown: NAME -->` is what the code says, draws
//! or prints today. `UPDATE_EXPECT=1` rewrites the blocks; read the difference before you commit it.

use std::fs;
use std::path::Path;

/// Replaces, or compares, the fenced block behind the marker.
fn check(name: &str, language: &str, shown: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).expect("README.md is there");
    let marker = format!("<!-- shown: {name} -->\n```{language}\n");
    let from =
        readme.find(&marker).unwrap_or_else(|| panic!("README.md has no block `{marker}`")) + marker.len();
    let to = from + readme[from..].find("\n```").expect("the block ends") + 1;
    let shown = format!("{}\n", shown.trim_end());
    if readme[from..to] == shown {
        return;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let updated = format!("{}{shown}{}", &readme[..from], &readme[to..]);
        fs::write(&path, updated).expect("README.md can be written");
        return;
    }
    panic!(
        "README.md shows something else behind `{name}` than the code does. Run with UPDATE_EXPECT=1.\n\
         --- README.md\n{}\n--- now\n{shown}",
        &readme[from..to]
    );
}

fn source(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
}

/// The lines from the one that begins with `first` to the next line `}`.
fn item(source: &str, first: &str) -> String {
    let from = source.find(first).unwrap_or_else(|| panic!("no line begins with `{first}`"));
    let to = source[from..].find("\n}").expect("the item ends") + from + 2;
    source[from..to].to_owned()
}

/// The lines from `first` on, up to the first that begins with `last`, that one included.
fn through(source: &str, first: &str, last: &str) -> String {
    let from = source.find(first).unwrap_or_else(|| panic!("nothing begins with `{first}`"));
    let to = source[from..].find(last).unwrap_or_else(|| panic!("nothing ends with `{last}`")) + from;
    let end = source[to..].find('\n').map_or(source.len(), |line| to + line);
    source[from..end].to_owned()
}

/// The crate docs, without their marks. What stands in them as code is compiled as a doc test.
fn docs(source: &str) -> String {
    let lines = source.lines().filter_map(|line| line.strip_prefix("//!"));
    lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// The snapshot of a test: what stands between `expect![[r#"` and `"#]]`, without its indentation. The test
/// itself proves that the snapshot is current.
fn snapshot(source: &str, test: &str) -> String {
    let body = item(source, test);
    let from = body.find("expect![[r#\"\n").expect("the test has a snapshot") + "expect![[r#\"\n".len();
    let to = from + body[from..].find("\"#]]").expect("the snapshot ends");
    body[from..to]
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("        ").unwrap_or(line)))
        .collect()
}

// One test, not three: `UPDATE_EXPECT=1` rewrites one file.
#[test]
fn the_readme_shows_what_the_code_says_draws_and_prints() {
    let definition = source("workflows/src/order/definition.rs");
    check("order-definition", "rust", &item(&definition, "pub fn order_saga"));
    let step = source("workflows/src/order/steps/reserve.rs");
    check("step", "rust", &item(&step, "impl Step for ReserveStock"));

    let inventory = source("workflows/src/ports/inventory.rs");
    let derive = "#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]\npub struct OutOfStock";
    let payload =
        format!("{}\n\n{}", item(&inventory, derive), item(&inventory, "impl Payload for OutOfStock"));
    check("payload", "rust", &payload);

    let quickstart = source("examples/quickstart.rs");
    let uses = through(&quickstart, "use amends::{", "use amends_sea_orm");
    check("run", "rust", &format!("{uses}\n\n{}", item(&quickstart, "async fn run")));

    let trigger = source("examples/nats_trigger.rs");
    check("nats-trigger", "rust", &item(&trigger, "fn trigger"));
    let command = source("examples/nats_command.rs");
    check("nats-command", "rust", &item(&command, "fn order_saga"));

    let kit = docs(&source("engine/testkit/src/lib.rs"));
    let participants = format!("{}\n\n{}", item(&kit, "struct Shop"), item(&kit, "impl Shop"));
    check("participants", "rust", &participants);

    let tests = source("workflows/src/order/tests.rs");
    check("laws", "rust", &item(&tests, "#[test]\nfn laws"));
    check("order-picture", "text", &snapshot(&tests, "fn the_saga_draws_itself"));
    check("timeline", "text", &snapshot(&tests, "fn a_declined_card_puts_the_goods_back"));

    for (name, case) in
        [("no-compensation", "effect_without_compensation"), ("refusal-after-pivot", "refusal_after_pivot")]
    {
        let message = source(&format!("engine/runtime/tests/ui/{case}.stderr"));
        check(name, "text", &through(&message, "error[", "   = note:"));
    }
}

#[test]
fn the_readme_counts_the_sagas_of_the_shop() {
    let ends = snapshot(&source("tests/shop.rs"), "fn the_lines_that_come_with_it");
    let sagas = |workflow: &str| -> usize {
        let rows = ends.lines().filter(|row| row.split(" | ").next() == Some(workflow));
        rows.map(|row| row.rsplit(" | ").next().expect("a row ends").parse::<usize>().expect("a count")).sum()
    };
    let told =
        format!("{} orders, {} payments, {} refunds", sagas("order"), sagas("payment"), sagas("refund"));
    assert!(source("README.md").contains(&told), "README.md does not say `{told}`");
}

#[test]
fn the_readme_names_packages_that_are_where_it_says() {
    let readme = source("README.md");
    let lines = readme.lines().filter_map(|line| line.split_once(" = { path = \"../amends/"));
    let named: Vec<_> =
        lines.map(|(package, rest)| (package, rest.split('"').next().unwrap_or(""))).collect();
    assert_eq!(named.len(), 4, "{named:?}");
    for (package, folder) in named {
        let manifest = source(&format!("{folder}/Cargo.toml"));
        assert!(manifest.contains(&format!("name = \"{package}\"\n")), "{package} is not in {folder}");
    }
}

#[test]
fn architecture_gives_a_reason_for_every_dependency() {
    let manifest = source("Cargo.toml");
    let listed = manifest.split("[workspace.dependencies]\n").nth(1).expect("they are listed");
    let architecture = source("ARCHITECTURE.md");
    let table = architecture.split("## Dependencies").nth(1).expect("the table is there");
    let names: Vec<&str> = table
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .flat_map(|cell| cell.split(", "))
        .map(|name| name.split(' ').next().unwrap_or(name))
        .collect();
    for line in listed.lines().take_while(|line| !line.starts_with('[')) {
        let Some((name, _)) = line.split_once(" = ") else { continue };
        assert!(name.starts_with("amends") || names.contains(&name), "no reason is given for {name}");
    }
}
