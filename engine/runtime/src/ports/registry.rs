//! What nodes say of themselves when they join, and what would be left without a node.
//!
//! A node is known by its row in `node`, which stays after it is gone: "what did the deploy change?".

use std::sync::Arc;
use std::time::Duration;

use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::rows::DefinitionRef;
use super::store::Fault;

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeProfile {
    /// The build it runs, as its own release names it.
    pub build: Option<String>,
    /// Where it runs.
    pub host: Option<String>,
    /// What it can run.
    pub definitions: Vec<DefinitionRef>,
    /// How long the others may see its counter unchanged; none where one process owns the store.
    pub lease: Option<Duration>,
}

/// A node, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// What it calls itself.
    pub node: String,
    /// When it joined.
    pub started_at: Timestamp,
    /// What it says of itself; nothing, until it has.
    pub profile: NodeProfile,
}

/// What became of an introduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Introduced {
    /// It is written down.
    Welcome,
    /// Live nodes have another lease, and nothing was written: these.
    OtherLease(Vec<NodeRow>),
}

/// Open sagas of one definition: running or compensating, and not set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSagas {
    /// What they run.
    pub definition: DefinitionRef,
    /// How many there are.
    pub sagas: u64,
    /// The oldest of them.
    pub oldest: SagaId,
}

/// The side of a store that knows what nodes can run.
///
/// # Guarantees asked of an implementation
/// * `introduce` may be repeated; the last one counts. Of two nodes with different leases that introduce themselves
///   at once, one is refused.
/// * As in [`SagaStore`](super::SagaStore), no method may be raced against a timer by its caller.
#[async_trait]
pub trait NodeRegistry: Send + Sync + 'static {
    /// Writes down what an incarnation that has joined says of itself, unless a live node has another lease.
    ///
    /// # Errors
    /// [`Fault::Fenced`] without `worker` row: it never joined, or was dismissed.
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault>;

    /// Did this incarnation ever join this store? Its row in `node` stays after it is gone.
    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault>;

    /// Every node with a `worker` row, in order of their incarnations. What cannot be read is said in the log and counts as not
    /// said.
    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault>;

    /// Open sagas by definition, in order of name, version and digest. It reads every open saga's row once.
    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault>;
}

/// A definition as it stands in a row.
#[derive(Serialize, Deserialize)]
struct Written {
    workflow: Arc<str>,
    version: u32,
    digest: String,
}

impl NodeProfile {
    /// Its definitions, as JSON text.
    pub fn definitions_text(&self) -> String {
        let written = self.definitions.iter().map(|definition| Written {
            workflow: definition.workflow.clone(),
            version: definition.version,
            digest: definition.digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
        serde_json::to_string(&written.collect::<Vec<_>>()).expect("it has string keys only, so it encodes")
    }

    /// Definitions that [`definitions_text`](Self::definitions_text) wrote.
    ///
    /// # Errors
    /// The reason why the text cannot be read.
    pub fn read_definitions(text: &str) -> Result<Vec<DefinitionRef>, String> {
        let written: Vec<Written> =
            serde_json::from_str(text).map_err(|error| format!("read the definitions of a node: {error}"))?;
        let read = written.into_iter().map(|Written { workflow, version, digest }| {
            let digest = unhex(&digest).ok_or_else(|| format!("`{digest}` is no digest of a definition"))?;
            Ok(DefinitionRef { workflow, version, digest })
        });
        read.collect()
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let bytes: Option<Vec<u8>> =
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read_as_they_were_written() {
        let definition = |version| DefinitionRef { workflow: "order".into(), version, digest: [0xab; 32] };
        let profile =
            NodeProfile { definitions: vec![definition(1), definition(2)], ..NodeProfile::default() };
        let text = profile.definitions_text();
        assert_eq!(NodeProfile::read_definitions(&text), Ok(profile.definitions));
        assert!(NodeProfile::read_definitions(&text.replace("ab", "a")).is_err());
        assert!(NodeProfile::read_definitions("[").is_err());
    }
}
