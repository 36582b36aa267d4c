//! A batch that is refused for its content is halved until the culprit stands alone.

use amends::ports::{Fault, Verdict, WriteStats};
use amends_core::Incarnation;
use async_trait::async_trait;

use crate::failure::Failure;
use crate::prepared::Prepared;
use crate::stats::Counters;

/// The verdicts of a batch that has committed, by position in it, and what it wrote.
pub(crate) struct Written {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) stats: WriteStats,
}

/// Writes a batch whole or not at all.
#[async_trait]
pub(crate) trait WriteBatch {
    async fn write(&mut self, incarnation: Incarnation, part: &[Prepared]) -> Result<Written, Failure>;
}

/// Writes `batch`, in parts if need be; the verdicts come with the positions in the caller's batch.
pub(crate) async fn write(
    writer: &mut impl WriteBatch,
    counters: &Counters,
    incarnation: Incarnation,
    batch: &[Prepared],
) -> Result<Vec<(usize, Verdict)>, Fault> {
    let mut verdicts = Vec::with_capacity(batch.len());
    let mut parts = vec![batch];
    while let Some(part) = parts.pop() {
        match (writer.write(incarnation, part).await, part) {
            (Ok(written), _) => {
                counters.add(&written.stats);
                verdicts.extend(part.iter().map(|commit| commit.position).zip(written.verdicts));
            }
            (Err(Failure::Content(reason)), [culprit]) => {
                verdicts.push((culprit.position, Verdict::Unstorable { reason }));
            }
            (Err(Failure::Content(_)), [_, ..]) => {
                counters.add(&WriteStats { splits: 1, ..WriteStats::default() });
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
            (Err(failure), _) => return Err(failure.into_fault()),
        }
    }
    Ok(verdicts)
}
