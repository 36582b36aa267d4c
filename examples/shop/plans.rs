//! The shapes of the shop's workflows, without anybody who would run them.

use std::sync::Arc;

use amends::Saga;
use amends::core::SagaPlan;
use amends::ports::{DefinitionRef, SystemClock};
use amends_workflows::{policies::policies, ports};
use anyhow::Context as _;

use crate::Unusable;
use crate::participants::{self, Participants};
use crate::workflows::Workflows;

/// One plan of each workflow.
pub struct Plans([Arc<SagaPlan>; 3]);

impl Plans {
    /// Those of workflows that call these participants.
    ///
    /// # Errors
    /// When a definition is wrong.
    pub fn of(ports: &ports::Participants) -> anyhow::Result<Self> {
        let Workflows { order, payment, refund } = Workflows::on(ports)?;
        Ok(Self([resolved(&order)?, resolved(&payment)?, resolved(&refund)?]))
    }

    /// Nobody is called, so the participants here stand on an empty file of their own, and those of the database
    /// are left alone.
    ///
    /// # Errors
    /// When that file cannot be made.
    pub async fn without_participants() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
        let nobody = participants::Place::File(folder.path().join("nobody"));
        let nobody = Participants::open(&nobody, 1.0, Arc::new(SystemClock::new())).await?;
        Self::of(&nobody.ports())
    }

    /// The shape that a saga runs by.
    ///
    /// # Errors
    /// When this program does not know it.
    pub fn of_saga(&self, wanted: &DefinitionRef) -> Result<Arc<SagaPlan>, Unusable> {
        let Some(plan) = self.0.iter().find(|plan| plan.workflow == wanted.workflow) else {
            return Err(Unusable::new(
                format!("the shop has no workflow `{}`", wanted.workflow),
                "look at another saga",
            ));
        };
        if (plan.version, plan.digest.0) != (wanted.version, wanted.digest) {
            return Err(Unusable::new(
                format!("{} version {} of this database has another shape", wanted.workflow, wanted.version),
                "look at it with the program that began it",
            ));
        }
        Ok(plan.clone())
    }
}

fn resolved<I, O>(saga: &Saga<I, O>) -> anyhow::Result<Arc<SagaPlan>> {
    Ok(saga.resolve(&policies(1.0))?.plan)
}
