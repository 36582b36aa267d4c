//! The mail of the in-memory store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use amends_core::SagaId;
use uuid::Uuid;

use crate::ports::{ConsumedMail, Mail, Posted, StoredMail};

/// Everything that was posted.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    mail: BTreeMap<SagaId, BTreeMap<Uuid, StoredMail>>,
    keys: BTreeMap<(SagaId, Arc<str>), Uuid>,
    /// The index that claims read: unread mail, by saga and id.
    unread: BTreeSet<(SagaId, Uuid)>,
}

impl Mailbox {
    /// Posts a mail to a saga that exists.
    pub(super) fn post(&mut self, mail: &Mail, open_max: u32) -> Posted {
        if let Some(standing) = self.find(mail.saga, &mail.key) {
            return Posted::Known(Box::new(standing.clone()));
        }
        let open = u32::try_from(self.unread_of(mail.saga).count()).unwrap_or(u32::MAX);
        if open >= open_max {
            return Posted::Full { open };
        }
        self.keys.insert((mail.saga, mail.key.clone()), mail.id);
        self.unread.insert((mail.saga, mail.id));
        let stored = StoredMail { mail: mail.clone(), consumed_seq: None, answer: None };
        self.mail.entry(mail.saga).or_default().insert(mail.id, stored);
        Posted::Accepted
    }

    /// Consumes a mail of this saga, if it is unread; says whether it was.
    pub(super) fn consume(&mut self, saga: SagaId, seq: u64, consumed: &ConsumedMail) -> bool {
        let id = match &consumed.brought {
            Some(brought) => self.bring(brought),
            None => consumed.id,
        };
        if !self.unread.remove(&(saga, id)) {
            return false;
        }
        let stored = self.mail.get_mut(&saga).and_then(|mail| mail.get_mut(&id));
        let stored = stored.expect("the index of unread mail names mail that is there");
        stored.consumed_seq = Some(seq);
        stored.answer = Some(consumed.answer.clone());
        true
    }

    /// Takes a mail in that is about to be consumed; answers under which id its key stands.
    fn bring(&mut self, mail: &Mail) -> Uuid {
        match self.post(mail, u32::MAX) {
            Posted::Known(standing) => standing.mail.id,
            _ => mail.id,
        }
    }

    /// Everything that was posted to a saga goes.
    pub(super) fn remove(&mut self, saga: SagaId) {
        for (id, stored) in self.mail.remove(&saga).unwrap_or_default() {
            self.keys.remove(&(saga, stored.mail.key));
            self.unread.remove(&(saga, id));
        }
    }

    pub(super) fn find(&self, saga: SagaId, key: &str) -> Option<&StoredMail> {
        self.mail.get(&saga)?.get(self.keys.get(&(saga, Arc::from(key)))?)
    }

    /// Everything that was posted to a saga, in the order of ids.
    pub(super) fn of(&self, saga: SagaId) -> impl Iterator<Item = &StoredMail> {
        self.mail.get(&saga).into_iter().flat_map(BTreeMap::values)
    }

    /// The unread mail of a saga, in the order of ids.
    pub(super) fn unread_of(&self, saga: SagaId) -> impl Iterator<Item = &Mail> {
        let range = (saga, Uuid::nil())..=(saga, Uuid::max());
        self.unread.range(range).filter_map(move |(_, id)| Some(&self.mail.get(&saga)?.get(id)?.mail))
    }

    /// Sagas with unread mail, each once.
    pub(super) fn addressees(&self) -> impl Iterator<Item = SagaId> {
        let sagas: BTreeSet<SagaId> = self.unread.iter().map(|(saga, _)| *saga).collect();
        sagas.into_iter()
    }
}
