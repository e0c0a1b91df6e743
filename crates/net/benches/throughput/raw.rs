//! libp2p alone: the same transport and one stream, no signatures, no store, no algorithm.

use std::time::Duration;

use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, StreamExt};
use libp2p::identity::Keypair;
use libp2p::swarm::dial_opts::DialOpts;
use libp2p::{Multiaddr, PeerId, StreamProtocol, Swarm, SwarmBuilder, noise, tcp, yamux};

use crate::{Clock, Measured, place};

const PROTOCOL: StreamProtocol = StreamProtocol::new("/undertone-bench/1");

/// How the two talk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Both send all the time, eight messages ahead of their acknowledgements.
    Stream,
    /// Both send a message and wait for the other's before the next, as rounds do.
    Exchange,
}

/// Messages out of each of two nodes.
pub fn measure(pattern: Pattern, bytes: usize, times: usize) -> Measured {
    let key = Keypair::generate_ed25519();
    let peer = key.public().to_peer_id();
    let (tell, told) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        place(1);
        on_a_runtime(async move {
            let mut swarm = swarm(key);
            let mut incoming = swarm.behaviour().new_control().accept(PROTOCOL).expect("once");
            swarm.listen_on("/ip4/127.0.0.1/tcp/0".parse().expect("an address")).expect("a port");
            let mut found = None;
            let stream = loop {
                tokio::select! {
                    Some((_, stream)) = incoming.next() => break stream,
                    event = swarm.select_next_some() => {
                        if let libp2p::swarm::SwarmEvent::NewListenAddr { address, .. } = event
                            && found.replace(()).is_none()
                        {
                            tell.send(address).expect("somebody waits");
                        }
                    }
                }
            };
            talk(swarm, stream, pattern, bytes, times).await
        })
    });
    let address = told.recv().expect("it listens");
    let client = std::thread::spawn(move || {
        place(0);
        on_a_runtime(client(peer, address, pattern, bytes, times))
    });
    server.join().expect("no panic");
    client.join().expect("no panic")
}

async fn client(
    peer: PeerId,
    address: Multiaddr,
    pattern: Pattern,
    bytes: usize,
    times: usize,
) -> Measured {
    let mut swarm = swarm(Keypair::generate_ed25519());
    let mut control = swarm.behaviour().new_control();
    swarm.dial(DialOpts::peer_id(peer).addresses(vec![address]).build()).expect("a new peer");
    let opening = control.open_stream(peer, PROTOCOL);
    tokio::pin!(opening);
    let stream = loop {
        tokio::select! {
            stream = &mut opening => break stream.expect("it listens"),
            _ = swarm.select_next_some() => {}
        }
    };
    talk(swarm, stream, pattern, bytes, times).await
}

/// Drives the swarm beside the talk, which is measured.
async fn talk(
    mut swarm: Swarm<libp2p_stream::Behaviour>,
    stream: libp2p::Stream,
    pattern: Pattern,
    bytes: usize,
    times: usize,
) -> Measured {
    let driver = tokio::spawn(async move {
        loop {
            swarm.select_next_some().await;
        }
    });
    let (mut input, mut output) = stream.split();
    let message = vec![7; bytes];
    let mut buffer = vec![0; bytes];
    let clock = Clock::start();
    match pattern {
        Pattern::Exchange => {
            for _ in 0..times {
                // At the same time: both would fill their windows otherwise, and wait for ever.
                tokio::join!(put(&mut output, &message), get(&mut input, &mut buffer));
            }
        }
        Pattern::Stream => stream_both_ways(&mut input, &mut output, &message, times).await,
    }
    let measured = clock.stop(times as f64);
    // What was written last has to leave.
    tokio::time::sleep(Duration::from_millis(200)).await;
    driver.abort();
    measured
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
