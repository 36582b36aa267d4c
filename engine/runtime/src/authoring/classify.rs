//! From a participant's error to an answer: by structured code, never by message text or type.

use std::fmt::Display;
use std::time::Duration;

use super::error::{CompensationError, Problem, QueryError, StepError};

/// The classes that rules can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Known not to have taken effect; may work later.
    Transient,
    /// Known not to have taken effect; will not heal by itself.
    Persistent,
    /// May or may not have taken effect. Whatever no rule knows is this.
    Unknown,
}

/// A failure whose class is known. Converts into [`StepError`], [`CompensationError`] and [`QueryError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    class: Class,
    problem: Problem,
}

impl Classified {
    pub(crate) fn new(class: Class, problem: Problem) -> Self {
        Self { class, problem }
    }

    /// The class it was given.
    pub fn class(&self) -> Class {
        self.class
    }
}

impl<R> From<Classified> for StepError<R> {
    fn from(Classified { class, problem }: Classified) -> Self {
        match class {
            Class::Transient => Self::Transient(problem),
            Class::Persistent => Self::Persistent(problem),
            Class::Unknown => Self::Unknown(problem),
        }
    }
}

impl From<Classified> for CompensationError {
    fn from(Classified { class, problem }: Classified) -> Self {
        match class {
            Class::Transient => Self::Transient(problem),
            Class::Persistent => Self::Persistent(problem),
            Class::Unknown => Self::Unknown(problem),
        }
    }
}

impl From<Classified> for QueryError {
    fn from(classified: Classified) -> Self {
        Self(classified.problem)
    }
}

/// An error with a structured code that rules can look at.
pub trait Coded: Display {
    /// The participant's code, for instance `insufficient_funds`.
    fn code(&self) -> &str;

    /// How long the participant asks to be left alone.
    fn wait(&self) -> Option<Duration> {
        None
    }
}

/// A versioned list of rules: code, perhaps of one operation → class. A code that no rule knows is
/// [`Class::Unknown`]. Every recorded failure names the rule and the classifier's version.
///
/// ```
/// use amends::{Class, Classifier};
///
/// let gateway = Classifier::new("gateway/3")
///     .rule("rate_limited", Class::Transient)
///     .rule("bad_credential", Class::Persistent)
///     .rule_for("refund", "locked", Class::Transient);
/// assert_eq!(gateway.class_of("refund", "locked"), Class::Transient);
/// assert_eq!(gateway.class_of("capture", "locked"), Class::Unknown);
/// ```
#[derive(Clone, Debug)]
pub struct Classifier {
    version: String,
    rules: Vec<(Option<String>, String, Class)>,
}

impl Classifier {
    /// An empty classifier: everything is unknown.
    pub fn new(version: impl Into<String>) -> Self {
        Self { version: version.into(), rules: Vec::new() }
    }

    /// Errors with this code, of any operation.
    #[must_use]
    pub fn rule(mut self, code: impl Into<String>, class: Class) -> Self {
        self.rules.push((None, code.into(), class));
        self
    }

    /// Errors with this code, of one operation; outranks the rule for any operation.
    #[must_use]
    pub fn rule_for(mut self, operation: impl Into<String>, code: impl Into<String>, class: Class) -> Self {
        self.rules.push((Some(operation.into()), code.into(), class));
        self
    }

    /// The class of a code.
    pub fn class_of(&self, operation: &str, code: &str) -> Class {
        self.decide(operation, code).0
    }

    /// Classifies an error of `operation`.
    pub fn classify<E: Coded>(&self, operation: &str, error: &E) -> Classified {
        let (class, rule) = self.decide(operation, error.code());
        let mut problem = Problem::new(error.code(), error);
        problem.rule = rule;
        problem.classifier.clone_from(&self.version);
        if let Some(wait) = error.wait() {
            problem = problem.wait(wait);
        }
        Classified { class, problem }
    }

    fn decide(&self, operation: &str, code: &str) -> (Class, String) {
        let of = |wanted: Option<&str>| {
            self.rules.iter().find(|(of, listed, _)| of.as_deref() == wanted && listed == code)
        };
        match of(Some(operation)).or_else(|| of(None)) {
            Some((Some(operation), code, class)) => (*class, format!("{operation}:{code}")),
            Some((None, code, class)) => (*class, code.clone()),
            None => (Class::Unknown, "unlisted".into()),
        }
    }
}

/// Says what an error means at the `?` that meets it.
pub trait Meaning<T, E>: Sized {
    /// Known not to have taken effect; may work later.
    ///
    /// # Errors
    /// The error, classified.
    fn transient(self) -> Result<T, Classified>
    where
        E: Display;

    /// Known not to have taken effect; will not heal by itself.
    ///
    /// # Errors
    /// The error, classified.
    fn persistent(self) -> Result<T, Classified>
    where
        E: Display;

    /// May or may not have taken effect.
    ///
    /// # Errors
    /// The error, classified.
    fn unknown(self) -> Result<T, Classified>
    where
        E: Display;

    /// What the rules say of its code.
    ///
    /// # Errors
    /// The error, classified.
    fn classify(self, rules: &Classifier, operation: &str) -> Result<T, Classified>
    where
        E: Coded;

    /// Where `refusal` finds that the error is a final no, the step is refused; other errors stay to be
    /// classified: `call().refuse_if(|e| e.declined())?.classify(&rules, "charge")?`.
    ///
    /// # Errors
    /// The refusal.
    fn refuse_if<R>(self, refusal: impl FnOnce(&E) -> Option<R>) -> Result<Result<T, E>, StepError<R>>;
}

impl<T, E> Meaning<T, E> for Result<T, E> {
    fn transient(self) -> Result<T, Classified>
    where
        E: Display,
    {
        self.map_err(|error| plain(Class::Transient, &error))
    }

    fn persistent(self) -> Result<T, Classified>
    where
        E: Display,
    {
        self.map_err(|error| plain(Class::Persistent, &error))
    }

    fn unknown(self) -> Result<T, Classified>
    where
        E: Display,
    {
        self.map_err(|error| plain(Class::Unknown, &error))
    }

    fn classify(self, rules: &Classifier, operation: &str) -> Result<T, Classified>
    where
        E: Coded,
    {
        self.map_err(|error| rules.classify(operation, &error))
    }

    fn refuse_if<R>(self, refusal: impl FnOnce(&E) -> Option<R>) -> Result<Result<T, E>, StepError<R>> {
        match self {
            Ok(value) => Ok(Ok(value)),
            Err(error) => match refusal(&error) {
                Some(refusal) => Err(StepError::Refused(refusal)),
                None => Ok(Err(error)),
            },
        }
    }
}

fn plain(class: Class, error: &dyn Display) -> Classified {
    Classified { class, problem: Problem::new("error", error) }
}
