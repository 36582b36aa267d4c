//! The definitions that an engine can run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use amends_core::SagaPlan;

use crate::authoring::{Condition, Definition, Labeller, Node};
use crate::ports::DefinitionRef;

/// A registered definition, with the reference that stores know it by.
pub(crate) struct Registered {
    pub(crate) plan: Arc<SagaPlan>,
    pub(crate) nodes: Arc<[Arc<dyn Node>]>,
    pub(crate) conditions: Arc<[Condition]>,
    pub(crate) labels: Option<Labeller>,
    pub(crate) reference: DefinitionRef,
}

impl Registered {
    /// It, as it was registered.
    pub(crate) fn definition(&self) -> Definition {
        let (nodes, conditions) = (self.nodes.clone(), self.conditions.clone());
        Definition { plan: self.plan.clone(), nodes, conditions, labels: self.labels.clone() }
    }
}

/// Every registered definition, by name and version.
#[derive(Default)]
pub(crate) struct Definitions {
    by_name: BTreeMap<(Arc<str>, u32), Arc<Registered>>,
}

impl Definitions {
    /// Adds one; answers the one that stands there if it has another shape.
    pub(crate) fn add(&mut self, definition: &Definition) -> Result<(), Arc<Registered>> {
        let plan = definition.plan.clone();
        let reference =
            DefinitionRef { workflow: plan.workflow.clone(), version: plan.version, digest: plan.digest.0 };
        let (nodes, conditions) = (definition.nodes.clone(), definition.conditions.clone());
        let labels = definition.labels.clone();
        let registered = Arc::new(Registered { plan, nodes, conditions, labels, reference });
        let name = (registered.reference.workflow.clone(), registered.reference.version);
        match self.by_name.get(&name) {
            Some(standing) if standing.reference != registered.reference => Err(standing.clone()),
            _ => {
                self.by_name.insert(name, registered);
                Ok(())
            }
        }
    }

    /// The definition of exactly this shape.
    pub(crate) fn find(&self, reference: &DefinitionRef) -> Option<&Arc<Registered>> {
        self.by_name
            .get(&(reference.workflow.clone(), reference.version))
            .filter(|registered| registered.reference == *reference)
    }

    /// The highest version of a workflow.
    pub(crate) fn latest(&self, workflow: &str) -> Option<&Arc<Registered>> {
        let from = (Arc::from(workflow), 0);
        let to = (Arc::from(workflow), u32::MAX);
        self.by_name.range(from..=to).next_back().map(|(_, registered)| registered)
    }

    /// Every dependency that a step of theirs names.
    pub(crate) fn dependencies(&self) -> BTreeSet<Arc<str>> {
        let steps = self.by_name.values().flat_map(|registered| &registered.plan.steps);
        steps.filter_map(|step| step.contract.dependency.as_deref().map(Arc::from)).collect()
    }

    /// All of them, for claims.
    pub(crate) fn references(&self) -> Arc<[DefinitionRef]> {
        self.by_name.values().map(|registered| registered.reference.clone()).collect()
    }
}
