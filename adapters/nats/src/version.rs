//! The version of a server, and what follows from it.

use std::fmt;
use std::str::FromStr;

/// The version of a nats-server. Compared by its numbers; what follows them (`-RC.1`) is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerVersion {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
    /// The third.
    pub patch: u32,
}

impl ServerVersion {
    /// Older servers are refused: they ignore per-message TTL and other features that they do not know, without
    /// a word.
    pub const LEAST: Self = Self { major: 2, minor: 11, patch: 0 };

    /// Older servers are reported: they lack schedules and atomic batches.
    pub const ADVISED: Self = Self { major: 2, minor: 12, patch: 0 };
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for ServerVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || format!("`{text}` is no version");
        let mut numbers = text.trim_start_matches('v').splitn(3, '.').map(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..end].parse::<u32>().map_err(|_| unknown())
        });
        let mut next = || numbers.next().ok_or_else(unknown)?;
        Ok(Self { major: next()?, minor: next()?, patch: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let version = |text: &str| text.parse::<ServerVersion>().unwrap();
        assert_eq!(version("2.15.1").to_string(), "2.15.1");
        assert_eq!(version("v2.11.0-RC.3"), ServerVersion::LEAST);
        assert!(version("2.9.10") < ServerVersion::LEAST);
        assert!(version("2.11.9") < ServerVersion::ADVISED);
        assert!(version("3.0.0") > ServerVersion::ADVISED);
    }

    #[test]
    fn what_is_no_version_is_told() {
        for text in ["", "2", "2.11", "a.b.c", "2..1"] {
            assert_eq!(text.parse::<ServerVersion>(), Err(format!("`{text}` is no version")));
        }
    }
}
