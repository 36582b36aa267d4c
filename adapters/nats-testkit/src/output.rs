//! What a server prints, line by line: it tells when the server is ready, and why it is not.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a line is waited for. A server that is well prints it within a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most lines that are kept to explain a failure.
const KEPT_MAX: usize = 200;

pub(crate) struct Output {
    lines: Receiver<String>,
    kept: Arc<Mutex<Vec<String>>>,
}

impl Output {
    /// Reads until the server closes the pipe, so that it never waits for a reader.
    pub(crate) fn of(pipe: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keep = kept.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut keep = keep.lock().unwrap_or_else(PoisonError::into_inner);
                if keep.len() == KEPT_MAX {
                    keep.remove(0);
                }
                keep.push(line.clone());
                // Nobody may be waiting any more; the pipe is read all the same.
                let _ = sender.send(line);
            }
        });
        Self { lines, kept }
    }

    /// Returns once a line holds one of the words.
    ///
    /// # Errors
    /// With what was printed, when the server ended or is silent.
    pub(crate) fn wait_for(&self, words: &[&str]) -> Result<(), String> {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if words.iter().any(|word| line.contains(word)) {
                return Ok(());
            }
        }
        Err(self.printed())
    }

    /// The last lines.
    pub(crate) fn printed(&self) -> String {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}
