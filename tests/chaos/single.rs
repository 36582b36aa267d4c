//! One process on one SQLite file: killed, frozen and ended at moments drawn from a seed.

use std::process::Child;

use fastrand::Rng;
use tempfile::TempDir;

use crate::crowd::logged;
use crate::process::{look_into, number, run};
use crate::real::{Logs, moment, pause, signal, since};
use crate::{all_is_well, asked_for};

/// A second of the shop takes so many seconds.
const PACE: &str = "0.3";

/// How a process ends that was told to.
const TERMINATED: i32 = 143;

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Incident {
    Kill,
    Stop,
    Terminate,
}

#[tokio::test]
async fn one_process_on_a_file_is_killed_at_random_and_nothing_is_lost_or_doubled() {
    let (seed, orders) = asked_for(150);
    let began = moment();
    let folder = TempDir::new().expect("a temporary folder");
    let _logs = Logs(folder.path());
    let database = folder.path().join("shop.db").into_os_string().into_string().expect("UTF-8");
    let lines = ["--generated".to_owned(), orders.to_string(), "--seed".to_owned(), seed.to_string()];
    let spawn = || -> Child {
        let mut command = logged(folder.path().join("shop.log"), &database);
        command.args(&lines).args(["--pace", PACE, "--in-flight", "64"]);
        command.spawn().expect("the shop starts")
    };
    let mut rng = Rng::with_seed(seed);
    let mut incidents = Vec::new();
    for (incident, per_hundred) in [(Incident::Kill, 3), (Incident::Stop, 1), (Incident::Terminate, 1)] {
        incidents.extend(std::iter::repeat_n(incident, (orders as usize * per_hundred).div_ceil(100)));
    }
    rng.shuffle(&mut incidents);
    let (mut kills, mut stops, mut terminated) = (0, 0, 0);
    let mut child = spawn();
    for incident in incidents {
        pause(rng.u64(50..1_500)).await;
        if let Some(status) = child.try_wait().expect("it can be asked") {
            assert_eq!(status.code(), Some(0), "it ended by itself, and not because all was done");
            break;
        }
        match incident {
            Incident::Kill => {
                child.kill().expect("it can be killed");
                child.wait().expect("it can be waited for");
                kills += 1;
                child = spawn();
            }
            Incident::Stop => {
                signal(&child, "STOP");
                pause(rng.u64(100..3_000)).await;
                signal(&child, "CONT");
                stops += 1;
            }
            Incident::Terminate => {
                signal(&child, "TERM");
                let code = child.wait().expect("it can be waited for").code();
                // Before it catches signals, it ends by this one, and after its last saga with a page.
                assert!(matches!(code, Some(TERMINATED | 0) | None), "{code:?}");
                terminated += 1;
                child = spawn();
            }
        }
    }
    let left = child.wait().expect("it can be waited for").code();
    assert_eq!(left, Some(0), "it sees everything through, and all balances");
    println!("{kills} kills, {stops} stops, {terminated} ended, within {:.1?}", since(began));
    let mut audit = vec!["--database", &database, "--audit", "0"];
    audit.extend(lines.iter().map(String::as_str));
    all_is_well(&run(audit), orders);

    let effects = look_into(&folder.path().join("shop.db.participants")).await;
    let doubled =
        "SELECT count(*) FROM (SELECT request_id FROM effect GROUP BY request_id HAVING count(*) > 1)";
    let doubled = number(&effects, doubled).await;
    let all = number(&effects, "SELECT count(*) FROM effect").await;
    println!("{all} effects, {doubled} doubled; all of it within {:.1?}", since(began));
    assert_eq!(doubled, 0, "a request id took effect twice");
    assert!(kills > 0, "all was done before anything was killed");
}
