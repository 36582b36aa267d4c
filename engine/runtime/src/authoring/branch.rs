//! Branches: parts of a workflow that a saga may not take.

use std::sync::Arc;

use amends_core::plan::{BranchPlan, Input, Merge, Side, Source};
use amends_core::{BranchIx, StepIx};

use super::builder::{AfterPivot, CanTurnBack, PastPivot, SagaBuilder};
use super::context::StepContext;
use super::error::StepError;
use super::gives::Gives;
use super::handle::Handle;
use super::payload::{Never, Payload};
use super::step::{AllowedIn, Compensate, NoEffectAtAll, Settles, SettlesUndo, Step};

/// Declares the steps of one side of a branch, with the words of the [`SagaBuilder`] around it.
///
/// There is no pivot in a branch: the point of no return cannot be skipped. The handles made here are usable
/// here only; what the side gives is what its function returns. `finish()` refuses a leak by name.
pub struct BranchBuilder<'a, I, P> {
    saga: &'a mut SagaBuilder<I, P>,
}

impl<I: Payload, P> SagaBuilder<I, P> {
    /// Steps that only some sagas take: the handle gives what the side gives, or `None`.
    ///
    /// The condition is a pure function of recorded values, evaluated once as soon as they are there; its answer
    /// is journalled and never asked for again. If it does not hold, every step of the side is skipped in that
    /// very transition. A condition that panics, or whose values are missing, puts the side's first step into
    /// quarantine; nothing was sent.
    ///
    /// ```
    /// # use amends::prelude::*;
    /// # async fn price(_: StepContext, order: String) -> Result<u64, StepError<Never>> { Ok(order.len() as u64) }
    /// # async fn discount(_: StepContext, price: u64) -> Result<u64, StepError<Never>> { Ok(price / 10) }
    /// # async fn total(_: StepContext, of: (u64, Option<u64>)) -> Result<u64, StepError<Never>> {
    /// #     Ok(of.0 - of.1.unwrap_or(0))
    /// # }
    /// let (mut s, order) = SagaBuilder::<String>::new("quote", 1);
    /// let price = s.read_fn("price", order, price);
    /// let large = price.map(|price| price >= 100);
    /// let discount: Handle<Option<u64>> =
    ///     s.when("large-order", large, |b| b.read_fn("discount", price, discount));
    /// let total = s.read_fn("total", (price, discount), total);
    /// let saga = s.finish(total)?;
    /// # Ok::<(), amends::PlanErrors>(())
    /// ```
    pub fn when<T, C, F>(&mut self, name: &'static str, condition: C, side: F) -> Handle<Option<T>>
    where
        T: Payload,
        C: Gives<bool>,
        F: FnOnce(&mut BranchBuilder<'_, I, P>) -> Handle<T>,
    {
        let branch = self.open(name, condition, Option::<T>::schema());
        let gives = self.side(branch, true, side);
        self.close(branch, name, Merge::When(gives))
    }

    /// One side or the other: the handle gives what the side gives that was taken, the first if the condition
    /// holds. Everything else is as for [`SagaBuilder::when`].
    pub fn either<T, C, F, G>(&mut self, name: &'static str, condition: C, first: F, second: G) -> Handle<T>
    where
        T: Payload,
        C: Gives<bool>,
        F: FnOnce(&mut BranchBuilder<'_, I, P>) -> Handle<T>,
        G: FnOnce(&mut BranchBuilder<'_, I, P>) -> Handle<T>,
    {
        let branch = self.open(name, condition, T::schema());
        let taken = self.side(branch, true, first);
        let otherwise = self.side(branch, false, second);
        self.close(branch, name, Merge::Either { taken, otherwise })
    }

    /// A branch, before its sides are known.
    fn open<C: Gives<bool>>(&mut self, name: &'static str, condition: C, schema: String) -> BranchIx {
        let user = format!("the condition of branch `{name}`");
        let sources = self.own(&user, |to| condition.sources(to));
        let after = self.waits(&user, |to| condition.waits(to));
        let nothing_yet = Merge::When(Source::SagaInput);
        self.declared.branches.push(BranchPlan {
            name: name.into(),
            within: self.place,
            condition: if condition.is_recorded() {
                Input::Recorded(sources)
            } else {
                Input::Shaped(sources)
            },
            after,
            taken: Vec::new(),
            otherwise: Vec::new(),
            gives: nothing_yet,
            schema,
        });
        self.declared.conditions.push(Arc::new(condition));
        BranchIx(self.declared.branches.len() - 1)
    }

    /// Everything that `declare` declares stands on this side.
    fn side<T>(
        &mut self,
        branch: BranchIx,
        taken: bool,
        declare: impl FnOnce(&mut BranchBuilder<'_, I, P>) -> Handle<T>,
    ) -> Source {
        let around = self.place.replace(Side { branch, taken });
        let gives = declare(&mut BranchBuilder { saga: self });
        self.place = around;
        let user = format!("the value of branch `{}`", self.declared.branches[branch.0].name);
        let own = self.own(&user, |to| to.push(gives.origin));
        own.first().copied().unwrap_or(Source::SagaInput)
    }

    fn close<T>(&mut self, branch: BranchIx, name: &'static str, gives: Merge) -> Handle<T> {
        self.declared.branches[branch.0].gives = gives;
        Handle::new(self.origin(Source::Branch(branch), name))
    }

    /// Notes where a step stands.
    pub(super) fn stand(&mut self, step: StepIx) {
        if let Some(Side { branch, taken }) = self.place {
            let branch = &mut self.declared.branches[branch.0];
            if taken { &mut branch.taken } else { &mut branch.otherwise }.push(step);
        }
    }

    /// The steps behind `.after(…)`. To wait for a branch is to wait for everything inside it.
    pub(super) fn waits(&mut self, user: &str, collect: impl FnOnce(&mut Vec<super::Origin>)) -> Vec<StepIx> {
        let mut steps = Vec::new();
        for source in self.own(user, collect) {
            match source {
                Source::SagaInput => {}
                Source::Step(step) => {
                    if let Some(locked) = self.locked(self.place_of(step)) {
                        let of = self.declared.steps[step.0].name.clone();
                        self.problems.push(leak(user, &of, &locked));
                    }
                    steps.push(step);
                }
                Source::Branch(branch) => {
                    if let Some(locked) = self.locked(self.declared.branches[branch.0].within) {
                        let of = self.declared.branches[branch.0].name.clone();
                        self.problems.push(leak(user, &of, &locked));
                    }
                    steps.extend(
                        (0..self.declared.steps.len()).map(StepIx).filter(|step| {
                            self.around(self.place_of(*step)).any(|side| side.branch == branch)
                        }),
                    );
                }
            }
        }
        steps.dedup();
        steps
    }

    /// The branch that keeps what stands at `place` from being used here.
    fn locked(&self, place: Option<Side>) -> Option<Arc<str>> {
        let visible = place.is_none_or(|place| self.around(self.place).any(|side| side == place));
        place.filter(|_| !visible).map(|side| self.declared.branches[side.branch.0].name.clone())
    }

    fn place_of(&self, step: StepIx) -> Option<Side> {
        let mut sides = (0..self.declared.branches.len())
            .flat_map(|branch| [true, false].map(|taken| Side { branch: BranchIx(branch), taken }));
        sides.find(|side| self.declared.branches[side.branch.0].side(side.taken).contains(&step))
    }

    fn around(&self, place: Option<Side>) -> impl Iterator<Item = Side> + '_ {
        std::iter::successors(place, |side| self.declared.branches[side.branch.0].within)
    }
}

fn leak(user: &str, of: &str, branch: &str) -> String {
    format!(
        "{user} waits for `{of}`, which is made inside the branch `{branch}` and may never be: wait for the \
         branch"
    )
}

impl<I: Payload, P> BranchBuilder<'_, I, P> {
    /// As [`SagaBuilder::step`].
    pub fn step<S, H>(&mut self, name: &'static str, step: S, input: H) -> Handle<S::Output>
    where
        P: CanTurnBack,
        S: Compensate,
        S::Settle: Settles<S>,
        S::UndoSettle: SettlesUndo<S>,
        H: Gives<S::Input>,
    {
        self.saga.step(name, step, input)
    }

    /// As [`SagaBuilder::read`].
    pub fn read<S, H>(&mut self, name: &'static str, step: S, input: H) -> Handle<S::Output>
    where
        S: Step,
        S::Settle: NoEffectAtAll,
        S::Refusal: AllowedIn<P>,
        H: Gives<S::Input>,
    {
        self.saga.read(name, step, input)
    }

    /// As [`SagaBuilder::read_fn`].
    pub fn read_fn<A, T, H, F, Fut>(&mut self, name: &'static str, input: H, f: F) -> Handle<T>
    where
        A: Payload,
        T: Payload,
        H: Gives<A>,
        F: Fn(StepContext, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, StepError<Never>>> + Send + 'static,
    {
        self.saga.read_fn(name, input, f)
    }

    /// As [`SagaBuilder::retriable`].
    pub fn retriable<S, H>(&mut self, name: &'static str, step: S, input: H) -> Handle<S::Output>
    where
        P: PastPivot,
        S: Step,
        S::Settle: Settles<S>,
        S::Refusal: AllowedIn<AfterPivot>,
        H: Gives<S::Input>,
    {
        self.saga.retriable(name, step, input)
    }

    /// As [`SagaBuilder::when`]: a branch inside this one.
    pub fn when<T, C, F>(&mut self, name: &'static str, condition: C, side: F) -> Handle<Option<T>>
    where
        T: Payload,
        C: Gives<bool>,
        F: FnOnce(&mut BranchBuilder<'_, I, P>) -> Handle<T>,
    {
        self.saga.when(name, condition, side)
    }

    /// As [`SagaBuilder::either`]: a branch inside this one.
    pub fn either<T, C, F, G>(&mut self, name: &'static str, condition: C, first: F, second: G) -> Handle<T>
    where
        T: Payload,
        C: Gives<bool>,
        F: FnOnce(&mut BranchBuilder<'_, I, P>) -> Handle<T>,
        G: FnOnce(&mut BranchBuilder<'_, I, P>) -> Handle<T>,
    {
        self.saga.either(name, condition, first, second)
    }
}
