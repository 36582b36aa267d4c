//! A payload type of the author's that panics while it is read or written: a problem of that value, and of nothing
//! else.

use amends::Definition;
use amends::core::Json;
use amends::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::values::prepare;

/// An amount that its type takes for granted to be small.
struct Small(u64);

impl Serialize for Small {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        assert!(self.0 < 100, "nobody writes {}", self.0);
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Small {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let amount = u64::deserialize(from)?;
        assert!(amount < 100, "nobody reads {amount}");
        Ok(Self(amount))
    }
}

impl Payload for Small {
    const SCHEMA: &'static str = "small/1";
}

struct Book;

impl Step for Book {
    type Input = Small;
    type Output = Small;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: Small) -> Result<Small, StepError<Never>> {
        Ok(input)
    }
}

impl Compensate for Book {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        _: &StepContext,
        _: Small,
        _: Forward<Small>,
    ) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

/// The saga's input is 5, so its step is to be given 500.
fn definition() -> Definition {
    let (mut s, amount) = SagaBuilder::<u64>::new("booking", 1);
    let booked = s.step("book", Book, amount.map(|amount| Small(amount * 100)));
    let saga = s.finish(booked).expect("a good definition");
    saga.resolve(&Policies::new()).expect("possible numbers")
}

#[test]
fn a_result_whose_type_panics_while_it_is_read_is_no_result_and_nothing_panics() {
    let node = &definition().nodes[0];
    let json = |text| Json::parse(text).expect("JSON");
    assert_eq!(node.check_output(&json("7")), Ok(()));
    let problem = node.check_output(&json("700")).expect_err("it is refused");
    assert!(problem.contains("panicked: nobody reads 700"), "{problem}");
}

#[test]
fn an_input_whose_type_panics_while_it_is_read_or_written_is_a_problem_of_the_input() {
    for (shaped, words) in [(None, "nobody writes 500"), (Some("700"), "nobody reads 700")] {
        let problem = prepare(&definition(), &[], shaped).err().expect("it cannot be built").to_string();
        assert!(problem.contains(words), "{problem}");
    }
}
