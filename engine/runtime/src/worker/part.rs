//! The worker's parts: a task each, which lasts as long as the engine.
//!
//! One that panics has a bug, or a port that it was given has one. Without it the engine would keep its sagas, and its
//! heartbeat would say that all is well; so the engine stops and says why, and the sagas go on elsewhere.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use super::input::News;
use super::invoke::panic_text;
use crate::engine::StopReason;

/// Runs a part in a task of its own.
pub(super) fn spawn(
    part: &'static str,
    news: &UnboundedSender<News>,
    run: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    let news = news.clone();
    tokio::spawn(async move {
        if let Err(reason) = whole(part, run).await {
            let _ = news.send(News::Broken(reason));
        }
    })
}

/// What a part comes to, or why the engine cannot go on without it.
pub(super) async fn whole<T>(part: &'static str, run: impl Future<Output = T>) -> Result<T, StopReason> {
    AssertUnwindSafe(run).catch_unwind().await.map_err(|panic| {
        let panic = panic_text(&*panic);
        tracing::error!(part, %panic, "a part of the engine panicked; the engine stops");
        StopReason::Broken { part, panic }
    })
}
