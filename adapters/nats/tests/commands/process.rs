//! A real process with an engine, killed with SIGKILL again and again while it works; so is the service's own process,
//! which is part of this one.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use amends_nats_testkit::Server;

use crate::world::{Node, Plan, World, connect, until};

const PLACED: u32 = 100;

/// Where the process that is to be killed finds its server and its file. The test itself has none of it.
const URL: &str = "AMENDS_TEST_NODE_URL";
const FILE: &str = "AMENDS_TEST_NODE_FILE";

async fn plan(url: &str) -> Plan {
    Plan { timeout: Duration::from_secs(5), ..Plan::new(connect(url).await) }
}

/// Runs a node until it is killed. It ends by itself if whoever started it is gone.
async fn live(url: &str, file: PathBuf) {
    let node = Node::start(&file, plan(url).await).await;
    let _triggers = node.triggers().await;
    let nobody_is_there = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
    let _ = nobody_is_there.await;
}

/// This very test, as a process of its own.
fn process(world: &World) -> Child {
    let name = "process::an_engine_process_that_is_killed_again_and_again_loses_and_doubles_nothing";
    Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact"])
        .env(URL, &world.url)
        .env(FILE, world.file())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_process_that_is_killed_again_and_again_loses_and_doubles_nothing() {
    if let (Ok(url), Some(file)) = (std::env::var(URL), std::env::var_os(FILE)) {
        return live(&url, file.into()).await;
    }
    let server = Server::start();
    let world = World::on(server.url()).await;
    for number in 0..PLACED {
        world.place(number).await;
    }
    for effects in [1, 15, 40, 75, 110, 150] {
        let participant = world.participant().await;
        let mut node = process(&world);
        until("the service works", async || world.service.effects().await.len() >= effects).await;
        // Of this child alone, by its id: `Child::kill` sends SIGKILL.
        node.kill().unwrap();
        node.wait().unwrap();
        drop(participant);
    }
    let _participant = world.participant().await;
    let node = Node::start(&world.file(), plan(&world.url).await).await;
    let _triggers = node.triggers().await;
    world.audit(&node, 0..PLACED).await;
    assert_eq!(node.intake().await, []);
}
