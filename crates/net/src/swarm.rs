//! libp2p: TCP with Noise and Yamux, or QUIC; listed peers, direct streams (invariant I6).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use libp2p::allow_block_list::{self, AllowedPeers, NotAllowed};
use libp2p::connection_limits::{self, ConnectionLimits};
use libp2p::swarm::dial_opts::DialOpts;
use libp2p::swarm::{ListenError, NetworkBehaviour, SwarmEvent};
use libp2p::{Multiaddr, StreamProtocol, Swarm, SwarmBuilder, memory_connection_limits};
use libp2p_stream::Control;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use crate::frame::Refusal;
use crate::identity::Identity;
use crate::session::{self, Board, Report};

const PROTOCOL: StreamProtocol = StreamProtocol::new("/undertone/1");

/// How a node is reached, and how much it bears.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections in all, beyond one for each peer.
    pub spare_connections: u32,
    /// Connections that have not yet shown a key.
    pub pending: u32,
    /// New connections are refused while the process holds more than this.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { spare_connections: 16, pending: 32, memory: 4 << 30 }
    }
}

/// No protocol of libp2p that would pass on what a peer said: no gossip, no relay, no discovery.
#[derive(NetworkBehaviour)]
struct Behaviour {
    streams: libp2p_stream::Behaviour,
    allowed: allow_block_list::Behaviour<AllowedPeers>,
    limits: connection_limits::Behaviour,
    memory: memory_connection_limits::Behaviour,
}

/// Builds the swarm and listens. What can go wrong does so before anything is spawned.
pub(crate) struct Net {
    swarm: Swarm<Behaviour>,
    board: Arc<Board>,
    neighbours: BTreeSet<u32>,
    reports: mpsc::Sender<Report>,
}

impl Net {
    /// Must be called within a tokio runtime.
    pub(crate) fn new(
        identity: &Identity,
        listen: &Multiaddr,
        limits: &Limits,
        board: Arc<Board>,
        neighbours: BTreeSet<u32>,
        reports: mpsc::Sender<Report>,
    ) -> Result<Self, String> {
        let mut allowed = allow_block_list::Behaviour::<AllowedPeers>::default();
        for peer in &neighbours {
            if let Some(member) = board.network.member(*peer) {
                allowed.allow_peer(member.id);
            }
        }
        let n_peers = neighbours.len() as u32;
        let bounds = ConnectionLimits::default()
            .with_max_pending_incoming(Some(limits.pending))
            .with_max_pending_outgoing(Some(n_peers + limits.spare_connections))
            .with_max_established(Some(4 * n_peers + limits.spare_connections))
            .with_max_established_per_peer(Some(4));
        let behaviour = Behaviour {
            streams: libp2p_stream::Behaviour::new(),
            allowed,
            limits: connection_limits::Behaviour::new(bounds),
            memory: memory_connection_limits::Behaviour::with_max_bytes(limits.memory),
        };
        let mut swarm = build(identity, behaviour)?;
        swarm.listen_on(listen.clone()).map_err(|error| format!("listen = {listen}: {error}"))?;
        Ok(Self { swarm, board, neighbours, reports })
    }

    /// Connects, accepts and serves until the reports have no reader.
    pub(crate) async fn run(mut self) {
        let mut control = self.swarm.behaviour().streams.new_control();
        let mut incoming = match control.accept(PROTOCOL) {
            Ok(incoming) => incoming,
            Err(error) => {
                let _ = self.reports.send(Report::Failed(error.to_string())).await;
                return;
            }
        };
        let (wishes, mut dials) = mpsc::channel(64);
        let (connected, is_connected) = watch::channel(BTreeSet::new());
        let sessions = Arc::new(Sessions::default());
        // Of two neighbours the lower one calls.
        for peer in self.neighbours.iter().copied().filter(|peer| *peer > self.board.node) {
            tokio::spawn(call(Call {
                peer,
                control: control.clone(),
                wishes: wishes.clone(),
                connected: is_connected.clone(),
                sessions: Arc::clone(&sessions),
                board: Arc::clone(&self.board),
                reports: self.reports.clone(),
            }));
        }
        loop {
            tokio::select! {
                () = self.reports.closed() => return,
                Some(wish) = dials.recv() => self.serve(wish),
                Some((id, stream)) = incoming.next() => {
                    let node = self.board.network.node_named(&id);
                    let Some(peer) = node.filter(|peer| self.neighbours.contains(peer)) else {
                        self.board.counters.refuse(Refusal::UnknownKey);
                        continue;
                    };
                    let (board, reports) = (Arc::clone(&self.board), self.reports.clone());
                    let number = sessions.number();
                    let task = tokio::spawn(async move {
                        let _ = session::run(stream, peer, number, &board, &reports).await;
                    });
                    sessions.replace(peer, task.abort_handle());
                }
                event = self.swarm.select_next_some() => self.note(event, &connected).await,
            }
        }
    }

    fn serve(&mut self, wish: Wish) {
        let (Wish::Dial(peer) | Wish::HangUp(peer)) = wish;
        let Some(member) = self.board.network.member(peer) else { return };
        if let Wish::HangUp(_) = wish {
            let _ = self.swarm.disconnect_peer_id(member.id);
            return;
        }
        if self.swarm.is_connected(&member.id) {
            return;
        }
        let options = DialOpts::peer_id(member.id).addresses(vec![member.address.clone()]).build();
        // It may be dialling already.
        let _ = self.swarm.dial(options);
    }

    async fn note(
        &mut self,
        event: SwarmEvent<BehaviourEvent>,
        connected: &watch::Sender<BTreeSet<u32>>,
    ) {
        match event {
            SwarmEvent::ConnectionEstablished { peer_id, .. } => {
                if let Some(peer) = self.board.network.node_named(&peer_id) {
                    connected.send_modify(|peers| {
                        peers.insert(peer);
                    });
                }
            }
            SwarmEvent::ConnectionClosed { peer_id, num_established: 0, .. } => {
                if let Some(peer) = self.board.network.node_named(&peer_id) {
                    connected.send_modify(|peers| {
                        peers.remove(&peer);
                    });
                }
            }
            SwarmEvent::IncomingConnectionError { error, .. } => {
                let refusal = match &error {
                    ListenError::Denied { cause } => match cause.downcast_ref::<NotAllowed>() {
                        Some(_) => Refusal::UnknownKey,
                        None => Refusal::Flood,
                    },
                    _ => Refusal::Malformed,
                };
                self.board.counters.refuse(refusal);
                tracing::debug!(reason = refusal.name(), "refused a connection");
            }
            SwarmEvent::NewListenAddr { address, .. } => {
                tracing::info!(%address, "listening");
            }
            SwarmEvent::ListenerError { error, .. } => {
                tracing::warn!(%error, "listener");
            }
            SwarmEvent::ListenerClosed { reason: Err(error), .. } => {
                let _ = self.reports.send(Report::Failed(error.to_string())).await;
            }
            _ => {}
        }
    }
}

/// At most one session a peer: a new one takes the place of the old.
#[derive(Default)]
struct Sessions {
    count: std::sync::atomic::AtomicU64,
    running: std::sync::Mutex<BTreeMap<u32, AbortHandle>>,
}

impl Sessions {
    fn number(&self) -> u64 {
        self.count.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    fn replace(&self, peer: u32, session: AbortHandle) {
        let mut running = self.running.lock().expect("nobody panics with it");
        if let Some(old) = running.insert(peer, session) {
            old.abort();
        }
    }
}

/// What a caller wants of the swarm.
#[derive(Clone, Copy)]
enum Wish {
    Dial(u32),
    /// Close what may be dead: nothing tells a connection whose other end has lost its power from
    /// one that is quiet.
    HangUp(u32),
}

struct Call {
    peer: u32,
    control: Control,
    wishes: mpsc::Sender<Wish>,
    connected: watch::Receiver<BTreeSet<u32>>,
    sessions: Arc<Sessions>,
    board: Arc<Board>,
    reports: mpsc::Sender<Report>,
}

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const CONNECT: Duration = Duration::from_secs(5);

/// Keeps calling a peer, with pauses that grow while it does not answer.
async fn call(mut call: Call) {
    let Some(id) = call.board.network.member(call.peer).map(|member| member.id) else { return };
    let mut pause = FIRST_PAUSE;
    loop {
        if call.wishes.send(Wish::Dial(call.peer)).await.is_err() {
            return;
        }
        let peer = call.peer;
        let there = call.connected.wait_for(|peers| peers.contains(&peer));
        if !matches!(tokio::time::timeout(pause.max(CONNECT / 10), there).await, Ok(Ok(_))) {
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
            continue;
        }
        let opened = call.control.open_stream(id, PROTOCOL);
        if let Ok(Ok(stream)) = tokio::time::timeout(CONNECT, opened).await {
            let (board, reports) = (Arc::clone(&call.board), call.reports.clone());
            let number = call.sessions.number();
            let end = session::run(stream, peer, number, &board, &reports).await;
            if end.is_ok() {
                pause = FIRST_PAUSE;
            }
        }
        if call.wishes.send(Wish::HangUp(peer)).await.is_err() {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

#[cfg(not(feature = "quic"))]
fn build(identity: &Identity, behaviour: Behaviour) -> Result<Swarm<Behaviour>, String> {
    use libp2p::{noise, tcp, yamux};
    let swarm = SwarmBuilder::with_existing_identity(identity.keypair())
        .with_tokio()
        .with_tcp(tcp::Config::default().nodelay(true), noise::Config::new, yamux::Config::default)
        .map_err(|error| format!("noise: {error}"))?
        .with_behaviour(|_| behaviour)
        .map_err(|error| error.to_string())?
        .with_swarm_config(|config| config.with_idle_connection_timeout(CONNECT))
        .build();
    Ok(swarm)
}

#[cfg(feature = "quic")]
fn build(identity: &Identity, behaviour: Behaviour) -> Result<Swarm<Behaviour>, String> {
    use libp2p::{noise, tcp, yamux};
    let swarm = SwarmBuilder::with_existing_identity(identity.keypair())
        .with_tokio()
        .with_tcp(tcp::Config::default().nodelay(true), noise::Config::new, yamux::Config::default)
        .map_err(|error| format!("noise: {error}"))?
        .with_quic()
        .with_behaviour(|_| behaviour)
        .map_err(|error| error.to_string())?
        .with_swarm_config(|config| config.with_idle_connection_timeout(CONNECT))
        .build();
    Ok(swarm)
}
