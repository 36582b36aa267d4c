//! Between what authors write and what is recorded: for steps whose participant answers in JSON and not in types.

use amends_core::Json;
use amends_core::event::{Finding as Found, Recorded};

use super::error::{Finding, Forward, Problem, UndoFinding};
use super::node::ForwardOutcome;
use super::payload::Payload;

impl<T: Payload> Forward<T> {
    /// The same as JSON, for a message to the participant.
    ///
    /// # Errors
    /// When the result has no JSON form.
    pub fn outcome(&self) -> Result<ForwardOutcome, Problem> {
        let kept = |output: &T| {
            Json::encode(output).map(Recorded::Value).map_err(|error| Problem::new("result", error))
        };
        Ok(match self {
            Self::Completed(output) => ForwardOutcome::Completed(kept(output)?),
            Self::Unrecorded(omitted) => ForwardOutcome::Completed(Recorded::Omitted(omitted.clone())),
            Self::Partial(output) => ForwardOutcome::Partial(output.as_ref().map(kept).transpose()?),
            Self::InDoubt => ForwardOutcome::InDoubt,
        })
    }
}

impl<T: Payload, R: Payload> Finding<T, R> {
    /// Reads a finding. One whose result or refusal cannot be read is unclear.
    pub fn read(found: Found) -> Self {
        match found {
            Found::Applied(Recorded::Value(output)) => decoded(&output, Self::Applied),
            Found::Refused(Recorded::Value(refusal)) => decoded(&refusal, Self::Refused),
            Found::Partial(output) => {
                let output = output.as_ref().and_then(Recorded::value);
                Self::Partial(output.and_then(|output| output.decode().ok()))
            }
            Found::Fenced { through } => Self::Fenced { through },
            Found::Absent => Self::Absent,
            Found::InProgress => Self::InProgress,
            Found::Unclear { report } => Self::Unclear(report),
            Found::Applied(Recorded::Omitted(omitted)) | Found::Refused(Recorded::Omitted(omitted)) => {
                Self::Unclear(format!("an answer that cannot be read: {}", omitted.reason))
            }
        }
    }
}

fn decoded<P: Payload, T, R>(json: &Json, into: fn(P) -> Finding<T, R>) -> Finding<T, R> {
    match json.decode() {
        Ok(value) => into(value),
        Err(error) => Finding::Unclear(format!("not a `{}`: {error}", P::schema())),
    }
}

impl UndoFinding {
    /// Reads a finding. One that no compensation can have is unclear.
    pub fn read(found: Found) -> Self {
        match found {
            Found::Applied(Recorded::Value(word)) => match word.text() {
                "\"Undone\"" => Self::Undone,
                "\"NothingToUndo\"" => Self::NothingToUndo,
                other => Self::Unclear(format!("neither Undone nor NothingToUndo: {other}")),
            },
            Found::Fenced { through } => Self::Fenced { through },
            Found::Absent => Self::Absent,
            Found::InProgress => Self::InProgress,
            Found::Unclear { report } => Self::Unclear(report),
            other => Self::Unclear(format!("no answer to a compensation: {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn a_result_of_another_type_is_unclear_and_never_no_effect() {
        let found = Found::Applied(Recorded::Value(json("\"seven\"")));
        assert!(matches!(Finding::<u32, String>::read(found), Finding::Unclear(_)));
        let found = Found::Applied(Recorded::Value(json("7")));
        assert_eq!(Finding::<u32, String>::read(found), Finding::Applied(7));
    }

    #[test]
    fn a_compensation_is_undone_by_its_own_words_only() {
        let applied = |text| UndoFinding::read(Found::Applied(Recorded::Value(json(text))));
        assert_eq!(applied("\"Undone\""), UndoFinding::Undone);
        assert_eq!(applied("\"NothingToUndo\""), UndoFinding::NothingToUndo);
        assert!(matches!(applied("true"), UndoFinding::Unclear(_)));
        assert!(matches!(UndoFinding::read(Found::Partial(None)), UndoFinding::Unclear(_)));
    }

    #[test]
    fn what_a_compensation_is_told_is_what_its_message_says() {
        assert_eq!(
            Forward::Completed(7).outcome().unwrap(),
            ForwardOutcome::Completed(Recorded::Value(json("7")))
        );
        assert_eq!(Forward::<u32>::Partial(None).outcome().unwrap(), ForwardOutcome::Partial(None));
    }
}
