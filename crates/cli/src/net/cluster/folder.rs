//! The files of a network on one machine.

use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Child;

use undertone_net::{Identity, NetworkFile};
use undertone_node::plan::Plan;

use crate::net::{hash, write};

/// A folder with a folder for each node. One that was not asked for is removed in the end.
pub struct Folder {
    path: PathBuf,
    plan: PathBuf,
    set: Vec<String>,
    file: NetworkFile,
    temporary: bool,
}

impl Folder {
    /// Makes the folder.
    pub fn make(
        plan_file: &Path,
        plan: &Plan,
        set: &[String],
        wanted: Option<&Path>,
    ) -> Result<Self, String> {
        let path = wanted.map_or_else(
            || std::env::temp_dir().join(format!("undertone-cluster-{}", std::process::id())),
            Path::to_path_buf,
        );
        let at = |error: std::io::Error| format!("{}: {error}", path.display());
        std::fs::create_dir_all(&path).map_err(at)?;
        let path = path.canonicalize().map_err(at)?;
        let plan_file = plan_file.canonicalize().map_err(at)?;
        let file = NetworkFile::new(plan.name.clone(), hash(plan));
        let (set, temporary) = (set.to_vec(), wanted.is_none());
        Ok(Self { path, plan: plan_file, set, file, temporary })
    }

    /// Makes keys, the signed network file and every node's file.
    pub fn set_up(
        &self,
        nodes: u32,
        test_seed: Option<u64>,
        port: Option<u16>,
        quic: bool,
    ) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let network = self.path.join("network.toml");
        if network.exists() {
            let name = self.path.display();
            return Err(format!("--dir {name}: there is a network already; remove it first"));
        }
        let ports = match port {
            Some(first) => (0..nodes).map(|k| first.wrapping_add(k as u16)).collect(),
            None => free_ports(nodes, quic).map_err(|e| text(&e))?,
        };
        let mut file = self.file.clone();
        let mut keys = Vec::new();
        for (node, port) in (0..nodes).zip(&ports) {
            let folder = self.node(node);
            std::fs::create_dir_all(&folder).map_err(|e| text(&e))?;
            let identity = Identity::generate();
            identity.write(&folder.join("node.key")).map_err(|e| text(&e))?;
            file.add(node, identity.public(), address(*port, quic)).map_err(|e| text(&e))?;
            keys.push(identity);
        }
        for key in &keys {
            file.sign(key).map_err(|e| text(&e))?;
        }
        write(&network, &file.text())?;
        for (node, port) in (0..nodes).zip(ports) {
            let quoted = |value: &str| serde_json::Value::from(value).to_string();
            let set: Vec<String> = self.set.iter().map(|set| quoted(set)).collect();
            let seed = test_seed.map_or(String::new(), |seed| format!("test-seed = {seed}\n"));
            let config = format!(
                "network = \"../network.toml\"\nplan = {}\nset = [{}]\nkey = \"node.key\"\n\
                 store = \"node.store\"\nlisten = \"{}\"\ndata-from-plan = true\n{seed}",
                quoted(&self.plan.display().to_string()),
                set.join(", "),
                address(port, quic),
            );
            write(&self.node(node).join("node.toml"), &config)?;
        }
        Ok(())
    }

    /// Starts a node.
    pub fn spawn(&self, node: u32) -> Result<Child, String> {
        super::command(&self.node(node).join("node.toml"))
    }

    fn node(&self, node: u32) -> PathBuf {
        self.path.join(node.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn address(port: u16, quic: bool) -> String {
    match quic {
        true => format!("/ip4/127.0.0.1/udp/{port}/quic-v1"),
        false => format!("/ip4/127.0.0.1/tcp/{port}"),
    }
}

/// Ports that are free now. All are held until all are known, so that none comes twice.
fn free_ports(count: u32, quic: bool) -> std::io::Result<Vec<u16>> {
    if quic {
        let sockets: Vec<_> =
            (0..count).map(|_| UdpSocket::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        return sockets.iter().map(|socket| Ok(socket.local_addr()?.port())).collect();
    }
    let sockets: Vec<_> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    sockets.iter().map(|socket| Ok(socket.local_addr()?.port())).collect()
}
