//! The typed output of a step: using it *is* the edge.

use std::fmt;
use std::marker::PhantomData;

use amends_core::plan::Source;

use super::gives::Gives;

/// The output of a step, or the saga's input. Using it as another step's input is the edge between them; so a
/// cycle, an unknown input or a wrong type cannot be written.
///
/// It reads a saga's output by (workflow, version, step, schema), so a test may build the definition again.
pub struct Handle<T> {
    pub(crate) origin: Origin,
    of: PhantomData<fn() -> T>,
}

/// Where a handle comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub(crate) builder: u32,
    pub(crate) source: Source,
    pub(crate) name: &'static str,
    pub(crate) workflow: &'static str,
    pub(crate) version: u32,
}

impl Origin {
    /// The step's name; `input` for the saga's input.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The workflow it belongs to.
    pub fn workflow(&self) -> (&'static str, u32) {
        (self.workflow, self.version)
    }
}

impl<T> Handle<T> {
    pub(crate) fn new(origin: Origin) -> Self {
        Self { origin, of: PhantomData }
    }

    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Adapts the value with a pure function. A panic in it quarantines the step that needs the value; nothing
    /// was sent.
    pub fn map<U, F: Fn(T) -> U>(self, f: F) -> Map<T, Self, F> {
        Map::new(self, f)
    }

    /// Waits for `other` too, without needing its value.
    pub fn after<U>(self, other: Handle<U>) -> After<Self> {
        After::new(self, other.origin)
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({})", self.origin.name)
    }
}

/// A value adapted by a pure function.
pub struct Map<A, H, F> {
    pub(crate) from: H,
    pub(crate) f: F,
    of: PhantomData<fn() -> A>,
}

impl<A, H, F> Map<A, H, F> {
    fn new(from: H, f: F) -> Self {
        Self { from, f, of: PhantomData }
    }

    /// Waits for `other` too, without needing its value.
    pub fn after<U>(self, other: Handle<U>) -> After<Self> {
        After::new(self, other.origin)
    }
}

/// An input that also waits for steps whose value it does not need.
pub struct After<H> {
    pub(crate) input: H,
    pub(crate) after: Vec<Origin>,
}

impl<H> After<H> {
    fn new(input: H, first: Origin) -> Self {
        Self { input, after: vec![first] }
    }

    /// Waits for `other` too, without needing its value.
    #[must_use]
    pub fn after<U>(mut self, other: Handle<U>) -> Self {
        self.after.push(other.origin);
        self
    }

    /// Adapts the value with a pure function, like [`Handle::map`].
    pub fn map<T, U, F>(self, f: F) -> Map<T, Self, F>
    where
        Self: Gives<T>,
        F: Fn(T) -> U,
    {
        Map::new(self, f)
    }
}

/// `.after(…)` and `.map(…)` for inputs that are more than one handle.
///
/// ```
/// use amends::prelude::*;
///
/// let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
/// let text = s.read_fn("text", order, |_, n| async move { Ok(n.to_string()) });
/// let label = (order, text).map(|(n, text)| format!("{n}: {text}"));
/// let printed = s.read_fn("print", label, |_, label| async move { Ok(label) });
/// # s.finish(printed).unwrap();
/// ```
pub trait Order: Sized {
    /// Adapts the values with a pure function, like [`Handle::map`].
    fn map<T, U, F>(self, f: F) -> Map<T, Self, F>
    where
        Self: Gives<T>,
        F: Fn(T) -> U,
    {
        Map::new(self, f)
    }

    /// Waits for `other` too, without needing its value.
    fn after<U>(self, other: Handle<U>) -> After<Self> {
        After::new(self, other.origin)
    }
}

impl Order for () {}
impl<H> Order for Vec<H> {}

macro_rules! order {
    ($($H:ident),+) => { impl<$($H),+> Order for ($($H,)+) {} };
}

order!(A);
order!(A, B);
order!(A, B, C);
order!(A, B, C, D);
order!(A, B, C, D, E);
order!(A, B, C, D, E, F);
order!(A, B, C, D, E, F, G);
order!(A, B, C, D, E, F, G, H);
