//! What may not change under one version is in the digest, and nothing else.

use amends::core::plan::digest::shape;
use amends::prelude::*;
use expect_test::expect;

use super::steps::work;

fn saga() -> Saga<u64, u64> {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let reserved = s.step("reserve", work(), order);
    let (captured, mut s) = s.pivot("capture", work().retry("gateway"), reserved.map(|n| n + 1));
    let told = s.retriable("notify", work(), captured.after(reserved));
    s.finish(told).expect("a good definition")
}

#[test]
fn the_shape_and_its_digest_stay_what_they_are() {
    expect![[r#"
        workflow order version 1
        input u64
        step reserve: u64 -> u64 | never, settled by repeating
          compensation settled by repeating, in doubt Wait
          input recorded [input]
          policies retry=default query=default compensation=default
          waits for []
        pivot capture: u64 -> u64 | never, settled by repeating
          input shaped [reserve]
          policies retry=gateway query=default compensation=default
          waits for [reserve]
        retriable notify: u64 -> u64 | never, settled by repeating
          input recorded [capture]
          policies retry=default query=default compensation=default
          waits for [reserve, capture]
        result notify
    "#]]
    .assert_eq(&shape(saga().plan()));
    expect!["d00014f65cb3fd7f112d1a54427d1a62ea35917a63b02baa448d7b4da3b5b362"]
        .assert_eq(&saga().plan().digest.to_string());
    assert_eq!(saga().plan().digest, saga().plan().digest, "built twice it is the same");
}

#[test]
fn labels_are_no_part_of_the_shape() {
    let (s, order) = SagaBuilder::<u64>::new("order", 1);
    let mut s = s.labels(|order: &u64| vec![amends::Label::text("order", order.to_string())]);
    let reserved = s.step("reserve", work(), order);
    let (captured, mut s) = s.pivot("capture", work().retry("gateway"), reserved.map(|n| n + 1));
    let told = s.retriable("notify", work(), captured.after(reserved));
    assert_eq!(s.finish(told).expect("a good definition").plan().digest, saga().plan().digest);
}

/// A step like `Work` in all but one word.
macro_rules! other {
    ($name:ident, $input:ty, $output:ty, $settle:ty, $undo:ty) => {
        struct $name;
        impl Step for $name {
            type Input = $input;
            type Output = $output;
            type Refusal = Never;
            type Settle = $settle;

            async fn run(&self, _: &StepContext, _: $input) -> Result<$output, StepError<Never>> {
                Err(StepError::unknown("never-run", "only its shape is looked at"))
            }
        }
        impl Compensate for $name {
            type UndoSettle = $undo;

            async fn compensate(
                &self,
                _: &StepContext,
                _: $input,
                _: Forward<$output>,
            ) -> Result<Undo, CompensationError> {
                Ok(Undo::NothingToUndo)
            }
        }
    };
}

other!(Same, u64, u64, ByRepeating, ByRepeating);
other!(OtherOutput, u64, i64, ByRepeating, ByRepeating);
other!(OtherSettle, u64, u64, ByOperator, ByRepeating);
other!(OtherUndoSettle, u64, u64, ByRepeating, ByOperator);

/// The digest of two steps, the first of which is `step`.
fn digest_of<S>(name: &'static str, step: S, after: bool) -> String
where
    S: Compensate<Input = u64>,
    S::Settle: amends::Settles<S>,
    S::UndoSettle: amends::SettlesUndo<S>,
{
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let first = s.step(name, step, order);
    let second =
        if after { s.step("second", work(), order.after(first)) } else { s.step("second", work(), order) };
    s.finish(second).expect("a good definition").plan().digest.to_string()
}

#[test]
fn names_edges_schemas_settlement_and_policy_names_are_in_it() {
    let plain = digest_of("first", work(), false);
    let changed = [
        ("name", digest_of("first-2", work(), false)),
        ("edge", digest_of("first", work(), true)),
        ("schema", digest_of("first", OtherOutput, false)),
        ("settle", digest_of("first", OtherSettle, false)),
        ("undo settle", digest_of("first", OtherUndoSettle, false)),
        ("policy name", digest_of("first", work().retry("gateway"), false)),
    ];
    for (what, digest) in &changed {
        assert_ne!(*digest, plain, "{what}");
    }
    let distinct: std::collections::BTreeSet<&String> = changed.iter().map(|(_, digest)| digest).collect();
    assert_eq!(distinct.len(), changed.len());
}

#[test]
fn bodies_numbers_timeouts_and_deadlines_are_not_in_it() {
    let plain = digest_of("first", work(), false);
    assert_eq!(digest_of("first", Same, false), plain);
    assert_eq!(digest_of("first", work().timeout(minutes(7)), false), plain);

    let with_deadline = {
        let (s, order) = SagaBuilder::<u64>::new("order", 1);
        let mut s = s.deadline(hours(1));
        s.step("first", work(), order);
        let second = s.step("second", work(), order);
        s.finish(second).unwrap()
    };
    assert_eq!(with_deadline.plan().digest.to_string(), plain);
    let policies =
        Policies::new().retry("default", RetryPolicy { max_attempts: 77, ..RetryPolicy::default() });
    let resolved = with_deadline.resolve(&policies).expect("possible numbers");
    assert_eq!(resolved.plan.steps[0].retry.max_attempts, 77);
    assert_eq!(resolved.plan.digest.to_string(), plain);
}
