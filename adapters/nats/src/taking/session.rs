//! One life of a pull: from a consumer that is there until it, or the way to it, is gone.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer;
use tokio::sync::OwnedSemaphorePermit;

use super::delivery::{Answer, Delivery};
use super::pull::{Pull, Pulled};
use super::{Taker, Work};

/// Why it ended.
pub(super) enum End {
    /// It was asked to, or the work ended.
    Closing,
    /// The consumer, or the way to it, is gone.
    Broken(String),
}

/// Pulls as much as there is room for, and sees each message through, until it ends.
pub(super) async fn run<W: Work>(work: &Arc<W>, consumer: &consumer::Info) -> End {
    let taker = work.taker();
    let named = (consumer.stream_name.as_str(), consumer.name.as_str());
    let mut pull = match Pull::open(&taker.connection, named, taker.wanted.pull).await {
        Ok(pull) => pull,
        Err(reason) => return End::Broken(reason),
    };
    taker.status.pulls();
    let end = pulled(work, consumer, &mut pull).await;
    for message in pull.untaken() {
        if let Some(delivery) = Delivery::of(message) {
            let work = work.clone();
            taker.in_hand.spawn(async move {
                let taker = work.taker();
                let give_back = async {
                    taker.took();
                    taker.confirm(&delivery, Answer::Nak(Duration::ZERO)).await;
                    taker.ended(W::RETURNED);
                };
                taker.unless_killed(give_back).await;
            });
        }
    }
    end
}

async fn pulled<W: Work>(work: &Arc<W>, consumer: &consumer::Info, pull: &mut Pull) -> End {
    let taker = work.taker();
    let ack_wait = consumer.config.ack_wait;
    loop {
        let mut room = tokio::select! {
            biased;
            () = taker.closing.cancelled() => return End::Closing,
            room = room_for(taker, consumer.config.max_batch) => room,
        };
        if let Err(reason) = pull.ask(room.num_permits()).await {
            return End::Broken(reason);
        }
        loop {
            let next = tokio::select! {
                biased;
                () = taker.closing.cancelled() => return End::Closing,
                next = pull.next() => next,
            };
            match next {
                Pulled::Message(message) => {
                    let place = room.split(1);
                    match Delivery::of(*message) {
                        Some(delivery) => take(work, delivery, ack_wait, place),
                        None => tracing::warn!("what came is no message of JetStream; it is left alone"),
                    }
                }
                Pulled::Finished => break,
                Pulled::Broken(reason) => return End::Broken(reason),
            }
        }
    }
}

/// At least a quarter of all room, so that messages are asked for in numbers; then all that there is.
async fn room_for(taker: &Taker, batch_max: i64) -> OwnedSemaphorePermit {
    let closed = "the room is never closed";
    let all = taker.wanted.in_hand_max.max(1);
    let most = u32::try_from(batch_max).ok().filter(|most| *most > 0).unwrap_or(all).min(all);
    let mut room = taker.room.clone().acquire_many_owned((most / 4).max(1)).await.expect(closed);
    let left = most.saturating_sub(u32::try_from(room.num_permits()).unwrap_or(most));
    let free = u32::try_from(taker.room.available_permits()).unwrap_or(0).min(left);
    if let Ok(more) = taker.room.clone().try_acquire_many_owned(free) {
        room.merge(more);
    }
    room
}

fn take<W: Work>(work: &Arc<W>, delivery: Delivery, ack_wait: Duration, place: Option<OwnedSemaphorePermit>) {
    let work = work.clone();
    work.taker().in_hand.clone().spawn(async move {
        let taker = work.taker();
        let see_through = async {
            taker.took();
            let ending = work.see_through(&delivery, ack_wait).await;
            taker.ended(ending);
        };
        taker.unless_killed(see_through).await;
        drop(place);
    });
}
