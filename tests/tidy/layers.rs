//! Layers: the table of ARCHITECTURE.md as data, compared with what Cargo says.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use super::{complains, no_complaints, top};

/// One folder is one layer is one package.
struct Layer {
    package: &'static str,
    folder: &'static str,
    /// Packages of ours that it may depend on.
    ours: &'static [&'static str],
    /// Packages of ours that only its tests may use.
    ours_in_tests: &'static [&'static str],
    outside: Outside,
}

/// What a layer may use of the world.
enum Outside {
    /// These crates and no others: for layers whose purity is their point.
    Only(&'static [&'static str]),
    /// Anything but these. A name that ends in `*` stands for all that begin so.
    Not(&'static [&'static str]),
}

/// What belongs to one adapter each, and therefore to nobody who is not an adapter.
const TECHNOLOGIES: &[&str] = &[
    "sea-orm*",
    "sea-query*",
    "sqlx*",
    "rusqlite",
    "libsqlite3-sys",
    "async-nats",
    "axum*",
    "hyper*",
    "reqwest",
    "ureq",
    "clap*",
];

/// The packages of the workspace from the centre outwards. A new package needs its line here.
const LAYERS: &[Layer] = &[
    Layer {
        package: "amends-core",
        folder: "engine/core",
        ours: &[],
        ours_in_tests: &[],
        // No async, no clock, no randomness, no IO: the machine is a function.
        outside: Outside::Only(&["serde", "serde_json", "petgraph", "uuid", "thiserror", "sha2"]),
    },
    Layer {
        package: "amends",
        folder: "engine/runtime",
        ours: &["amends-core"],
        ours_in_tests: &[],
        outside: Outside::Not(TECHNOLOGIES),
    },
    Layer {
        package: "amends-testkit",
        folder: "engine/testkit",
        ours: &["amends-core", "amends"],
        ours_in_tests: &[],
        outside: Outside::Not(TECHNOLOGIES),
    },
    Layer {
        package: "amends-workflows",
        folder: "workflows",
        ours: &["amends"],
        ours_in_tests: &["amends-testkit"],
        outside: Outside::Not(TECHNOLOGIES),
    },
    Layer {
        package: "amends-sea-orm",
        folder: "adapters/sea-orm",
        ours: &["amends-core", "amends", "amends-migrations"],
        ours_in_tests: &["amends-testkit"],
        outside: Outside::Not(&["async-nats", "axum*", "hyper*", "reqwest", "clap*"]),
    },
    Layer {
        package: "amends-barrier",
        folder: "adapters/barrier",
        ours: &["amends-core"],
        ours_in_tests: &[],
        outside: Outside::Not(&["async-nats", "axum*", "hyper*", "reqwest", "clap*"]),
    },
    Layer {
        package: "amends-nats",
        folder: "adapters/nats",
        ours: &["amends"],
        ours_in_tests: &["amends-testkit", "amends-nats-testkit", "amends-sea-orm", "amends-barrier"],
        outside: Outside::Not(&["sea-orm*", "sqlx*", "axum*", "hyper*", "reqwest", "clap*"]),
    },
    Layer {
        package: "amends-nats-testkit",
        folder: "adapters/nats-testkit",
        ours: &[],
        ours_in_tests: &[],
        // It runs a program; it does not speak with it.
        outside: Outside::Only(&["rustix", "tempfile"]),
    },
    Layer {
        package: "amends-webhook",
        folder: "adapters/webhook",
        ours: &["amends"],
        ours_in_tests: &["amends-core"],
        outside: Outside::Not(&["sea-orm*", "sqlx*", "async-nats", "axum*", "hyper*", "reqwest", "clap*"]),
    },
    Layer {
        package: "amends-migrations",
        folder: "migrations",
        ours: &[],
        ours_in_tests: &[],
        outside: Outside::Only(&["sea-orm-migration"]),
    },
];

/// The package at the top: examples and whole-system tests, importable by nobody.
const TOP: &str = "amends-workspace";

/// What every manifest takes from the workspace instead of saying it again.
const LICENCE: &str = "MIT OR Apache-2.0";

fn workspace() -> Metadata {
    MetadataCommand::new()
        .manifest_path(top().join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo can read the manifests of the workspace")
}

/// Who uses whom, in the terms of the table.
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    ours: bool,
    in_tests: bool,
}

fn edges(metadata: &Metadata) -> Vec<Edge<'_>> {
    let ours = |name: &str| metadata.packages.iter().any(|package| package.name.as_str() == name);
    let members = metadata.packages.iter().filter(|package| package.name.as_str() != TOP);
    members
        .flat_map(|package| package.dependencies.iter().map(move |dependency| (package, dependency)))
        .map(|(package, dependency)| Edge {
            from: package.name.as_str(),
            to: &dependency.name,
            ours: ours(&dependency.name),
            in_tests: dependency.kind == DependencyKind::Development,
        })
        .collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

fn wrong_edges(layers: &[Layer], edges: &[Edge]) -> Vec<String> {
    let judge = |edge: &Edge| {
        let Edge { from, to, .. } = *edge;
        let layer = layers.iter().find(|layer| layer.package == from)?;
        let folder = layer.folder;
        if edge.ours {
            let allowed = layer.ours.contains(&to) || (edge.in_tests && layer.ours_in_tests.contains(&to));
            let why = if layer.ours_in_tests.contains(&to) {
                "only its tests may use it: move it to [dev-dependencies]"
            } else if edge.in_tests {
                "not even in its tests: put the test into the layer above, or into tests/"
            } else {
                "dependencies point inwards: move the code, or put a port (a trait) into the inner layer"
            };
            return (!allowed).then(|| format!("{folder}: `{from}` may not depend on `{to}`; {why}"));
        }
        if edge.in_tests {
            return None;
        }
        match layer.outside {
            Outside::Only(allowed) => (!allowed.contains(&to)).then(|| {
                let list = allowed.join(", ");
                format!("{folder}: `{from}` may use {list} and nothing else, so not `{to}`; do that work further out")
            }),
            Outside::Not(refused) => refused.iter().any(|pattern| matches(pattern, to)).then(|| {
                format!("{folder}: `{from}` may not know `{to}`; it belongs behind a port, in an adapter")
            }),
        }
    };
    edges.iter().filter_map(judge).collect()
}

/// The table and the workspace name the same packages at the same places.
fn misplaced(layers: &[Layer], packages: &[(&str, &str)]) -> Vec<String> {
    let unknown = packages.iter().filter(|(name, _)| *name != TOP).filter_map(|(name, folder)| match layers
        .iter()
        .find(|layer| layer.package == *name)
    {
        None => Some(format!("{folder}: `{name}` has no layer; give it a line in tests/tidy/layers.rs")),
        Some(layer) if layer.folder != *folder => Some(format!(
            "{folder}: the layer table has `{name}` in {}; move it, or mend the table",
            layer.folder
        )),
        Some(_) => None,
    });
    let gone = layers.iter().filter(|layer| packages.iter().all(|(name, _)| *name != layer.package));
    unknown
        .chain(gone.map(|layer| format!("{}: `{}` is gone; drop its line", layer.folder, layer.package)))
        .collect()
}

fn folder_of(package: &Package) -> &str {
    let folder = package.manifest_path.parent().expect("a manifest lies in a folder");
    folder.strip_prefix(top()).expect("members lie below the top").as_str()
}

/// What a manifest says for itself although the workspace says it for all.
fn stray_manifest(name: &str, licence: Option<&str>, published: bool, manifest: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if licence != Some(LICENCE) {
        complaints
            .push(format!("`{name}`: its licence is not `{LICENCE}`; write `license.workspace = true`"));
    }
    if published {
        complaints.push(format!("`{name}` could be published by accident; write `publish.workspace = true`"));
    }
    let lints = manifest.split("\n[lints]\n").nth(1).and_then(|after| after.lines().next());
    if name != TOP && lints != Some("workspace = true") {
        complaints
            .push(format!("`{name}` does not take the house's lints; add `[lints]` with `workspace = true`"));
    }
    complaints
}

#[test]
fn every_dependency_follows_the_layer_table() {
    let metadata = workspace();
    let edges = edges(&metadata);
    assert!(edges.len() > LAYERS.len(), "the layers do depend on something");
    no_complaints(&wrong_edges(LAYERS, &edges));
}

#[test]
fn a_dependency_against_the_layer_table_is_named() {
    let ours = |from, to, in_tests| Edge { from, to, ours: true, in_tests };
    let outside = |from, to| Edge { from, to, ours: false, in_tests: false };
    let wrong = [
        ours("amends-core", "amends", false),
        ours("amends-core", "amends-testkit", true),
        ours("amends-workflows", "amends-testkit", false),
        ours("amends-sea-orm", "amends-barrier", false),
        outside("amends-core", "tokio"),
        outside("amends", "sea-orm"),
        outside("amends-workflows", "axum-extra"),
        outside("amends-migrations", "serde"),
    ];
    let expected = [
        "engine/core: `amends-core` may not depend on `amends`; dependencies point inwards",
        "`amends-core` may not depend on `amends-testkit`; not even in its tests",
        "workflows: `amends-workflows` may not depend on `amends-testkit`; only its tests",
        "adapters/sea-orm: `amends-sea-orm` may not depend on `amends-barrier`",
        "so not `tokio`",
        "engine/runtime: `amends` may not know `sea-orm`",
        "`amends-workflows` may not know `axum-extra`",
        "`amends-migrations` may use sea-orm-migration and nothing else, so not `serde`",
    ];
    complains(&wrong_edges(LAYERS, &wrong), &expected);
    let right = [ours("amends", "amends-core", false), ours("amends-workflows", "amends-testkit", true)];
    no_complaints(&wrong_edges(LAYERS, &right));
}

#[test]
fn every_package_stands_in_the_layer_table_at_its_place() {
    let metadata = workspace();
    let packages: Vec<_> = metadata.packages.iter().map(|p| (p.name.as_str(), folder_of(p))).collect();
    no_complaints(&misplaced(LAYERS, &packages));
}

#[test]
fn a_package_without_a_layer_or_at_another_place_is_named() {
    let mut packages: Vec<_> = LAYERS.iter().map(|layer| (layer.package, layer.folder)).collect();
    packages[0].1 = "core";
    packages.pop();
    packages.push(("amends-extra", "adapters/extra"));
    let expected = ["core: the layer table has", "adapters/extra: `amends-extra` has no layer", "is gone"];
    complains(&misplaced(LAYERS, &packages), &expected);
}

#[test]
fn nobody_can_import_the_package_at_the_top() {
    let metadata = workspace();
    let package = metadata.packages.iter().find(|package| package.name.as_str() == TOP);
    let package = package.expect("the top is a package, so that Cargo finds tests/ and examples/");
    let importable = package.targets.iter().filter(|target| target.is_lib() || target.is_bin());
    assert_eq!(importable.count(), 0, "`{TOP}` holds examples and tests only; code belongs into a layer");
    let shipped =
        package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    assert_eq!(shipped.count(), 0, "`{TOP}` has nothing to ship; use [dev-dependencies]");
}

#[test]
fn every_manifest_takes_licence_and_lints_from_the_workspace() {
    let judge = |package: &Package| {
        let manifest =
            std::fs::read_to_string(&package.manifest_path).expect("a manifest that cargo just read");
        let published = package.publish.as_deref() != Some(&[]);
        stray_manifest(package.name.as_str(), package.license.as_deref(), published, &manifest)
    };
    no_complaints(&workspace().packages.iter().flat_map(judge).collect::<Vec<_>>());
}

#[test]
fn a_manifest_with_its_own_licence_or_lints_is_named() {
    let own = "[package]\nname = \"x\"\n\n[lints]\nrust.unsafe_code = \"allow\"\n";
    complains(&stray_manifest("x", Some("GPL-3.0"), true, own), &["licence", "by accident", "lints"]);
    no_complaints(&stray_manifest("x", Some(LICENCE), false, "[package]\n\n[lints]\nworkspace = true\n"));
}
