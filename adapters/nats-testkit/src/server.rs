//! One server.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::output::Output;
use crate::program::program;

/// How often a server is started with other ports, because somebody else took the chosen ones in between.
const STARTS_MAX: usize = 5;

/// A server that is being described.
#[must_use = "a server runs only after `start`"]
#[derive(Default)]
pub struct ServerBuilder {
    configuration: String,
    arguments: Vec<String>,
    program: Option<PathBuf>,
}

impl ServerBuilder {
    /// Adds text to its configuration file, in the server's own language: for instance `authorization { … }`.
    pub fn configuration(mut self, text: &str) -> Self {
        self.configuration.push_str(text);
        self.configuration.push('\n');
        self
    }

    /// Adds an argument of the command line.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Runs another program than [`program`]: for servers of an old version.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Starts it, and returns once it takes connections.
    ///
    /// # Panics
    /// When it does not come up, with what it printed.
    pub fn start(self) -> Server {
        let mut failure = String::new();
        for _ in 0..STARTS_MAX {
            match Server::on(free_port(), &self) {
                Ok(server) => return server,
                Err(printed) => failure = printed,
            }
        }
        panic!("the nats-server does not start; it printed:\n{failure}");
    }
}

/// A running server, or one that was stopped and can be started again. It goes, with its files, when it is dropped.
pub struct Server {
    program: PathBuf,
    arguments: Vec<String>,
    port: u16,
    folder: TempDir,
    child: Option<(Child, Output)>,
}

impl Server {
    /// A server with JetStream and without any access control.
    ///
    /// # Panics
    /// As [`ServerBuilder::start`].
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Describes a server.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    pub(crate) fn on(port: u16, builder: &ServerBuilder) -> Result<Self, String> {
        let folder = TempDir::with_prefix("amends-nats.").map_err(|error| error.to_string())?;
        let configuration = folder.path().join("server.conf");
        let text = format!("jetstream {{ store_dir: {:?} }}\n{}", folder.path(), builder.configuration);
        std::fs::write(&configuration, text).map_err(|error| error.to_string())?;
        let mut server = Self {
            program: builder.program.clone().unwrap_or_else(program),
            arguments: builder.arguments.clone(),
            port,
            folder,
            child: None,
        };
        server.launch()?;
        server.output().wait_for(&["Server is ready"])?;
        Ok(server)
    }

    /// Begins the process, and does not wait for it.
    pub(crate) fn launch(&mut self) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string(), "--config"]);
        command.arg(self.folder.path().join("server.conf")).args(&self.arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let failed = |error| format!("cannot run {}: {error}", self.program.display());
        let mut child = command.spawn().map_err(failed)?;
        let pipe = child.stderr.take().ok_or("the server has no output")?;
        self.child = Some((child, Output::of(pipe)));
        Ok(())
    }

    pub(crate) fn output(&self) -> &Output {
        &self.child.as_ref().expect("the server was launched").1
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process, while it runs.
    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().map(|(child, _)| child.id())
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The last lines that it printed.
    pub fn printed(&self) -> String {
        self.child.as_ref().map(|(_, output)| output.printed()).unwrap_or_default()
    }

    /// Ends it in an orderly way, and waits for that. Nothing, if it does not run.
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.wait();
    }

    /// Kills it, and waits for that: what it had not written is lost as after a crash of the process.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// Freezes it: connections stay and nothing answers.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets a frozen one go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Starts it again, on the same port and files, and returns once it takes connections.
    ///
    /// # Panics
    /// When it runs, or does not come up.
    pub fn start_again(&mut self) {
        assert!(self.child.is_none(), "the server runs; stop or kill it first");
        self.launch().and_then(|()| self.output().wait_for(&["Server is ready"])).unwrap_or_else(|printed| {
            panic!("the nats-server does not start again; it printed:\n{printed}");
        });
    }

    fn signal(&self, signal: Signal) {
        if let Some((child, _)) = &self.child {
            // One that has just ended by itself needs no signal.
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    fn wait(&mut self) {
        if let Some((mut child, _)) = self.child.take() {
            let _ = child.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that nobody uses at this moment.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface has a free port");
    listener.local_addr().expect("a listener has an address").port()
}
