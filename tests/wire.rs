//! The wire contract: one table of calls, and an engine, against three participants that know the contract from
//! `adapters/nats/PROTOCOL.md` alone. They are real processes with a real nats-server between.

#[path = "../examples/nats_command.rs"]
#[allow(dead_code)]
mod nats_command;

#[path = "wire/caller.rs"]
mod caller;
#[path = "wire/engine.rs"]
mod engine;
#[path = "wire/table.rs"]
mod table;

use caller::{Caller, Program};

#[tokio::test]
async fn the_rust_participant_answers_as_the_table_says() {
    table::check(&Caller::start(Program::Rust).await).await;
}

#[tokio::test]
async fn the_python_participant_answers_as_the_table_says() {
    table::check(&Caller::start(Program::Python).await).await;
}

#[tokio::test]
async fn the_javascript_participant_answers_as_the_table_says() {
    table::check(&Caller::start(Program::JavaScript).await).await;
}

#[tokio::test]
async fn an_engine_runs_sagas_with_the_rust_participant() {
    engine::check(Program::Rust).await;
}

#[tokio::test]
async fn an_engine_runs_sagas_with_the_python_participant() {
    engine::check(Program::Python).await;
}

#[tokio::test]
async fn an_engine_runs_sagas_with_the_javascript_participant() {
    engine::check(Program::JavaScript).await;
}

#[tokio::test]
async fn a_command_waits_for_a_participant_that_was_killed() {
    engine::check_absence(Program::Python).await;
}

#[tokio::test]
async fn the_example_has_its_card_charged_by_the_participant_of_the_readme() {
    let caller = Caller::start(Program::Python).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut printed = Vec::new();
    nats_command::run(&caller.url(), &folder.path().join("orders.db"), &mut printed).await.expect("it runs");
    let printed = String::from_utf8(printed).expect("it prints text");
    assert!(printed.contains("charge succeeded") && printed.contains("completed"), "{printed}");
    assert_eq!(caller.lines("o-1").await, 1);
}

#[test]
fn a_foreign_participant_refuses_an_option_that_it_does_not_know_in_words_and_without_a_stack() {
    for program in [Program::Python, Program::JavaScript] {
        for wrong in [&["--nope"][..], &["--database"], &["twice"]] {
            let told =
                caller::command(program).args(wrong).env("COLUMNS", "100").output().expect("it starts");
            let words = String::from_utf8(told.stderr).expect("it prints text");
            assert_eq!(told.status.code(), Some(2), "{program:?} {wrong:?}: {words}");
            assert!(words.contains(wrong[0]) && words.contains("usage: "), "{program:?} {wrong:?}: {words}");
            assert!(words.lines().count() <= 3, "{program:?} {wrong:?}: {words}");
        }
    }
}
