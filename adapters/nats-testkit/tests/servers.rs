//! The servers come up, end, and come back on the same port.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use amends_nats_testkit::{Cluster, Server, Wire};

/// The first line that a server says to every client.
fn greeting(server: &Server) -> Option<String> {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    (!line.is_empty()).then_some(line)
}

#[test]
fn a_server_greets_with_jetstream_and_comes_back_on_its_port() {
    let mut server = Server::start();
    let first = greeting(&server).expect("it takes connections");
    assert!(first.starts_with("INFO ") && first.contains("\"jetstream\":true"), "{first}");

    server.stop();
    assert_eq!(greeting(&server), None);
    server.start_again();
    assert!(greeting(&server).is_some());

    server.kill();
    assert_eq!(greeting(&server), None);
    server.start_again();
    assert!(greeting(&server).is_some());
}

#[test]
fn a_configuration_that_the_server_does_not_read_is_shown_with_its_words() {
    let started = std::panic::catch_unwind(|| Server::builder().configuration("no_such_word: 1").start());
    let told = started.err().expect("it does not start");
    let told = told.downcast_ref::<String>().expect("the panic has a text");
    assert!(told.contains("no_such_word"), "{told}");
}

#[test]
fn three_servers_form_a_cluster_that_has_a_leader() {
    let mut cluster = Cluster::start();
    assert_eq!(cluster.nodes().len(), 3);
    assert!(cluster.nodes().iter().all(|node| greeting(node).is_some()));
    assert!(greeting(cluster.named("node-2")).expect("it takes connections").contains("node-2"));
}

#[test]
fn a_wire_that_stands_still_brings_nothing_from_the_server_until_it_goes_on() {
    let server = Server::start();
    let wire = Wire::to(server.port());
    let port =
        wire.url().rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).expect("it has a port");
    wire.stand_still();
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it takes connections");
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a time that is not zero");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect_err("nothing comes");
    wire.go_on();
    reader.get_ref().set_read_timeout(None).expect("no time");
    reader.read_line(&mut line).expect("now it comes");
    assert!(line.starts_with("INFO "), "{line}");
}
