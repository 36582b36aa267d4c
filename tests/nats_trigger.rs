//! The README's section on NATS, done literally: its event, sent by a stock client, is the timeline that it shows.

#[path = "../examples/nats_trigger.rs"]
#[allow(dead_code)]
mod nats_trigger;

use std::io::Write;
use std::path::Path;
use std::sync::mpsc;

use amends_nats_testkit::Server;

/// Lines, as they are printed.
struct Lines(mpsc::Sender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What stands in README.md between these.
fn between<'a>(readme: &'a str, from: &str, to: &str) -> &'a str {
    let after = readme.split_once(from).unwrap_or_else(|| panic!("README.md has no `{from}`")).1;
    after.split_once(to).unwrap_or_else(|| panic!("README.md has no `{to}` after `{from}`")).0
}

/// Without the times, which differ.
fn without_times(timeline: &str) -> Vec<String> {
    let lines = timeline.lines().map(|line| line.split_once("s ").map_or(line, |(_, after)| after));
    lines.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_event_of_the_readme_starts_a_saga_with_the_timeline_of_the_readme() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let section = between(&readme, "## Trigger by NATS", "\n## ");
    let published = between(section, "nats pub ", "\n");
    let (subject, event) = published.split_once(" '").expect("a subject and a quoted event");
    let event = event.strip_suffix('\'').expect("the event is quoted").to_owned();
    let shown = between(section, "<!-- shown: nats-timeline -->\n```text\n", "```");

    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let (sender, printed) = mpsc::channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let (url, file) = (server.url(), folder.path().join("orders.db"));
    let running = tokio::spawn(async move {
        let until = async { drop(ended.await) };
        nats_trigger::run(&url, &file, Lines(sender), until).await
    });

    // A stock client knows nothing of the engine. Its message is taken once the stream is there.
    let client = async_nats::connect(server.url()).await.unwrap();
    let jetstream = async_nats::jetstream::new(client);
    loop {
        let sent = jetstream.publish(subject.to_owned(), event.clone().into()).await.unwrap();
        if sent.await.is_ok() {
            break;
        }
    }
    let timeline = tokio::task::spawn_blocking(move || {
        let mut timeline = String::new();
        while !timeline.contains("completed") {
            timeline.push_str(&printed.recv().expect("the example prints"));
        }
        timeline
    });
    let timeline = timeline.await.unwrap();
    assert_eq!(
        without_times(timeline.trim_end()),
        without_times(shown.trim_end()),
        "README.md shows another timeline"
    );
    let _ = end.send(());
    running.await.unwrap().unwrap();
}
