//! Replies that are brought to a saga in memory, past the mail.
//!
//! By mail a reply costs two commits: the post, and the transition that consumes it. One to a saga that this worker
//! owns and has in memory needs the second alone: it waits in the inbox, and the transition that decides it writes
//! its mail too, read already. Whoever brought it is told once that is durable, and not before; so what is decided, what
//! is kept and what a repetition finds are the same as by mail.
//!
//! Whoever brings a reply that cannot be taken so is told nothing at all: the sender is dropped, and the reply is posted.
//! That is the answer to everything that can happen in between. *The saga is not here, or is just being given up*: its
//! next owner finds the mail. *Another node goes on with it, or it is set aside*: nothing of the transition was written.
//! *The engine stops, or the store takes long*: if the transition was written after all, the post finds the reply by its
//! key; if it is written later, it consumes what was posted. *The process dies*: nobody was told anything, and whoever
//! brought the reply has it still.
//!
//! The same reply again waits for the first, is known from before, or, if the saga was loaded and may have had it in
//! another life, is looked for in the store first.

use std::mem;
use std::sync::Arc;

use tokio::sync::oneshot;
use uuid::Uuid;

use super::active::{Active, Input};
use super::driver::Driver;
use super::input::Brought;
use crate::ports::{MAIL_BODY_BYTES_MAX, Mail};

/// Those who wait until what they brought to a saga is durable. When it is dropped, they are told nothing.
#[derive(Default)]
pub(super) struct Bringers(Vec<Waiting>);

/// One reply, with all who brought it.
struct Waiting {
    mail: Uuid,
    key: Arc<str>,
    bytes: usize,
    told: Vec<oneshot::Sender<Brought>>,
}

impl Bringers {
    /// The transition that keeps this mail is durable.
    pub(super) fn kept(&mut self, mail: Uuid) {
        let Some(at) = self.0.iter().position(|waiting| waiting.mail == mail) else { return };
        let mut what = Brought::Kept;
        for told in self.0.swap_remove(at).told {
            let _ = told.send(mem::replace(&mut what, Brought::KeptBefore));
        }
    }

    fn of(&mut self, key: &str) -> Option<&mut Waiting> {
        self.0.iter_mut().find(|waiting| *waiting.key == *key)
    }

    /// Is there room for one more? There is for as many as may wait unread, of one largest body together.
    fn have_room(&self, mail: &Mail, max: usize) -> bool {
        let bytes: usize = self.0.iter().map(|waiting| waiting.bytes).sum();
        self.0.len() < max && bytes + mail.body.len() <= MAIL_BODY_BYTES_MAX
    }
}

impl Driver {
    /// Takes a reply to a saga in memory. If it cannot, `told` is dropped.
    pub(super) fn bring(&mut self, mail: Box<Mail>, looked: bool, told: oneshot::Sender<Brought>) {
        let (saga, max) = (mail.saga, self.limits.mail_open_max as usize);
        let Some(active) = self.sagas.active.get_mut(&saga) else { return };
        if active.take(mail, looked, max, told) {
            self.arrived(saga);
        }
    }
}

impl Active {
    /// Takes a reply in, or answers what is known of it; says whether it is to be decided.
    fn take(&mut self, mail: Box<Mail>, looked: bool, max: usize, told: oneshot::Sender<Brought>) -> bool {
        let is_here = self.seq > 0 && !self.released;
        if !is_here {
            return false;
        }
        if let Some(waiting) = self.bringers.of(&mail.key) {
            if waiting.told.len() < max {
                waiting.told.push(told);
            }
            return false;
        }
        if self.seen.knows(&mail.key) {
            let _ = told.send(Brought::KeptBefore);
            return false;
        }
        if !looked && !self.seen.knows_all() {
            let _ = told.send(Brought::Look);
            return false;
        }
        if !self.bringers.have_room(&mail, max) {
            return false;
        }
        self.seen.is_new(&mail);
        let (id, key, bytes) = (mail.id, mail.key.clone(), mail.body.len());
        self.bringers.0.push(Waiting { mail: id, key, bytes, told: vec![told] });
        self.inbox.push_back(Input::Brought(mail));
        true
    }
}
