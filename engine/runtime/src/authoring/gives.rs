//! What can be a step's input: handles, tuples and lists of them, adapted by pure functions.

use super::handle::{After, Handle, Map, Origin};
use super::node::{InputProblem, Values};
use super::payload::Payload;

/// Can give a step its input `T`.
///
/// A trait with a type parameter, not an associated type: only so does the compiler show our message.
#[diagnostic::on_unimplemented(
    message = "these handles do not give a step its input `{T}`",
    label = "the step needs `{T}`, this gives `{Self}`",
    note = "order and types must match the step's `type Input`; adapt a handle, or a tuple of them, with `.map(|value| …)`"
)]
pub trait Gives<T>: Send + Sync + 'static {
    /// The values it is made from, in order.
    fn sources(&self, to: &mut Vec<Origin>);

    /// The steps it waits for without needing their value.
    fn waits(&self, to: &mut Vec<Origin>) {
        let _ = to;
    }

    /// Is the input exactly recorded values, so that the journal can refer to them?
    fn is_recorded(&self) -> bool;

    /// Builds the input.
    ///
    /// # Errors
    /// When a value is missing, was omitted or does not decode.
    fn gather(&self, from: Values<'_>) -> Result<T, InputProblem>;
}

impl<T: Payload> Gives<T> for Handle<T> {
    fn sources(&self, to: &mut Vec<Origin>) {
        to.push(self.origin);
    }

    fn is_recorded(&self) -> bool {
        true
    }

    fn gather(&self, from: Values<'_>) -> Result<T, InputProblem> {
        T::recall(&from.of(self.origin.source)?).map_err(|error| InputProblem {
            reason: format!(
                "the recorded value of `{}` is not a `{}`: {error}",
                self.origin.name,
                T::schema()
            ),
        })
    }
}

impl<A, T, H, F> Gives<T> for Map<A, H, F>
where
    A: 'static,
    H: Gives<A>,
    F: Fn(A) -> T + Send + Sync + 'static,
{
    fn sources(&self, to: &mut Vec<Origin>) {
        self.from.sources(to);
    }

    fn waits(&self, to: &mut Vec<Origin>) {
        self.from.waits(to);
    }

    fn is_recorded(&self) -> bool {
        false
    }

    fn gather(&self, from: Values<'_>) -> Result<T, InputProblem> {
        self.from.gather(from).map(&self.f)
    }
}

impl<T, H: Gives<T>> Gives<T> for After<H> {
    fn sources(&self, to: &mut Vec<Origin>) {
        self.input.sources(to);
    }

    fn waits(&self, to: &mut Vec<Origin>) {
        self.input.waits(to);
        to.extend_from_slice(&self.after);
    }

    fn is_recorded(&self) -> bool {
        self.input.is_recorded()
    }

    fn gather(&self, from: Values<'_>) -> Result<T, InputProblem> {
        self.input.gather(from)
    }
}

impl Gives<()> for () {
    fn sources(&self, _: &mut Vec<Origin>) {}

    fn is_recorded(&self) -> bool {
        true
    }

    fn gather(&self, _: Values<'_>) -> Result<(), InputProblem> {
        Ok(())
    }
}

impl<T: 'static, H: Gives<T>> Gives<Vec<T>> for Vec<H> {
    fn sources(&self, to: &mut Vec<Origin>) {
        self.iter().for_each(|handle| handle.sources(to));
    }

    fn waits(&self, to: &mut Vec<Origin>) {
        self.iter().for_each(|handle| handle.waits(to));
    }

    fn is_recorded(&self) -> bool {
        self.iter().all(Gives::is_recorded)
    }

    fn gather(&self, from: Values<'_>) -> Result<Vec<T>, InputProblem> {
        self.iter().map(|handle| handle.gather(from)).collect()
    }
}

macro_rules! tuple {
    ($($H:ident $T:ident $i:tt),+) => {
        impl<$($T, $H: Gives<$T>),+> Gives<($($T,)+)> for ($($H,)+) {
            fn sources(&self, to: &mut Vec<Origin>) {
                $(self.$i.sources(to);)+
            }

            fn waits(&self, to: &mut Vec<Origin>) {
                $(self.$i.waits(to);)+
            }

            fn is_recorded(&self) -> bool {
                $(self.$i.is_recorded())&&+
            }

            fn gather(&self, from: Values<'_>) -> Result<($($T,)+), InputProblem> {
                Ok(($(self.$i.gather(from)?,)+))
            }
        }
    };
}

tuple!(HA A 0);
tuple!(HA A 0, HB B 1);
tuple!(HA A 0, HB B 1, HC C 2);
tuple!(HA A 0, HB B 1, HC C 2, HD D 3);
tuple!(HA A 0, HB B 1, HC C 2, HD D 3, HE E 4);
tuple!(HA A 0, HB B 1, HC C 2, HD D 3, HE E 4, HF F 5);
tuple!(HA A 0, HB B 1, HC C 2, HD D 3, HE E 4, HF F 5, HG G 6);
tuple!(HA A 0, HB B 1, HC C 2, HD D 3, HE E 4, HF F 5, HG G 6, HH H 7);
