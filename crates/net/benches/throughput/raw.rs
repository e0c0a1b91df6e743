//! libp2p alone: the same transport and one stream, no signatures, no store, no algorithm.

use std::sync::{Arc, mpsc};

use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, StreamExt};
use libp2p::identity::Keypair;
use libp2p::swarm::SwarmEvent;
use libp2p::swarm::dial_opts::DialOpts;
use libp2p::{Multiaddr, PeerId, StreamProtocol, Swarm, SwarmBuilder, noise, tcp, yamux};
use tokio::sync::Barrier;

use crate::{Clock, Elapsed, Measured, place};

const PROTOCOL: StreamProtocol = StreamProtocol::new("/undertone-bench/1");

/// How the two talk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Both send all the time, eight messages ahead of their acknowledgements.
    Stream,
    /// Both send a message and wait for the other's before the next, as rounds do.
    Exchange,
}

/// Messages out of each of some nodes, all of which hear each other.
pub fn measure(pattern: Pattern, nodes: usize, bytes: usize, times: usize) -> Measured {
    let (tell, told) = mpsc::channel();
    let end = Arc::new(Barrier::new(nodes));
    let start = |node: usize| {
        let (send, receive) = mpsc::channel();
        let (tell, end) = (tell.clone(), Arc::clone(&end));
        let thread = std::thread::spawn(move || {
            place(node, nodes);
            on_a_runtime(async move {
                let all = meet(node, tell, receive).await;
                let elapsed = talk(all.streams, pattern, bytes, times).await;
                // Nobody leaves before everybody has heard everything.
                end.wait().await;
                all.driver.abort();
                elapsed
            })
        });
        (send, thread)
    };
    let (send, threads): (Vec<_>, Vec<_>) = (0..nodes).map(start).unzip();
    let mut all: Vec<Listener> = told.iter().take(nodes).collect();
    all.sort_by_key(|listener| listener.node);
    send.iter().for_each(|send| send.send(all.clone()).expect("it waits"));
    let ends: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    let clock = ends.into_iter().next().expect("there are nodes");
    clock.of(nodes, times)
}

/// Who is where.
#[derive(Clone)]
struct Listener {
    node: usize,
    peer: PeerId,
    address: Multiaddr,
}

/// A node that has met the others.
struct Met {
    streams: Vec<libp2p::Stream>,
    /// Drives the swarm beside the talk.
    driver: tokio::task::JoinHandle<()>,
}

/// Listens, and meets all others; the later one of two dials.
async fn meet(
    node: usize,
    tell: mpsc::Sender<Listener>,
    all: mpsc::Receiver<Vec<Listener>>,
) -> Met {
    let mut swarm = swarm(Keypair::generate_ed25519());
    let mut control = swarm.behaviour().new_control();
    let incoming = control.accept(PROTOCOL).expect("once");
    swarm.listen_on("/ip4/127.0.0.1/tcp/0".parse().expect("an address")).expect("a port");
    let address = loop {
        if let SwarmEvent::NewListenAddr { address, .. } = swarm.select_next_some().await {
            break address;
        }
    };
    tell.send(Listener { node, peer: *swarm.local_peer_id(), address }).expect("somebody waits");
    let all = all.recv().expect("all listen");
    for Listener { peer, address, .. } in &all[..node] {
        let whom = DialOpts::peer_id(*peer).addresses(vec![address.clone()]).build();
        swarm.dial(whom).expect("a new peer");
    }
    // A stream that is opened before would dial once more.
    while !all[..node].iter().all(|listener| swarm.is_connected(&listener.peer)) {
        swarm.select_next_some().await;
    }
    let driver = tokio::spawn(async move {
        loop {
            swarm.select_next_some().await;
        }
    });
    let mut streams = Vec::new();
    for Listener { peer, .. } in &all[..node] {
        streams.push(control.open_stream(*peer, PROTOCOL).await.expect("it listens"));
    }
    let later: Vec<_> =
        incoming.take(all.len() - 1 - node).map(|(_, stream)| stream).collect().await;
    streams.extend(later);
    Met { streams, driver }
}

/// What is measured.
async fn talk(
    streams: Vec<libp2p::Stream>,
    pattern: Pattern,
    bytes: usize,
    times: usize,
) -> Elapsed {
    let mut streams: Vec<_> = streams.into_iter().map(|stream| stream.split()).collect();
    let message = vec![7; bytes];
    let mut buffers = vec![vec![0; bytes]; streams.len()];
    let clock = Clock::start();
    match pattern {
        Pattern::Exchange => {
            for _ in 0..times {
                // At the same time: all would fill their windows otherwise, and wait for ever.
                let both = streams.iter_mut().zip(&mut buffers).map(|((input, output), buffer)| {
                    futures::future::join(put(output, &message), get(input, buffer))
                });
                futures::future::join_all(both).await;
            }
        }
        Pattern::Stream => {
            let (input, output) = &mut streams[0];
            stream_both_ways(input, output, &message, times).await;
        }
    }
    clock.stop()
}

const AHEAD: usize = 8;
const ACK: u8 = 1;
const MESSAGE: u8 = 2;

async fn stream_both_ways<I, O>(input: &mut I, output: &mut O, message: &[u8], times: usize)
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
{
    let (owe, mut owed) = tokio::sync::mpsc::unbounded_channel();
    let (ack, mut acked) = tokio::sync::mpsc::unbounded_channel();
    let reading = async move {
        let (mut heard, mut acks) = (0, 0);
        let mut buffer = vec![0; message.len()];
        while heard < times || acks < times {
            let mut kind = [0];
            get(input, &mut kind).await;
            if kind[0] == ACK {
                acks += 1;
                let _ = ack.send(());
            } else {
                get(input, &mut buffer).await;
                heard += 1;
                let _ = owe.send(());
            }
        }
    };
    let writing = async move {
        let (mut sent, mut flying, mut acks) = (0, 0, 0);
        while sent < times || acks < times {
            if sent < times && flying < AHEAD {
                put(output, &[MESSAGE]).await;
                put(output, message).await;
                (sent, flying) = (sent + 1, flying + 1);
                while owed.try_recv().is_ok() {
                    put(output, &[ACK]).await;
                    acks += 1;
                }
                while acked.try_recv().is_ok() {
                    flying -= 1;
                }
                continue;
            }
            tokio::select! {
                Some(()) = owed.recv(), if acks < times => {
                    put(output, &[ACK]).await;
                    acks += 1;
                }
                Some(()) = acked.recv(), if sent < times => flying -= 1,
            }
        }
    };
    tokio::join!(reading, writing);
}

async fn put<O: AsyncWrite + Unpin>(output: &mut O, bytes: &[u8]) {
    output.write_all(bytes).await.expect("the other listens");
    output.flush().await.expect("the other listens");
}

async fn get<I: AsyncRead + Unpin>(input: &mut I, bytes: &mut [u8]) {
    input.read_exact(bytes).await.expect("the other speaks");
}

fn swarm(key: Keypair) -> Swarm<libp2p_stream::Behaviour> {
    SwarmBuilder::with_existing_identity(key)
        .with_tokio()
        .with_tcp(tcp::Config::default().nodelay(true), noise::Config::new, yamux::Config::default)
        .expect("noise")
        .with_behaviour(|_| libp2p_stream::Behaviour::new())
        .expect("a behaviour")
        .build()
}

fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}
