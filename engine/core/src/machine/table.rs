//! The transition table: which stage follows which, and through what. The state diagram in the documents is
//! drawn from it.
//!
//! Every state is listed for every moment (no `_ =>`), so a new moment or stage is a compile error until each
//! has an answer.

use std::fmt::Write as _;

use crate::state::Stage;

/// What can happen to one action, as the table sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Everything it waits for is there.
    Unblocked,
    /// An attempt was journalled as started; of an unknown action: a repeat.
    Started,
    /// A started attempt was certainly never sent.
    Withdrawn,
    /// It took effect.
    Succeeded,
    /// It took effect in part.
    PartlyApplied,
    /// It was finally refused, or rejected by a person.
    Refused,
    /// Known without effect, to be tried again.
    RetryPlanned,
    /// The outcome is open.
    BecameUnknown,
    /// Known without effect, for a person.
    Quarantined,
    /// Known without effect, and it will not happen.
    Skipped,
    /// A person granted a fresh budget, or approved a stale compensation.
    Resumed,
    /// A person let the retry begin now.
    Hurried,
    /// A dispute was settled: it took effect after all.
    FoundApplied,
    /// A dispute was settled: it took effect in part.
    FoundPartial,
    /// A dispute was settled: it had no effect after all.
    FoundWithout,
    /// A person found that what was built upon had no effect: how it goes on is for a person to say.
    Reopened,
}

impl Moment {
    /// Every moment.
    pub const ALL: [Self; 16] = [
        Self::Unblocked,
        Self::Started,
        Self::Withdrawn,
        Self::Succeeded,
        Self::PartlyApplied,
        Self::Refused,
        Self::RetryPlanned,
        Self::BecameUnknown,
        Self::Quarantined,
        Self::Skipped,
        Self::Resumed,
        Self::Hurried,
        Self::FoundApplied,
        Self::FoundPartial,
        Self::FoundWithout,
        Self::Reopened,
    ];

    /// The label in the diagram.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unblocked => "unblocked",
            Self::Started => "started",
            Self::Withdrawn => "withdrawn",
            Self::Succeeded => "success",
            Self::PartlyApplied => "partial",
            Self::Refused => "refused",
            Self::RetryPlanned => "retry",
            Self::BecameUnknown => "unknown",
            Self::Quarantined => "quarantine",
            Self::Skipped => "skip",
            Self::Resumed => "resume",
            Self::Hurried => "retry now",
            Self::FoundApplied => "found applied",
            Self::FoundPartial => "found partial",
            Self::FoundWithout => "found without effect",
            Self::Reopened => "reopened",
        }
    }
}

/// The stage after `moment`; none where that cannot happen.
pub fn next(stage: Stage, moment: Moment) -> Option<Stage> {
    use Stage::{
        Partial, Pending, Quarantined, Ready, Reconciling, RetryScheduled, Running, Skipped, Succeeded,
        TerminalRejected,
    };
    match moment {
        Moment::Unblocked => match stage {
            Pending => Some(Ready),
            Ready | Running | RetryScheduled | Reconciling | Quarantined => None,
            Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::Started => match stage {
            Ready | RetryScheduled => Some(Running),
            Reconciling => Some(Reconciling),
            Pending | Running | Quarantined | Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::Withdrawn => match stage {
            Running => Some(Ready),
            Reconciling => Some(Reconciling),
            Pending | Ready | RetryScheduled | Quarantined => None,
            Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::Succeeded => match stage {
            Ready | Running | RetryScheduled | Reconciling | Quarantined => Some(Succeeded),
            Pending | Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::PartlyApplied => match stage {
            Ready | Running | RetryScheduled | Reconciling | Quarantined => Some(Partial),
            Pending | Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::Refused => match stage {
            Ready | Running | RetryScheduled | Reconciling | Quarantined => Some(TerminalRejected),
            Pending | Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::RetryPlanned => match stage {
            Running | Reconciling => Some(RetryScheduled),
            Pending | Ready | RetryScheduled | Quarantined => None,
            Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::BecameUnknown => match stage {
            Ready | Running | RetryScheduled | Reconciling | Quarantined => Some(Reconciling),
            Pending | Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::Quarantined => match stage {
            Pending | Ready | Running | RetryScheduled | Reconciling | Quarantined => Some(Quarantined),
            Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::Skipped => match stage {
            Pending | Ready | Running | RetryScheduled | Reconciling | Quarantined => Some(Skipped),
            Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::Resumed => match stage {
            Quarantined => Some(Ready),
            Pending | Ready | Running | RetryScheduled | Reconciling => None,
            Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::Hurried => match stage {
            RetryScheduled => Some(Ready),
            Pending | Ready | Running | Reconciling | Quarantined => None,
            Succeeded | Partial | TerminalRejected | Skipped => None,
        },
        Moment::FoundApplied => match stage {
            Partial | TerminalRejected | Skipped => Some(Succeeded),
            Pending | Ready | Running | RetryScheduled | Reconciling | Quarantined | Succeeded => None,
        },
        Moment::FoundPartial => match stage {
            Succeeded | TerminalRejected | Skipped => Some(Partial),
            Pending | Ready | Running | RetryScheduled | Reconciling | Quarantined | Partial => None,
        },
        Moment::FoundWithout => match stage {
            Succeeded | Partial => Some(Skipped),
            Pending | Ready | Running | RetryScheduled | Reconciling | Quarantined => None,
            TerminalRejected | Skipped => None,
        },
        Moment::Reopened => match stage {
            Succeeded | Partial => Some(Quarantined),
            Pending | Ready | Running | RetryScheduled | Reconciling | Quarantined => None,
            TerminalRejected | Skipped => None,
        },
    }
}

/// The table as a Mermaid state diagram.
pub fn diagram() -> String {
    let mut text = String::from("stateDiagram-v2\n    [*] --> PENDING\n");
    for from in Stage::ALL {
        for to in Stage::ALL {
            let labels: Vec<&str> =
                Moment::ALL.iter().filter(|m| next(from, **m) == Some(to)).map(|m| m.label()).collect();
            if !labels.is_empty() {
                let _ = writeln!(text, "    {} --> {} : {}", from.name(), to.name(), labels.join(", "));
            }
        }
        if from.is_settled() {
            let _ = writeln!(text, "    {} --> [*]", from.name());
        }
    }
    text
}
