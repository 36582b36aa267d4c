//! Three servers that are one cluster.

use crate::server::{Server, ServerBuilder, free_port};

/// How often a cluster is started with other ports.
const STARTS_MAX: usize = 5;

/// A cluster of three servers, with JetStream.
pub struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// Starts it, and returns once it has elected a leader.
    ///
    /// # Panics
    /// When it does not come up, with what its servers printed.
    pub fn start() -> Self {
        let mut failure = String::new();
        for _ in 0..STARTS_MAX {
            match Self::try_start() {
                Ok(cluster) => return cluster,
                Err(printed) => failure = printed,
            }
        }
        panic!("the cluster does not start; a server of it printed:\n{failure}");
    }

    fn try_start() -> Result<Self, String> {
        let routes = [free_port(), free_port(), free_port()];
        let all = routes.map(|port| format!("nats://127.0.0.1:{port}")).join(",");
        let mut nodes = Vec::new();
        for (number, route) in routes.iter().enumerate() {
            let builder = ServerBuilder::default()
                .argument("--name")
                .argument(format!("node-{number}"))
                .argument("--cluster_name")
                .argument("amends")
                .argument("--cluster")
                .argument(format!("nats://127.0.0.1:{route}"))
                .argument("--routes")
                .argument(&all);
            nodes.push(Server::on(free_port(), &builder)?);
        }
        for node in &nodes {
            node.output().wait_for(&["cluster metadata leader", "new metadata leader"])?;
        }
        Ok(Self { nodes })
    }

    /// Where clients connect: all servers, separated by commas.
    pub fn url(&self) -> String {
        self.nodes.iter().map(Server::url).collect::<Vec<_>>().join(",")
    }

    /// Its servers. They are named `node-0`, `node-1` and `node-2`.
    pub fn nodes(&mut self) -> &mut [Server] {
        &mut self.nodes
    }

    /// The server of that name, as JetStream reports leaders.
    ///
    /// # Panics
    /// When there is none.
    pub fn named(&mut self, name: &str) -> &mut Server {
        let number = name.strip_prefix("node-").and_then(|number| number.parse::<usize>().ok());
        let node = number.and_then(|number| self.nodes.get_mut(number));
        node.unwrap_or_else(|| panic!("no server of the cluster is called `{name}`"))
    }
}
