//! Which servers are used, and as whom.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use amends_nats::{ConnectError, Connection, Login, NatsSettings, ServerVersion, Tls};
use amends_nats_testkit::Server;

/// A server of another version, as far as a client gets to see it: it greets and answers pings. Its URL.
fn server_that_says(version: &str, jetstream: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let info = format!(
        r#"INFO {{"server_id":"S","version":"{version}","proto":1,"headers":true,"max_payload":1048576,"jetstream":{jetstream}}}"#
    );
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        write!(stream, "{info}\r\n")?;
        let reader = BufReader::new(stream.try_clone()?);
        for line in reader.lines() {
            if line?.starts_with("PING") {
                stream.write_all(b"PONG\r\n")?;
            }
        }
        Ok::<_, std::io::Error>(())
    });
    format!("nats://{address}")
}

/// A file that belongs to the tests.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[tokio::test]
async fn a_server_of_this_year_is_used() {
    let server = Server::start();
    let connection = Connection::open(NatsSettings::new(server.url())).await.unwrap();
    assert!(connection.version() >= ServerVersion::LEAST);
    assert!(connection.is_connected());
    assert_eq!(connection.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_ignores_what_it_does_not_know_is_refused_with_the_reason() {
    let url = server_that_says("2.10.29", true);
    let refused = Connection::open(NatsSettings::new(&url)).await.unwrap_err();
    let told = format!(
        "failed to use NATS at {url}: the server is version 2.10.29, which ignores features it does not know; at \
         least 2.11.0 is needed"
    );
    assert_eq!(refused.to_string(), told);
    assert!(Connection::open(NatsSettings::new(server_that_says("2.11.0", true))).await.is_ok());
}

#[tokio::test]
async fn a_server_without_jetstream_is_refused() {
    let refused = Connection::open(NatsSettings::new(server_that_says("2.15.1", false))).await.unwrap_err();
    assert!(matches!(refused, ConnectError::NoJetStream { .. }), "{refused}");
}

#[tokio::test]
async fn a_wrong_password_is_told_from_a_server_that_is_not_there() {
    let rules = "authorization { user: engine, password: right }";
    let server = Server::builder().configuration(rules).start();
    let as_engine = |password: &str| {
        let login = Login::Password { user: "engine".to_owned(), password: password.to_owned() };
        Connection::open(NatsSettings::new(server.url()).login(login))
    };
    let refused = as_engine("wrong").await.unwrap_err();
    assert!(matches!(refused, ConnectError::Refused { .. }), "{refused}");
    assert!(as_engine("right").await.is_ok());

    let url = server.url();
    drop(server);
    let refused = Connection::open(NatsSettings::new(url)).await.unwrap_err();
    assert!(matches!(refused, ConnectError::Unreachable { .. }), "{refused}");
}

#[tokio::test]
async fn a_token_and_an_nkey_let_in() {
    let server = Server::builder().configuration("authorization { token: sesame }").start();
    let settings = NatsSettings::new(server.url()).login(Login::Token("sesame".to_owned()));
    assert!(Connection::open(settings).await.is_ok());

    // The pair of the documentation of NATS.
    let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    let public = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
    let rules = format!("authorization {{ users: [ {{ nkey: {public} }} ] }}");
    let server = Server::builder().configuration(&rules).start();
    let settings = NatsSettings::new(server.url()).login(Login::NKey(seed.to_owned()));
    let opened = Connection::open(settings).await;
    assert!(opened.is_ok(), "{opened:?}");
    let refused = Connection::open(NatsSettings::new(server.url())).await.unwrap_err();
    assert!(matches!(refused, ConnectError::Refused { .. }), "{refused}");
}

#[tokio::test]
async fn tls_is_spoken_with_a_server_whose_authority_is_known_and_a_client_shows_its_own_certificate() {
    let rules = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}",
        file("server.pem"),
        file("server-key.pem"),
        file("ca.pem"),
    );
    let server = Server::builder().configuration(&rules).start();
    let url = server.url().replace("nats://", "tls://");
    let open = |tls: Tls| Connection::open(NatsSettings::new(url.clone()).tls(tls));
    let client = Some((file("client.pem"), file("client-key.pem")));
    let known = Tls { required: true, roots: Some(file("ca.pem")), client };
    assert!(open(known.clone()).await.is_ok());

    let unknown = Tls { roots: None, ..known.clone() };
    assert!(open(unknown).await.is_err(), "nobody vouches for the server");
    let nameless = Tls { client: None, ..known.clone() };
    assert!(open(nameless).await.is_err(), "the server asks for a certificate");
    let plain = Server::start();
    let refused = Connection::open(NatsSettings::new(plain.url()).tls(known)).await;
    assert!(refused.is_err(), "the server speaks in the clear");
}

#[tokio::test]
async fn a_credentials_file_lets_in_and_one_that_cannot_be_read_is_named() {
    let rules = std::fs::read_to_string(file("operator.conf")).unwrap();
    let server = Server::builder().configuration(&rules).start();
    let settings = NatsSettings::new(server.url()).login(Login::CredentialsFile(file("engine.creds")));
    let opened = Connection::open(settings).await;
    assert!(opened.is_ok(), "{opened:?}");
    let missing = server.folder().join("engine.creds");
    let settings = NatsSettings::new(server.url()).login(Login::CredentialsFile(missing.clone()));
    let refused = Connection::open(settings).await.unwrap_err().to_string();
    assert!(
        refused.contains(&format!("the credentials file {} cannot be read", missing.display())),
        "{refused}"
    );
}
