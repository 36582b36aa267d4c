//! A wire between store and server that loses what it is told to lose.
//!
//! It reads just enough of PostgreSQL's protocol: each message is a letter, a length and a body; `E` executes a
//! statement, `S` ends the client's turn and `Z` the server's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Notify;

use crate::server::OneSchema;

/// What becomes of the next statements of writers.
#[derive(Default)]
struct Plan {
    /// So many are executed, and their answers are lost.
    answers_lost: AtomicU32,
    /// So many are held back after the store was cut off, until they are let go.
    held: AtomicU32,
    let_go: Notify,
    /// Statements that were held back and are through.
    through: Notify,
    /// Connections so far, and up to which one nothing is answered any more.
    connections: AtomicU32,
    silent: AtomicU32,
}

fn takes_one(count: &AtomicU32) -> bool {
    count.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
}

/// A port of this machine that leads to the server.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    plan: Arc<Plan>,
}

impl Proxy {
    pub(crate) async fn start(to: &OneSchema) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let plan = Arc::new(Plan::default());
        let (server, of_all) = (to.listens_at(), plan.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, plan) = (server.clone(), of_all.clone());
                tokio::spawn(async move {
                    match server {
                        Ok(path) => relay(client, UnixStream::connect(path).await?, plan).await,
                        Err((host, port)) => {
                            relay(client, TcpStream::connect((host, port)).await?, plan).await
                        }
                    }
                });
            }
        });
        Self { port, plan }
    }

    /// The next `count` statements of writers are executed, and the store is cut off before it hears so.
    pub(crate) fn lose_answers(&self, count: u32) {
        self.plan.answers_lost.store(count, SeqCst);
    }

    /// The store is cut off from its next statement, which arrives at the server only when it is let go.
    pub(crate) fn hold_next(&self) {
        self.plan.held.store(1, SeqCst);
    }

    /// No connection that exists hears anything any more, and none is closed. Later ones work.
    pub(crate) fn silence(&self) {
        self.plan.silent.store(self.plan.connections.load(SeqCst), SeqCst);
    }

    /// Lets the statement go that was held back, and waits until the server has executed it.
    pub(crate) async fn let_go(&self) {
        self.plan.let_go.notify_one();
        self.plan.through.notified().await;
    }
}

/// One message with its letter, none for the first of a connection.
async fn message(from: &mut (impl AsyncRead + Unpin), first: bool) -> io::Result<(u8, Vec<u8>)> {
    let mut bytes = vec![0; if first { 4 } else { 5 }];
    from.read_exact(&mut bytes).await?;
    let at = bytes.len() - 4;
    let length = u32::from_be_bytes(bytes[at..].try_into().expect("four bytes")) as usize;
    let letter = if first { 0 } else { bytes[0] };
    bytes.resize(at + length, 0);
    from.read_exact(&mut bytes[at + 4..]).await?;
    Ok((letter, bytes))
}

async fn relay<S>(client: TcpStream, server: S, plan: Arc<Plan>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    // Or each small answer would wait for the one before to be acknowledged.
    client.set_nodelay(true)?;
    let (mut from_client, to_client) = client.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (_, hello) = message(&mut from_client, true).await?;
    to_server.write_all(&hello).await?;
    let writer = hello.windows(13).any(|bytes| bytes == b"amends writer");

    let number = plan.connections.fetch_add(1, SeqCst) + 1;
    let (loses, cut_off) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let (answers_lost, cut, through) = (loses.clone(), cut_off.clone(), plan.clone());
    let answers = tokio::spawn(async move {
        let mut to_client = Some(to_client);
        loop {
            let (letter, bytes) = tokio::select! {
                message = message(&mut from_server, false) => match message {
                    // Who hears nothing does not hear either that the server has hung up.
                    Err(_) if number <= through.silent.load(SeqCst) => std::future::pending().await,
                    message => message?,
                },
                // The server is silent now: it waits for the turn that is held back.
                () = cut.notified(), if to_client.is_some() => {
                    to_client = None;
                    continue;
                }
            };
            if number <= through.silent.load(SeqCst) {
                continue;
            }
            if !answers_lost.load(SeqCst) {
                to_client.as_mut().expect("only who loses answers is cut off").write_all(&bytes).await?;
            } else if letter == b'Z' {
                through.through.notify_one();
                return io::Result::Ok(());
            }
        }
    });
    let asks = async {
        let (mut turn, mut holds) = (Vec::new(), false);
        loop {
            let (letter, bytes) = message(&mut from_client, false).await?;
            turn.extend(bytes);
            if letter == b'E' && writer {
                holds = takes_one(&plan.held);
                if holds || takes_one(&plan.answers_lost) {
                    loses.store(true, SeqCst);
                }
            }
            // A turn goes on as a whole, or is held back as a whole.
            if matches!(letter, b'S' | b'X' | b'p' | b'Q') {
                if holds {
                    return io::Result::Ok(turn);
                }
                to_server.write_all(&std::mem::take(&mut turn)).await?;
            }
        }
    };
    tokio::pin!(answers);
    tokio::select! {
        // The answer is lost, or the server hung up.
        _ = &mut answers => Ok(()),
        held = asks => {
            let held = held?;
            drop(from_client);
            cut_off.notify_one();
            plan.let_go.notified().await;
            to_server.write_all(&held).await?;
            answers.await.map_err(io::Error::other)?
        }
    }
}
