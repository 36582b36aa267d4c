//! Against real servers.

mod connecting;
