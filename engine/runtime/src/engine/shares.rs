//! How lanes share what an engine, or a dependency, can bear.

/// How the four lanes share permits while they compete: before the bound of the engine, and before each dependency.
///
/// Only the proportions count. A lane that has nothing to send leaves its share to the others, so nothing idles
/// while something waits. While first attempts wait, retries have at most `retry` of every `first + retry` permits,
/// and less where the other lanes wait too. A share of zero counts as one: no lane starves.
///
/// The defaults are a choice and no measurement: half for new work, and for what ends old work (reconciliation,
/// compensation) twice as much as for trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneShares {
    /// First attempts of forward actions. Default 5.
    pub first: u32,
    /// Retries of forward actions. Default 1.
    pub retry: u32,
    /// Queries and repeats. Default 2.
    pub reconciliation: u32,
    /// Attempts of compensations. Default 2.
    pub compensation: u32,
}

impl Default for LaneShares {
    fn default() -> Self {
        Self { first: 5, retry: 1, reconciliation: 2, compensation: 2 }
    }
}
