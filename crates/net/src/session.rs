//! One peer on one stream: the handshake, then frames both ways until one side ends it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::counters::Counters;
use crate::frame::{self, Frame, FrameError, Hello, PREFIX, Refusal, SMALL, VERSION, limit};
use crate::network::Network;
use crate::shelf::Shelf;
use crate::statement::{Payload, Statement, digester};
use crate::store::Reader;

/// What the network tells the engine.
pub(crate) enum Report {
    /// A handshake succeeded; a later session of the same peer has a higher number.
    Up { peer: u32, session: u64, hello: Hello },
    /// A message. The session reads on when it has the verdict.
    Message { peer: u32, statement: Statement, payload: Payload, verdict: Reply },
    /// The peer has stored all up to a round.
    Acked { peer: u32, round: u64 },
    /// The peer is in this round.
    Status { peer: u32, round: u64 },
    /// The peer goes.
    Bye { peer: u32, finished: bool },
    /// The session is over.
    Down { peer: u32, session: u64 },
    /// The operating system asks the process to stop.
    Stop,
    /// The network cannot work.
    Failed(String),
}

/// Where the engine says what it thinks of a message.
pub(crate) type Reply = oneshot::Sender<Verdict>;

/// What the engine says to a message.
pub(crate) enum Verdict {
    /// Go on.
    Next,
    /// End the session.
    Refuse(Refusal),
}

/// What sessions read: fixed facts, and what the engine publishes. Newer values replace older ones,
/// so nothing piles up for a slow peer; its messages are in the store.
pub(crate) struct Board {
    pub(crate) node: u32,
    pub(crate) network: Arc<Network>,
    pub(crate) plan: [u8; 32],
    /// The largest message of the plan.
    pub(crate) payload_limit: usize,
    pub(crate) reader: Reader,
    pub(crate) shelf: Shelf,
    pub(crate) counters: Arc<Counters>,
    /// Counts promised messages.
    pub(crate) news: watch::Sender<u64>,
    /// By peer: up to which round its messages are stored.
    pub(crate) acks: Vec<watch::Sender<Option<u64>>>,
    /// Set when the node goes: whether it has finished.
    pub(crate) bye: watch::Sender<Option<bool>>,
}

/// Messages to a peer that are not acknowledged; more wait in the store.
const WINDOW: usize = 8;
/// How often a node says that it is alive.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// A peer that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(10);
/// For a frame that has begun.
const FRAME: Duration = Duration::from_secs(60);
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Bytes of a message that are hashed at once.
const PART: usize = 64 << 10;

/// Runs a session to its end. An error says why the peer was refused.
pub(crate) async fn run<S>(
    stream: S,
    peer: u32,
    session: u64,
    board: &Board,
    reports: &mpsc::Sender<Report>,
) -> Result<(), Refusal>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut input, mut output) = stream.split();
    let end = match timeout(HANDSHAKE, greet(&mut input, &mut output, peer, board)).await {
        Err(_) => Err(Refusal::Timeout),
        Ok(Err(end)) => end,
        Ok(Ok(hello)) => {
            board.counters.sessions.add(1);
            tracing::debug!(peer, round = hello.round, "peer is up");
            let have = hello.have;
            let up = Report::Up { peer, session, hello };
            if reports.send(up).await.is_err() {
                return Ok(());
            }
            let (acked, acked_here) = watch::channel(have);
            let end = tokio::select! {
                end = read(&mut input, peer, board, reports, &acked) => end,
                end = write(&mut output, peer, board, acked_here, have) => end,
            };
            let _ = reports.send(Report::Down { peer, session }).await;
            end
        }
    };
    if let Err(refusal) = end {
        board.counters.refuse(refusal);
        tracing::warn!(peer, reason = refusal.name(), "refused a peer");
        let farewell = Frame::Refusal(refusal).encode();
        let _ = timeout(Duration::from_secs(1), async {
            output.write_all(&farewell).await?;
            output.flush().await?;
            output.close().await
        })
        .await;
    }
    end
}

/// How a session ends: by itself, or by a refusal.
type End = Result<(), Refusal>;

async fn greet<I, O>(input: &mut I, output: &mut O, peer: u32, board: &Board) -> Result<Hello, End>
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
{
    let seen = board.reader.newest(peer).map_err(|_| Ok(()))?;
    let own = Hello {
        version: VERSION,
        network: *board.network.hash(),
        plan: board.plan,
        node: board.node,
        round: board.counters.round.get(),
        have: seen.as_ref().map_or(0, |word| word.round + 1),
        seen,
    };
    write_frame(output, &Frame::Hello(own), &board.counters).await?;
    match read_frame(input, SMALL, board).await?.0 {
        Frame::Hello(hello) if hello.plan != board.plan => Err(Err(Refusal::WrongPlan)),
        Frame::Hello(hello) if hello.network != *board.network.hash() => {
            Err(Err(Refusal::WrongNetwork))
        }
        Frame::Hello(hello) if hello.node != peer => Err(Err(Refusal::UnknownKey)),
        Frame::Hello(hello) => Ok(hello),
        Frame::Refusal(refusal) => {
            tracing::warn!(peer, reason = refusal.name(), "a peer refuses this node");
            Err(Ok(()))
        }
        _ => Err(Err(Refusal::Malformed)),
    }
}

async fn read<I: AsyncRead + Unpin>(
    input: &mut I,
    peer: u32,
    board: &Board,
    reports: &mpsc::Sender<Report>,
    acked: &watch::Sender<u64>,
) -> End {
    let limit = limit(board.payload_limit);
    loop {
        let (frame, digest) = match read_frame(input, limit, board).await {
            Ok(read) => read,
            Err(end) => return end,
        };
        let report = match frame {
            Frame::Message { statement, payload } => {
                let (verdict, decision) = oneshot::channel();
                let payload = Payload::with(board.shelf.lend(payload), digest);
                let report = Report::Message { peer, statement, payload, verdict };
                if reports.send(report).await.is_err() {
                    return Ok(());
                }
                match decision.await {
                    Ok(Verdict::Next) => continue,
                    Ok(Verdict::Refuse(refusal)) => return Err(refusal),
                    Err(_) => return Ok(()),
                }
            }
            Frame::Ack { round } => {
                acked.send_replace(round.saturating_add(1));
                Report::Acked { peer, round }
            }
            Frame::Status { round } => Report::Status { peer, round },
            Frame::Bye { finished } => Report::Bye { peer, finished },
            Frame::Refusal(refusal) => {
                tracing::warn!(peer, reason = refusal.name(), "a peer refuses this node");
                return Ok(());
            }
            Frame::Hello(_) => return Err(Refusal::Malformed),
        };
        if reports.send(report).await.is_err() {
            return Ok(());
        }
    }
}

async fn write<O: AsyncWrite + Unpin>(
    output: &mut O,
    peer: u32,
    board: &Board,
    mut acked: watch::Receiver<u64>,
    have: u64,
) -> End {
    let mut news = board.news.subscribe();
    let mut ack = board.acks[peer as usize].subscribe();
    // What the hello did not say is said at once.
    ack.mark_changed();
    let mut bye = board.bye.subscribe();
    bye.mark_changed();
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    let mut cursor = have;
    let mut flight = VecDeque::new();
    loop {
        news.borrow_and_update();
        let next = *acked.borrow_and_update();
        while flight.front().is_some_and(|round| *round < next) {
            flight.pop_front();
        }
        // Before the next message, so that the peer knows what it may forget before its next round.
        let due = ack.has_changed().unwrap_or(false).then(|| *ack.borrow_and_update()).flatten();
        let mut head = due.map_or_else(Vec::new, |round| Frame::Ack { round }.encode());
        while flight.len() < WINDOW {
            let Ok(found) = board.reader.next_for(peer, cursor) else { return Ok(()) };
            let Some(outgoing) = found else { break };
            let round = outgoing.statement.round;
            cursor = round + 1;
            flight.push_back(round);
            head.extend(frame::message_head(&outgoing.statement, outgoing.payload.len()));
            if put(output, &head, &outgoing.payload, &board.counters).await.is_err() {
                return Ok(());
            }
            head.clear();
            board.counters.sent.add(1);
        }
        if !head.is_empty() && put(output, &head, &[], &board.counters).await.is_err() {
            return Ok(());
        }
        let frame = tokio::select! {
            changed = news.changed() => match changed { Ok(()) => None, Err(_) => return Ok(()) },
            changed = acked.changed() => match changed { Ok(()) => None, Err(_) => return Ok(()) },
            _ = ack.changed() => {
                ack.mark_changed();
                None
            }
            _ = bye.changed() => bye.borrow_and_update().map(|finished| Frame::Bye { finished }),
            _ = heartbeat.tick() => Some(Frame::Status { round: board.counters.round.get() }),
        };
        if let Some(frame) = frame
            && write_frame(output, &frame, &board.counters).await.is_err()
        {
            return Ok(());
        }
    }
}

async fn write_frame<O: AsyncWrite + Unpin>(
    output: &mut O,
    frame: &Frame,
    counters: &Counters,
) -> Result<(), End> {
    put(output, &frame.encode(), &[], counters).await
}

async fn put<O: AsyncWrite + Unpin>(
    output: &mut O,
    head: &[u8],
    body: &[u8],
    counters: &Counters,
) -> Result<(), End> {
    counters.bytes_out.add((head.len() + body.len()) as u64);
    let written = timeout(FRAME, async {
        output.write_all(head).await?;
        output.write_all(body).await?;
        output.flush().await
    });
    // A peer that takes nothing is gone; that is no fault of its messages.
    written.await.map_err(|_| Ok(()))?.map_err(|_| Ok(()))
}

/// A frame, and the digest of its message if it is one. Nothing is allocated before the length is
/// known to be allowed.
async fn read_frame<I: AsyncRead + Unpin>(
    input: &mut I,
    limit: usize,
    board: &Board,
) -> Result<(Frame, [u8; 32]), End> {
    let mut length = [0; PREFIX];
    let read = timeout(SILENCE, input.read_exact(&mut length)).await;
    read.map_err(|_| Err(Refusal::Timeout))?.map_err(|_| Ok(()))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > limit {
        return Err(Err(Refusal::Oversized));
    }
    let mut head = [0; frame::HEAD];
    let head = &mut head[..length.min(frame::HEAD)];
    let mut body = if length > SMALL { board.shelf.take() } else { Vec::new() };
    body.resize(length - head.len(), 0);
    let mut digest = digester();
    let read = timeout(FRAME, async {
        input.read_exact(head).await?;
        // While the next part is on its way.
        for part in body.chunks_mut(PART) {
            input.read_exact(part).await?;
            digest.update(part);
        }
        Ok::<(), std::io::Error>(())
    });
    read.await.map_err(|_| Err(Refusal::Timeout))?.map_err(|_| Ok(()))?;
    board.counters.bytes_in.add((PREFIX + length) as u64);
    let digest = *digest.finalize().as_bytes();
    let frame = Frame::from_parts(head, body).map_err(|error| match error {
        FrameError::Malformed => Err(Refusal::Malformed),
        FrameError::Version(_) => Err(Refusal::WrongVersion),
    });
    Ok((frame?, digest))
}
