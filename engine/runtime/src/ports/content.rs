//! What no store takes, whatever its technology: the same answer from every adapter.

use super::labels::{LABELS_MAX, Label, TENANT_BYTES_MAX};
use super::mail::ConsumedMail;
use super::outbox;
use super::rows::{CompensationChange, ItemChange, NewSaga, SagaChange, WorkItemRow};
use super::store::Commit;

/// The longest business key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;

/// The greatest version of a workflow.
pub const VERSION_MAX: u32 = 0x7fff_ffff;

impl Commit {
    /// Why no store can take this commit, if so; a store answers [`Verdict::Unstorable`](super::Verdict).
    ///
    /// NUL is the reason of most: PostgreSQL refuses it and SQLite's own functions stop reading at it, so a
    /// row that holds one would mean different things in different places.
    pub fn unstorable(&self) -> Option<String> {
        self.refusal().err()
    }

    /// Does it give its saga up so that anybody may take it at once?
    pub fn leaves_its_saga_due(&self) -> bool {
        let release = self.change.as_ref().and_then(|change| change.release);
        release.and_then(|release| release.wake_at).is_some_and(|at| at <= self.journal.at)
    }

    /// How much text it brings to the store, in bytes: what can be large of it, and so what bounds a batch.
    pub fn text_bytes(&self) -> usize {
        let Self { saga: _, start: _, journal, change: _, items, compensations, mail, outbox } = self;
        let items = items.iter().map(|item| match item {
            ItemChange::Put(row) => row.reason.len(),
            ItemChange::Remove(_) => 0,
        });
        let compensations = compensations.iter().map(|change| match change {
            CompensationChange::Requested { particulars, .. } => {
                let said = [
                    &particulars.expected,
                    &particulars.proposed,
                    &particulars.affected,
                    &particulars.dry_run,
                ];
                said.into_iter().flatten().map(|said| said.len()).sum()
            }
            CompensationChange::Approved { .. } => 0,
            CompensationChange::Ended { result, .. } => result.len(),
        });
        let answers = mail
            .iter()
            .map(|mail| mail.answer.len() + mail.brought.as_ref().map_or(0, |brought| brought.body.len()));
        let messages = outbox.iter().map(|row| row.subject.len() + row.headers.len() + row.body.len());
        journal.events.len()
            + items.sum::<usize>()
            + compensations.sum::<usize>()
            + answers.sum::<usize>()
            + messages.sum::<usize>()
    }

    fn refusal(&self) -> Result<(), String> {
        let journal = &self.journal;
        if journal.seq == 0 || i64::try_from(journal.seq).is_err() {
            return Err(format!("sequence {} is not between 1 and 2^63 - 1", journal.seq));
        }
        if (journal.seq == 1) != self.start.is_some() {
            return Err(format!("sequence {} and a start do not belong together", journal.seq));
        }
        no_nul("actor", &journal.actor)?;
        no_nul("events", &journal.events)?;
        self.start.as_ref().map_or(Ok(()), start)?;
        self.change.as_ref().map_or(Ok(()), change)?;
        self.items.iter().try_for_each(item)?;
        self.compensations.iter().try_for_each(compensation)?;
        self.mail.iter().try_for_each(consumed)?;
        outbox::storable(&self.outbox)
    }
}

pub(super) fn no_nul(name: &str, value: &str) -> Result<(), String> {
    // `contains` is a fast search, and the answer is nearly always no.
    if !value.as_bytes().contains(&0) {
        return Ok(());
    }
    let at = value.bytes().take_while(|byte| *byte != 0).count();
    Err(format!("{name} holds NUL at byte {at}"))
}

fn optional(name: &str, value: Option<&str>) -> Result<(), String> {
    value.map_or(Ok(()), |value| no_nul(name, value))
}

fn word(name: &str, value: &str, of: &[&str]) -> Result<(), String> {
    if of.contains(&value) { Ok(()) } else { Err(format!("{name} `{value}` is not one of {of:?}")) }
}

fn start(new: &NewSaga) -> Result<(), String> {
    no_nul("workflow", &new.definition.workflow)?;
    let version = new.definition.version;
    if version > VERSION_MAX {
        return Err(format!("version {version} of a workflow is greater than {VERSION_MAX}"));
    }
    no_nul("key", &new.key)?;
    if new.key.len() > KEY_BYTES_MAX {
        return Err(format!("key has {} bytes, more than {KEY_BYTES_MAX}", new.key.len()));
    }
    tenant(new.tenant.as_deref())?;
    if new.labels.len() > LABELS_MAX {
        return Err(format!("{} labels, more than {LABELS_MAX}", new.labels.len()));
    }
    new.labels.iter().find_map(Label::unstorable).map_or(Ok(()), Err)
}

/// Can a tenant be called so?
pub(crate) fn tenant(name: Option<&str>) -> Result<(), String> {
    let Some(name) = name else { return Ok(()) };
    if name.is_empty() || name.len() > TENANT_BYTES_MAX {
        return Err(format!("a tenant has 1 to {TENANT_BYTES_MAX} bytes, this one has {}", name.len()));
    }
    no_nul("tenant", name)
}

fn change(change: &SagaChange) -> Result<(), String> {
    word("phase", change.phase, &["running", "compensating", "completed", "compensated", "closed"])?;
    optional("outcome", change.outcome.as_deref())
}

fn item(change: &ItemChange) -> Result<(), String> {
    let row: &WorkItemRow = match change {
        ItemChange::Put(row) => row,
        ItemChange::Remove(item) => return no_nul("item", item),
    };
    word("desk", row.desk, &["quarantine", "reconciliation", "approval", "discrepancy"])?;
    no_nul("item", &row.item)?;
    no_nul("reason", &row.reason)?;
    no_nul("workflow", &row.workflow)?;
    no_nul("step", &row.step)?;
    no_nul("direction", &row.direction)?;
    no_nul("effect", row.effect)?;
    no_nul("fingerprint", &row.fingerprint)?;
    optional("error kind", row.error_kind.as_deref())?;
    optional("error code", row.error_code.as_deref())?;
    optional("error rule", row.error_rule.as_deref())?;
    optional("classifier", row.classifier.as_deref())
}

fn consumed(mail: &ConsumedMail) -> Result<(), String> {
    no_nul("answer", &mail.answer)?;
    mail.brought.as_ref().and_then(|brought| brought.unstorable()).map_or(Ok(()), Err)
}

fn compensation(change: &CompensationChange) -> Result<(), String> {
    match change {
        CompensationChange::Requested {
            step,
            business_key,
            reason_code,
            requested_by,
            approved_by,
            particulars,
            ..
        } => {
            no_nul("step", step)?;
            no_nul("business key", business_key)?;
            no_nul("reason code", reason_code)?;
            no_nul("requested by", requested_by)?;
            optional("approved by", approved_by.as_deref())?;
            let said =
                [&particulars.expected, &particulars.proposed, &particulars.affected, &particulars.dry_run];
            said.into_iter().try_for_each(|said| optional("particulars", said.as_deref()))
        }
        CompensationChange::Approved { approved_by, .. } => no_nul("approved by", approved_by),
        CompensationChange::Ended { result, .. } => no_nul("result", result),
    }
}
