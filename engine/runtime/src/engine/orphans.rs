//! What a release would strand: open sagas whose definition nobody has registered.

use amends_core::{Incarnation, SagaId};

use super::Engine;
use crate::ports::{DefinitionRef, Fault, NodeRow, OpenSagas};

/// Open sagas of one definition. Nothing happens to them where it is not registered: a node that has it takes them when
/// they are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranded {
    /// What they run. The name and version may be registered with another shape.
    pub definition: DefinitionRef,
    /// How many there are.
    pub sagas: u64,
    /// The oldest of them.
    pub oldest: SagaId,
}

/// Open sagas by who could run them, each list in order of name and version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// No live node has registered their definition: they wait until one does.
    pub stranded: Vec<Stranded>,
    /// Of the live nodes only this one has: they would be stranded if it left now. What a release asks of each old node
    /// before it is drained.
    pub only_here: Vec<Stranded>,
    /// This node has not: they would be stranded if every node were as this one. What a release asks of the first new
    /// node.
    pub not_here: Vec<Stranded>,
}

impl Engine {
    /// Open sagas that nobody can run, or that nobody could if nodes came and went: for checks before and during a
    /// release. What live nodes have registered is what they said when they joined.
    ///
    /// Sagas that were set aside are left out: a person looks after them anyway. The store counts every open saga once,
    /// so it takes as long as there are many.
    ///
    /// A row that cannot be read is said in the log and left out. What a node says of itself and cannot be read counts as not
    /// said: then sagas may be named stranded that it can run.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn orphans(&self) -> Result<Orphans, Fault> {
        // Sagas first: a node that joins between the two may have what they need.
        let open = self.0.reads.registry.open_sagas().await?;
        let nodes = self.0.reads.registry.live_nodes().await?;
        Ok(orphans(open, &nodes, self.0.incarnation))
    }

    /// Every live node: what it is called, where it runs, which build, what it has registered, in the order of
    /// incarnations. What cannot be read is said in the log and left out.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        self.0.reads.registry.live_nodes().await
    }

    /// Did this incarnation ever join this engine's store? So an adapter tells what a node of its own store left outside from
    /// what belongs to another store.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn has_joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        self.0.reads.registry.joined(incarnation).await
    }

    /// What this node is called, and on which host: `amends on warehouse-7`.
    pub fn node_name(&self) -> &str {
        &self.0.called
    }
}

fn orphans(open: Vec<OpenSagas>, nodes: &[NodeRow], me: Incarnation) -> Orphans {
    let has = |node: &&NodeRow, definition: &DefinitionRef| node.profile.definitions.contains(definition);
    let mut orphans = Orphans::default();
    for OpenSagas { definition, sagas, oldest } in open {
        let (mine, others): (Vec<&NodeRow>, Vec<&NodeRow>) =
            nodes.iter().filter(|node| has(node, &definition)).partition(|node| node.incarnation == me);
        let of = Stranded { definition, sagas, oldest };
        match (mine.is_empty(), others.is_empty()) {
            (true, true) => {
                orphans.stranded.push(of.clone());
                orphans.not_here.push(of);
            }
            (true, false) => orphans.not_here.push(of),
            (false, true) => orphans.only_here.push(of),
            (false, false) => {}
        }
    }
    orphans
}
