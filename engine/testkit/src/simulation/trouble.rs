//! What can go wrong, by kind.

use std::fmt;
use std::str::FromStr;

macro_rules! troubles {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal,)*) => {
        /// A kind of fault, or of what makes faults possible. Each seed has a random part of them, with random rates (swarm testing): what all
        /// kinds together would drown, a few of them alone show.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Trouble {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Trouble {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name on the command line.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

troubles! {
    /// A node dies at a commit, before or after it is durable.
    Crash = "crash",
    /// A commit takes effect, and its answer is lost.
    LostCommit = "lost-commit",
    /// A commit's answer is lost, and the commit itself comes through later, after it was submitted again.
    GhostCommit = "ghost-commit",
    /// A claim takes effect, and its answer is lost.
    LostClaim = "lost-claim",
    /// A call of the store takes its time.
    StoreStall = "store-stall",
    /// The store answers nobody for a while.
    StoreOutage = "store-outage",
    /// A node dies at a random moment.
    Kill = "kill",
    /// A node stands still for a while and wakes, within its lease or past it.
    Freeze = "freeze",
    /// All nodes stand still at once: nobody has observed anybody.
    FrozenObservers = "frozen-observers",
    /// A live node loses its way to the store, for less than a lease or more.
    LostWay = "lost-way",
    /// A node shuts down in an orderly way, and another one comes.
    Drain = "drain",
    /// Nodes begin with clocks that are ahead: a little, more than the tolerance, or an hour.
    ClockSkew = "clock-skew",
    /// A node is replaced by one that knows a new version of every workflow beside the old one.
    Deploy = "deploy",
    /// Participants take their time, sometimes more than an attempt has.
    Slow = "slow",
    /// A request takes effect long after its sender has given up.
    LateEffect = "late-effect",
    /// A request arrives twice.
    Twice = "twice",
    /// A request is lost, and nobody knows.
    LostRequest = "lost-request",
    /// A reply is lost.
    LostReply = "lost-reply",
    /// Nobody ever answers.
    Silence = "silence",
    /// A known failure that may work later.
    Transient = "transient",
    /// A known failure that does not heal by itself.
    Persistent = "persistent",
    /// The participant says no.
    Refusal = "refusal",
    /// It takes effect in part.
    Partial = "partial",
    /// It is taken, and answered later.
    Accepted = "accepted",
    /// A query knows what was so some time ago.
    QueryLag = "query-lag",
    /// A query fails, or nobody answers it.
    QueryFails = "query-fails",
    /// A query says what is not so.
    QueryLie = "query-lie",
    /// The same start comes again, from anywhere.
    DuplicateStart = "duplicate-start",
    /// A start of the same key comes with another input, from anywhere.
    ConflictingStart = "conflicting-start",
    /// Somebody cancels, at any moment.
    Cancel = "cancel",
    /// A person at a desk, or out of the blue, decides something, at any moment.
    Verbs = "verbs",
    /// A participant's answer comes by another way, late, again, or about what it never did.
    Replies = "replies",
    /// A person pauses a saga for a while.
    Pause = "pause",
    /// Dependencies can bear little: few calls at once, a rate, a retry budget, a breaker.
    Scarce = "scarce",
    /// Starts do not come evenly, but many at once.
    Rush = "rush",
    /// A participant's machine dies, with the calls under way, and comes back.
    ParticipantDeath = "participant-death",
    /// More replies come for one saga at once than may wait unread.
    MailFlood = "mail-flood",
    /// Two people decide the same entry of a desk at once, through two nodes, and one of them asks twice.
    Race = "race",
    /// People hold the starts of a workflow, pause it, limit a dependency, or drain a node, and let it go on later.
    Controls = "controls",
    /// Somebody's open transaction holds what one commit of a batch needs.
    Held = "held",
    /// Sagas are started by events, which come through a broker.
    Events = "events",
    /// Steps are commands, which leave through the outbox and are answered through the broker.
    Commands = "commands",
    /// A publish does not arrive, and nobody answers.
    LostPublish = "lost-publish",
    /// A publish arrives, and its acknowledgement is lost.
    UnheardPublish = "unheard-publish",
    /// A publish that nobody acknowledged comes through later, within the duplicate window or after it.
    LatePublish = "late-publish",
    /// An acknowledgement of a message is lost: it comes again.
    LostAck = "lost-ack",
    /// An acknowledgement of a message comes late, perhaps after it came again.
    LateAck = "late-ack",
    /// A message is delivered to two at once.
    Doubled = "doubled",
    /// Messages overtake each other.
    Reordered = "reordered",
    /// Messages come late.
    Lag = "lag",
    /// The broker answers nobody for a while.
    BrokerOutage = "broker-outage",
    /// The broker starts again.
    BrokerRestart = "broker-restart",
    /// Streams have room for few messages, and refuse more.
    StreamFull = "stream-full",
    /// A participant also says the contrary of what it did.
    Contradiction = "contradiction",
    /// Something comes that is no event, or on which our own code fails.
    BadEvents = "bad-events",
    /// Sagas that ended are purged, and perhaps forgotten; starts and replies come again after that.
    Purge = "purge",
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// There is no such kind of fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to read the kind of fault `{0}`: use one of {words}", words = words())]
pub struct UnknownTrouble(String);

fn words() -> String {
    Trouble::ALL.iter().map(|trouble| trouble.word()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Trouble {
    type Err = UnknownTrouble;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|trouble| trouble.word() == word);
        found.copied().ok_or_else(|| UnknownTrouble(word.to_owned()))
    }
}
