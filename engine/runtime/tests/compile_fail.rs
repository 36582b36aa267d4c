//! Wrong sagas do not compile, and the compiler's message says what to do.
//!
//! `TRYBUILD=overwrite cargo test -p amends --test compile_fail` records new messages: read each as a
//! stranger before committing it. The definitions that must compile are in `tests/authoring`.

#[test]
fn compile_fail_messages_say_what_to_do() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
