//! A way to a server, on which a client can be slow.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// How much is passed on at one time, in bytes.
const PIECE: usize = 16 * 1024;

/// A port of this machine that leads to a server. While it stands still, nothing that the server sends is read: the server
/// meets a client that does not keep up. What clients send goes on.
pub struct Wire {
    port: u16,
    way: Arc<Way>,
}

#[derive(Default)]
struct Way {
    stands_still: Mutex<bool>,
    changed: Condvar,
}

impl Way {
    fn set(&self, stands_still: bool) {
        *self.stands_still.lock().unwrap_or_else(PoisonError::into_inner) = stands_still;
        self.changed.notify_all();
    }

    fn wait_until_open(&self) {
        let lock = self.stands_still.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(lock, |stands_still| *stands_still));
    }
}

impl Wire {
    /// Leads to the server on this port of 127.0.0.1. It passes on until the process of the test ends.
    ///
    /// # Panics
    /// When the loopback interface has no free port.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface has a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let way = Arc::new(Way::default());
        let of_all = way.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A server that is away hangs up on clients, and so does its wire.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    lead(&client, &server, &of_all);
                }
            }
        });
        Self { port, way }
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Nothing more is read from the server, on connections that are there and on later ones.
    pub fn stand_still(&self) {
        self.way.set(true);
    }

    /// What was sent meanwhile arrives, and it goes on; if the server has hung up, clients hear it then.
    pub fn go_on(&self) {
        self.way.set(false);
    }
}

fn lead(client: &TcpStream, server: &TcpStream, way: &Arc<Way>) {
    let ends = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
    let (Some((from_client, to_server)), Some((to_client, from_server))) = (ends(), ends()) else { return };
    // Or each small answer would wait for the one before to be acknowledged.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let way = way.clone();
    thread::spawn(move || pass(from_client, to_server, || {}));
    thread::spawn(move || pass(from_server, to_client, || way.wait_until_open()));
}

/// Passes on until one end is closed. What was on its way in the other direction still arrives.
fn pass(mut from: TcpStream, mut to: TcpStream, before: impl Fn()) {
    let mut piece = [0; PIECE];
    loop {
        before();
        match from.read(&mut piece) {
            Ok(read) if read > 0 && to.write_all(&piece[..read]).is_ok() => {}
            _ => break,
        }
    }
    let _ = (from.shutdown(Shutdown::Read), to.shutdown(Shutdown::Write));
}
