//! A PostgreSQL that cannot be opened: the connection's own error is told at once, with where and what to do.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use amends::ports::Fault;
use amends_sea_orm::{PostgresSettings, PostgresStore};

/// What opening at `host_and_port` ends with, each way of opening.
async fn told(host_and_port: &str) -> [String; 2] {
    let url = format!("postgres://clerk:hush@{host_and_port}/orders?sslmode=disable");
    let writing = PostgresStore::open(&url).await.expect_err("nothing can be opened there");
    let reading =
        PostgresStore::open_read_only(&url).await.map(drop).expect_err("nothing can be opened there");
    [writing, reading].map(|fault| {
        let Fault::Unavailable(reason) = fault else { panic!("{fault}") };
        assert!(!reason.contains("hush"), "{reason}");
        assert!(reason.starts_with("orders on "), "{reason}");
        reason
    })
}

fn holds(reason: &str, parts: &[&str]) {
    for part in parts {
        assert!(reason.contains(part), "`{part}` is not in: {reason}");
    }
}

/// A server that turns every connection away with this SQLSTATE code and these words. Its port.
fn server_that_says(code: &'static str, words: &'static str) -> u16 {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = server.local_addr().expect("its address").port();
    thread::spawn(move || {
        for connection in server.incoming() {
            let mut connection = connection.expect("a connection");
            let asked = connection.read(&mut [0; 4096]).expect("the startup message");
            assert!(asked > 0, "a client says who it is");
            let fields = format!("SFATAL\0VFATAL\0C{code}\0M{words}\0\0");
            let length = u32::try_from(fields.len() + 4).expect("a short message");
            let message = [&b"E"[..], &length.to_be_bytes(), fields.as_bytes()].concat();
            connection.write_all(&message).expect("the client listens");
        }
    });
    port
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_told_as_refused_and_not_as_a_pool_that_timed_out() {
    let port = {
        let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port");
        nobody.local_addr().expect("its address").port()
    };
    for reason in told(&format!("127.0.0.1:{port}")).await {
        let place = format!("on 127.0.0.1, port {port}");
        holds(&reason, &[&place, "refused", "start the server"]);
    }
}

#[tokio::test]
async fn an_unknown_host_is_named() {
    for reason in told("no-such-host.invalid:5432").await {
        holds(&reason, &["on no-such-host.invalid, port 5432", "lookup", "correct the URL's host and port"]);
    }
}

#[tokio::test]
async fn a_wrong_password_is_told_without_the_password() {
    let port = server_that_says("28P01", "password authentication failed for user \"clerk\"");
    for reason in told(&format!("127.0.0.1:{port}")).await {
        let place = format!("on 127.0.0.1, port {port}");
        holds(
            &reason,
            &[&place, "authentication failed for user \"clerk\"", "correct the user and password"],
        );
    }
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_to_be_created() {
    let port = server_that_says("3D000", "database \"orders\" does not exist");
    for reason in told(&format!("127.0.0.1:{port}")).await {
        let place = format!("on 127.0.0.1, port {port}");
        holds(&reason, &[&place, "database \"orders\" does not exist", "create it first"]);
    }
}

#[tokio::test]
async fn a_server_that_is_still_starting_is_waited_for_and_then_told() {
    let port = server_that_says("57P03", "the database system is starting up");
    let url = format!("postgres://clerk:hush@127.0.0.1:{port}/orders?sslmode=disable");
    let settings =
        PostgresSettings { connection_wait: Duration::from_millis(300), ..PostgresSettings::default() };
    let fault = PostgresStore::open_with(&url, settings).await.expect_err("it never starts").to_string();
    holds(&fault, &["the database system is starting up", "within 300ms"]);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let mute = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = mute.local_addr().expect("its address").port();
    let url = format!("postgres://clerk:hush@127.0.0.1:{port}/orders?sslmode=disable");
    let settings =
        PostgresSettings { connection_wait: Duration::from_millis(300), ..PostgresSettings::default() };
    let fault = PostgresStore::open_with(&url, settings).await.expect_err("it never answers").to_string();
    holds(&fault, &["no answer within 300ms"]);
}
