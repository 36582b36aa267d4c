//! A batch that is refused for its content, or that somebody else holds up, is halved until the culprits stand
//! alone. All others are written.

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

/// How often one batch is kept waiting before all the rest of it comes later, to blame or not. Finding one among 256
/// takes nine times, so many culprits would hold the others up for long. A batch of up to 16 commits is always
/// searched to its end: it takes 31 times at most.
const WAITS_MAX: u32 = 40;

/// Writes `batch`, in parts if need be; the verdicts come with the positions in the caller's batch.
pub(crate) async fn write(
    writer: &mut impl WriteBatch,
    counters: &Counters,
    incarnation: Incarnation,
    batch: &[Prepared],
) -> Result<Vec<(usize, Verdict)>, Fault> {
    let mut verdicts = Vec::with_capacity(batch.len());
    let mut parts = vec![batch];
    let mut waits = 0;
    while let Some(part) = parts.pop() {
        let failure = match writer.write(incarnation, part).await {
            Ok(written) => {
                counters.add(&written.stats);
                verdicts.extend(part.iter().map(|commit| commit.position).zip(written.verdicts));
                continue;
            }
            Err(failure) => failure,
        };
        waits += u32::from(matches!(failure, Failure::Held(_)));
        match (failure, part) {
            (Failure::Content(reason), [culprit]) => {
                verdicts.push((culprit.position, Verdict::Unstorable { reason }));
            }
            (Failure::Held(reason), [culprit]) => {
                verdicts.push((culprit.position, Verdict::Later { reason }));
            }
            (Failure::Held(reason), [_, ..]) if waits > WAITS_MAX => {
                let rest = parts.drain(..).chain([part]).flatten();
                let later = |commit: &Prepared| (commit.position, Verdict::Later { reason: reason.clone() });
                verdicts.extend(rest.map(later));
            }
            (Failure::Content(_) | Failure::Held(_), [_, ..]) => {
                counters.add(&WriteStats { splits: 1, ..WriteStats::default() });
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
            (failure, _) => return Err(failure.into_fault()),
        }
    }
    Ok(verdicts)
}
