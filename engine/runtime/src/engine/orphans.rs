//! What a release would strand: open sagas whose definition is not registered here.

use std::collections::BTreeMap;

use amends_core::SagaId;
use amends_core::state::Phase;

use super::Engine;
use crate::ports::{DefinitionRef, Fault, SagaFilter};

/// Open sagas of one definition that this engine cannot run. Nothing happens to them here: a node that has the
/// definition takes them when they are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranded {
    /// What they run. The name and version may be registered here with another shape.
    pub definition: DefinitionRef,
    /// How many there are.
    pub sagas: u64,
    /// The oldest of them.
    pub oldest: SagaId,
}

/// Sagas read at a time.
const PAGE: u32 = 1_000;

impl Engine {
    /// Open sagas whose definition is not registered here, by definition, in order of name and version: what
    /// would be left without a node if every node were as this one. Ask it of an engine of the next release
    /// before the last node of the old one goes.
    ///
    /// Sagas that were set aside are left out: a person looks after them anyway. It reads every open saga's row
    /// once, a page at a time, and so takes as long as there are many.
    ///
    /// # Errors
    /// When the store does not answer, or a row cannot be read.
    pub async fn orphans(&self) -> Result<Vec<Stranded>, Fault> {
        let mut stranded: BTreeMap<(String, u32, [u8; 32]), Stranded> = BTreeMap::new();
        for phase in [Phase::Running, Phase::Compensating] {
            let phase = Some(phase.word().to_owned());
            let mut filter = SagaFilter { workflow: None, phase, after: None, limit: PAGE };
            loop {
                let rows = self.0.query.list(&filter).await?;
                filter.after = rows.last().map(|row| row.id);
                if rows.is_empty() {
                    break;
                }
                for row in rows {
                    if row.set_aside.is_some() || self.0.definitions.find(&row.definition).is_some() {
                        continue;
                    }
                    let definition = &row.definition;
                    let name = (definition.workflow.to_string(), definition.version, definition.digest);
                    let first = || Stranded { definition: definition.clone(), sagas: 0, oldest: row.id };
                    let of_its_kind = stranded.entry(name).or_insert_with(first);
                    of_its_kind.sagas += 1;
                    of_its_kind.oldest = of_its_kind.oldest.min(row.id);
                }
            }
        }
        Ok(stranded.into_values().collect())
    }
}
