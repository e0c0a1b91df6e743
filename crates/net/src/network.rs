//! The file that all nodes share and sign: who takes part, where they are, and in which plan.

use libp2p::{Multiaddr, PeerId};
use serde::{Deserialize, Serialize};
use undertone_node::plan::Plan;

use crate::identity::{Identity, PublicKey, Signature};

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

const PURPOSE: &str = "undertone network file v1";

/// The hash by which a plan is known to its nodes, and in traces.
pub fn plan_hash(plan: &Plan) -> [u8; 32] {
    let bytes = serde_json::to_vec(plan).expect("a plan is plain data");
    *blake3::hash(&bytes).as_bytes()
}

/// A network as written. It is in force once every peer has signed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkFile {
    /// The version of the format; see `VERSION`.
    pub version: u32,
    /// For people.
    pub name: String,
    /// The hash of the plan that they run; schedule, rounds and budgets are in it.
    pub plan_hash: String,
    /// Who takes part.
    #[serde(default, rename = "peer")]
    pub peers: Vec<Peer>,
}

/// Who takes part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Peer {
    /// Its number in the plan.
    pub node: u32,
    /// Its key.
    pub key: PublicKey,
    /// Where it is reached, such as `/ip4/192.0.2.1/tcp/7000`.
    pub address: String,
    /// Its consent to all of the file but the signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// Why a network file does not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Not the right structure.
    #[error("{0}")]
    Syntax(String),
    /// Another version.
    #[error("version {0} is not known; this is version {VERSION}")]
    Version(u32),
    /// For another plan.
    #[error("the network is for a plan with hash {expected}, but the plan here has {found}")]
    OtherPlan {
        /// In the file.
        expected: String,
        /// Of the plan.
        found: String,
    },
    /// A node is missing, twice there, or not in the plan.
    #[error("the plan has nodes 0 to {last}; node {node} is {complaint}")]
    Nodes {
        /// The last node of the plan.
        last: u32,
        /// Which is wrong.
        node: u32,
        /// How.
        complaint: &'static str,
    },
    /// Two nodes have the same key, or a key is not one.
    #[error("the key of node {0} is not valid, or another node has it too")]
    Key(u32),
    /// An address that cannot be dialled.
    #[error("the address of node {node} is {address:?}; write it as /ip4/192.0.2.1/tcp/7000")]
    Address {
        /// Whose.
        node: u32,
        /// What is there.
        address: String,
    },
    /// Somebody did not sign what is there now.
    #[error("node {0} has not signed the file as it is; run `undertone network sign` with its key")]
    Unsigned(u32),
    /// The key that should sign is nobody's.
    #[error("no peer has the key {0}; add it first with `undertone network add`")]
    NoPeer(PublicKey),
}

/// A network that everybody has signed.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    hash: [u8; 32],
    peers: Vec<Member>,
}

/// A checked peer; its place is its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its key.
    pub key: PublicKey,
    /// The same as libp2p calls it.
    pub id: PeerId,
    /// Where it is reached.
    pub address: Multiaddr,
}

impl NetworkFile {
    /// Nobody yet.
    pub fn new(name: String, plan_hash: String) -> Self {
        Self { version: VERSION, name, plan_hash, peers: Vec::new() }
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        let file: Self =
            toml::from_str(text).map_err(|error| NetworkError::Syntax(error.to_string()))?;
        if file.version != VERSION {
            return Err(NetworkError::Version(file.version));
        }
        Ok(file)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!(
            "version = {}\nname = {}\nplan-hash = {}\n",
            self.version,
            quoted(&self.name),
            quoted(&self.plan_hash)
        );
        for Peer { node, key, address, signature } in &self.peers {
            let address = quoted(address);
            text += &format!("\n[[peer]]\nnode = {node}\nkey = \"{key}\"\naddress = {address}\n");
            if let Some(signature) = signature {
                text += &format!("signature = \"{signature:?}\"\n");
            }
        }
        text
    }

    /// Adds a peer, or moves it to another address. All signatures were for something else then.
    pub fn add(&mut self, node: u32, key: PublicKey, address: String) -> Result<(), NetworkError> {
        if address.parse::<Multiaddr>().is_err() {
            return Err(NetworkError::Address { node, address });
        }
        self.peers.retain(|peer| peer.node != node);
        self.peers.push(Peer { node, key, address, signature: None });
        self.peers.sort_by_key(|peer| peer.node);
        self.peers.iter_mut().for_each(|peer| peer.signature = None);
        Ok(())
    }

    /// Signs for the peer that has this key, and says which it is.
    pub fn sign(&mut self, identity: &Identity) -> Result<u32, NetworkError> {
        let signature = identity.sign(PURPOSE, &self.content());
        let key = identity.public();
        let peer = self.peers.iter_mut().find(|peer| peer.key == key);
        let peer = peer.ok_or(NetworkError::NoPeer(key))?;
        peer.signature = Some(signature);
        Ok(peer.node)
    }

    /// Checks that all nodes of a plan are there and have signed.
    pub fn check(&self, n_nodes: u32, plan_hash: &str) -> Result<Network, NetworkError> {
        if self.plan_hash != plan_hash {
            let (expected, found) = (self.plan_hash.clone(), plan_hash.into());
            return Err(NetworkError::OtherPlan { expected, found });
        }
        let content = self.content();
        let last = n_nodes.saturating_sub(1);
        let wrong = |node, complaint| Err(NetworkError::Nodes { last, node, complaint });
        let mut members: Vec<Member> = Vec::new();
        let mut peers: Vec<&Peer> = self.peers.iter().collect();
        peers.sort_by_key(|peer| peer.node);
        for (expected, peer) in (0..).zip(peers) {
            if peer.node >= n_nodes {
                return wrong(peer.node, "not in it");
            }
            if peer.node != expected {
                let (node, what) = if peer.node > expected {
                    (expected, "missing")
                } else {
                    (peer.node, "there twice")
                };
                return wrong(node, what);
            }
            let bad_key = NetworkError::Key(peer.node);
            let id = peer.key.peer_id().ok_or(bad_key.clone())?;
            if members.iter().any(|member| member.key == peer.key) {
                return Err(bad_key);
            }
            let address = peer.address.parse().map_err(|_| NetworkError::Address {
                node: peer.node,
                address: peer.address.clone(),
            })?;
            let signed = |signature| peer.key.verify(PURPOSE, &content, &signature);
            if !peer.signature.is_some_and(signed) {
                return Err(NetworkError::Unsigned(peer.node));
            }
            members.push(Member { key: peer.key, id, address });
        }
        if (members.len() as u64) < u64::from(n_nodes) {
            return wrong(members.len() as u32, "missing");
        }
        Ok(Network { hash: blake3::derive_key(PURPOSE, &content), peers: members })
    }

    /// What is signed: everything but the signatures.
    fn content(&self) -> Vec<u8> {
        let mut unsigned = self.clone();
        unsigned.peers.iter_mut().for_each(|peer| peer.signature = None);
        unsigned.peers.sort_by_key(|peer| peer.node);
        serde_json::to_vec(&unsigned).expect("plain data has a JSON form")
    }
}

impl Network {
    /// What two nodes of the same network agree on; the plan's hash is in it.
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// All members, in order of their nodes.
    pub fn members(&self) -> &[Member] {
        &self.peers
    }

    /// A member.
    pub fn member(&self, node: u32) -> Option<&Member> {
        self.peers.get(node as usize)
    }

    /// The node that has this key.
    pub fn node_of(&self, key: &PublicKey) -> Option<u32> {
        self.peers.iter().position(|member| member.key == *key).map(|node| node as u32)
    }

    /// The node that libp2p calls so.
    pub fn node_named(&self, id: &PeerId) -> Option<u32> {
        self.peers.iter().position(|member| member.id == *id).map(|node| node as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(n: u32) -> (NetworkFile, Vec<Identity>) {
        let keys: Vec<_> = (0..n).map(|_| Identity::generate()).collect();
        let mut file = NetworkFile::new("a \"name\"".into(), "hash".into());
        for (node, key) in (0..).zip(&keys) {
            file.add(node, key.public(), format!("/ip4/127.0.0.1/tcp/{}", 7000 + node)).unwrap();
        }
        keys.iter().for_each(|key| assert!(file.sign(key).is_ok()));
        (file, keys)
    }

    #[test]
    fn a_signed_file_is_read_back_and_in_force() {
        let (file, keys) = network(3);
        let read = NetworkFile::parse(&file.text()).unwrap();
        assert_eq!(read, file);
        let checked = read.check(3, "hash").unwrap();
        assert_eq!(checked.node_of(&keys[2].public()), Some(2));
        assert_ne!(checked.hash(), network(3).0.check(3, "hash").unwrap().hash());
    }

    #[test]
    fn what_was_not_signed_is_not_in_force() {
        let (mut file, _) = network(3);
        assert!(matches!(file.check(3, "other"), Err(NetworkError::OtherPlan { .. })));
        assert!(matches!(file.check(4, "hash"), Err(NetworkError::Nodes { node: 3, .. })));
        assert!(matches!(file.check(2, "hash"), Err(NetworkError::Nodes { node: 2, .. })));
        file.peers[1].address = "/ip4/192.0.2.1/tcp/1".into();
        assert_eq!(file.check(3, "hash"), Err(NetworkError::Unsigned(0)));
        let (mut file, keys) = network(2);
        file.peers[1].key = keys[0].public();
        file.sign(&keys[0]).unwrap();
        assert_eq!(file.check(2, "hash"), Err(NetworkError::Key(1)));
        let (mut file, _) = network(2);
        assert!(file.add(1, Identity::generate().public(), "here".into()).is_err());
        assert!(NetworkFile::parse("version = 2\nname = \"\"\nplan-hash = \"\"").is_err());
    }
}
