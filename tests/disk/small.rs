//! A server whose journal lies on a disk of its own that can be filled.
//!
//! Where this test may mount (as root on Linux), that disk is real: a small tmpfs which the server alone sees, in a mount
//! namespace of its own, filled with a file. Elsewhere a trigger refuses what is written as a full disk does, with
//! SQLSTATE 53100.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use crate::server::Server;

/// Room for tables that are small, and for a few rows more.
const MOUNT: &str = "mount -t tmpfs -o size=16m,mode=700 small \"$0\" \
    && chown --reference=\"${0%/*}\" \"$0\" && exec \"$@\"";

const TRIGGER: &str = "CREATE OR REPLACE FUNCTION shop.disk_full() RETURNS trigger LANGUAGE plpgsql AS \
    $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$; \
    CREATE TRIGGER disk_full BEFORE INSERT ON shop.journal EXECUTE FUNCTION shop.disk_full()";

/// The server and its disk.
pub struct Small {
    pub server: Server,
    /// Seen from the server; none where nothing can be mounted.
    disk: Option<PathBuf>,
}

impl Small {
    /// Starts it.
    pub async fn start() -> Self {
        let mut server = Server::make(&[]);
        let folder = server.home().join("small");
        std::fs::create_dir(&folder).expect("a folder can be made");
        let words = |then: &[&str]| -> Vec<OsString> {
            let mut words: Vec<OsString> = ["unshare", "-m", "sh", "-c", MOUNT].map(OsString::from).to_vec();
            words.push(folder.clone().into());
            words.extend(then.iter().map(OsString::from));
            words
        };
        let probe = words(&["true"]);
        let may_mount =
            Command::new(&probe[0]).args(&probe[1..]).output().is_ok_and(|ran| ran.status.success());
        println!("the disk is {}", if may_mount { "a tmpfs" } else { "pretended by a trigger" });
        if may_mount {
            server.wrap_in(words(&[]));
        }
        server.begin().await;
        Self { server, disk: may_mount.then_some(folder) }
    }

    /// From here on there is no room for another page of the journal.
    pub async fn fill(&self) {
        let Some(disk) = &self.disk else { return self.server.sql(TRIGGER).await };
        let disk = disk.display();
        self.server.sql(&format!("CREATE TABLESPACE small LOCATION '{disk}'")).await;
        self.server.sql("ALTER TABLE shop.journal SET TABLESPACE small").await;
        self.server.sql("ALTER INDEX shop.journal_pkey SET TABLESPACE small").await;
        let mut ballast = File::create(self.ballast()).expect("the disk can be written to");
        let block = vec![0_u8; 4_096];
        while ballast.write_all(&block).is_ok() {}
    }

    /// There is room again.
    pub async fn make_room(&self) {
        match &self.disk {
            Some(_) => std::fs::remove_file(self.ballast()).expect("what fills the disk can be removed"),
            None => self.server.sql("DROP TRIGGER disk_full ON shop.journal").await,
        }
    }

    /// What fills the disk, by way of the server, since nobody else sees it.
    fn ballast(&self) -> PathBuf {
        let seen_by_server = PathBuf::from(format!("/proc/{}/root", self.server.pid()));
        let disk = self.disk.as_ref().expect("there is one");
        seen_by_server.join(disk.strip_prefix("/").expect("it is absolute")).join("ballast")
    }
}
