//! What the engine needs from the outside: a store, mail, controls, a clock, ids.

mod clock;
mod content;
mod control;
mod forward;
mod hints;
mod ids;
mod intake;
mod labels;
mod lists;
mod mail;
mod nodes;
mod notifier;
mod outbox;
mod publisher;
mod purge;
mod registry;
mod rows;
mod stats;
mod store;

pub use clock::{Clock, SystemClock};
pub(crate) use content::tenant;
pub use content::{KEY_BYTES_MAX, VERSION_MAX};
pub use control::{
    CONTROL_BYTES_MAX, CONTROLS_MAX, ControlOrder, ControlRow, ControlStore, Ordered, StoredOrder,
};
pub use forward::{Access, Forward};
pub use hints::Hints;
pub use ids::{Ids, RandomIds};
pub use intake::{
    Closing, Disposition, Filed, INTAKE_NAME_BYTES_MAX, INTAKE_OPEN_MAX, INTAKE_PAGE_MAX,
    INTAKE_RAW_BYTES_MAX, INTAKE_WORDS_BYTES_MAX, IntakeClosing, IntakeFilter, IntakePut, IntakeReason,
    IntakeRow, IntakeStore, RawMessage,
};
pub use labels::{
    LABEL_NAME_BYTES_MAX, LABEL_TEXT_BYTES_MAX, LABELS_MAX, Label, LabelValue, TENANT_BYTES_MAX,
};
pub use lists::{
    Damaged, DeskCursor, DeskEntry, DeskFilter, DeskGroup, DeskPage, DeskQuery, PAGE_MAX, SagaFilter,
    SagaPage,
};
pub use mail::{
    ConsumedMail, MAIL_BODY_BYTES_MAX, MAIL_KEY_BYTES_MAX, MAIL_OPEN_MAX, Mail, MailKind, Posted, SagaMail,
    StoredMail,
};
pub use nodes::{NodeStore, Peer, Sharing};
pub(crate) use notifier::Notifying;
pub use notifier::{Notice, Notifier};
pub use outbox::{
    LetGo, OUTBOX_BYTES_MAX, OUTBOX_LANES, OUTBOX_ROWS_MAX, OUTBOX_SUBJECT_BYTES_MAX, OutboxCount,
    OutboxKind, OutboxMessage, OutboxPlace, OutboxRow, OutboxStanding, OutboxStore, REFUSAL_WAIT_MAX,
    RefusedMessage, lane_of, message_id,
};
pub use publisher::{PublishError, Published, Publisher};
pub use purge::{PurgeStore, kept_outcome};
pub use registry::{Introduced, NodeProfile, NodeRegistry, NodeRow, OpenSagas};
pub use rows::{
    CompensationChange, CompensationParticulars, CompensationRow, DefinitionRef, ItemChange, JournalRow,
    NewSaga, PreparedStart, Release, SagaChange, SagaRow, WORK_ITEM_TEXT_BYTES_MAX, WorkItemRow,
};
pub use stats::WriteStats;
pub use store::{
    CLOCK_TOLERANCE, Claim, Commit, Fault, Loaded, SagaQuery, SagaStore, Store, StoreCounts, Verdict,
};
