//! A node with its sockets: the engine on one thread, the network on another.

mod run;
mod status;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use undertone_protocol::{Wirings, wire};
use undertone_real::Real;

use crate::engine::{Effect, Engine, EngineError, Heard, Setup, neighbours};
use crate::session::{Board, Report, Verdict};
use crate::statement::{Payload, Statement};
use crate::swarm::Net;

pub use run::Run;
pub use status::{NodeError, Options, Outcome, Phase, Status};

fn drive<R: Real>(
    engine: Engine<R>,
    setup: &Setup,
    options: Options,
    watch: &mut dyn FnMut(&Status),
) -> Result<Outcome, NodeError> {
    let failed = |error: std::io::Error| NodeError::Network(error.to_string());
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let (reports, inbox) = mpsc::channel(REPORTS);
    let everyone = setup.network.members().len();
    let board = Arc::new(Board {
        node: setup.node,
        network: Arc::clone(&setup.network),
        plan: options.plan,
        payload_limit: wire::largest::<R>(engine.machine().shape()),
        reader: engine.reader(),
        shelf: engine.shelf(),
        counters: Arc::clone(&setup.counters),
        news: watch::channel(0).0,
        acks: (0..everyone).map(|_| watch::channel(None).0).collect(),
        bye: watch::channel(None).0,
    });
    let mut wirings = Wirings::new(setup.topology.clone(), 1);
    let peers = neighbours(&mut wirings, setup.node, setup.n_rounds);
    let peers = peers.map_err(EngineError::from)?.all;
    let shared = Arc::new(Mutex::new(None));
    let net = {
        let _inside = runtime.enter();
        let (board, peers, reports) = (Arc::clone(&board), peers.clone(), reports.clone());
        Net::new(&setup.identity, &options.listen, &options.limits, board, peers, reports)
            .map_err(NodeError::Network)?
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let web = options.metrics.map(|address| web::Web {
        address,
        counters: Arc::clone(&setup.counters),
        status: Arc::clone(&shared),
        node: setup.node,
    });
    let thread = std::thread::Builder::new().name("network".into()).spawn(move || {
        runtime.block_on(async move {
            tokio::spawn(signals(reports.clone()));
            if let Some(web) = web {
                tokio::spawn(web.serve(reports.clone()));
            }
            drop(reports);
            tokio::select! { () = net.run() => {}, _ = stopped => {} }
        });
    });
    let thread = thread.map_err(failed)?;
    // A clock of its own: with the network's, every pause would wake the network up.
    let pauses = Builder::new_current_thread().enable_time().build().map_err(failed)?;
    let mut node = Node {
        engine,
        board,
        inbox,
        pauses,
        peers,
        sessions: BTreeMap::new(),
        rounds: BTreeMap::new(),
        gone: BTreeSet::new(),
        parked: Vec::new(),
        timer: None,
        overdue: false,
        started: Instant::now(),
        first_round: None,
        shared,
        setup,
        options,
    };
    let outcome = node.run(watch);
    if outcome.is_ok() {
        // What was said last has to leave; the network stops when nobody reads its reports.
        std::thread::sleep(FAREWELL);
    }
    drop(node);
    let _ = stop.send(());
    let _ = thread.join();
    outcome
}

/// Reports that wait for the engine; sessions wait when there are more.
const REPORTS: usize = 64;
const FAREWELL: Duration = Duration::from_millis(150);
const TICK: Duration = Duration::from_millis(200);

struct Node<'a, R: Real> {
    engine: Engine<R>,
    board: Arc<Board>,
    inbox: mpsc::Receiver<Report>,
    pauses: Runtime,
    peers: BTreeSet<u32>,
    /// The present session of each peer that is up.
    sessions: BTreeMap<u32, u64>,
    /// The round that each peer last said it was in.
    rounds: BTreeMap<u32, u64>,
    /// Peers that said goodbye after the last round.
    gone: BTreeSet<u32>,
    /// Messages too far ahead, at most one a peer: the session waits for the verdict.
    parked: Vec<(u32, Statement, Payload, oneshot::Sender<Verdict>)>,
    /// When the present round is over.
    timer: Option<(u64, Instant)>,
    /// The deadline has passed, but a quorum is missing.
    overdue: bool,
    started: Instant,
    first_round: Option<(u64, Instant)>,
    shared: Arc<Mutex<Option<Status>>>,
    setup: &'a Setup,
    options: Options,
}

impl<R: Real> Node<'_, R> {
    fn run(&mut self, watch: &mut dyn FnMut(&Status)) -> Result<Outcome, NodeError> {
        let mut finished: Option<Instant> = None;
        let mut published: Option<Instant> = None;
        self.act()?;
        loop {
            if published.is_none_or(|at| at.elapsed() > TICK / 2) {
                self.publish(watch, None);
                published = Some(Instant::now());
            }
            if self.engine.is_finished() {
                let since = *finished.get_or_insert_with(Instant::now);
                if self.engine.is_settled() {
                    self.say_bye(true);
                }
                let everybody = self.peers.iter().all(|peer| self.is_done(*peer));
                if self.engine.is_settled() && everybody || since.elapsed() > self.options.linger {
                    return Ok(self.end(Phase::Finished, watch));
                }
            }
            let wake = self.timer.filter(|_| !self.overdue).map(|(_, at)| at);
            let pause = wake.map_or(TICK, |at| at.saturating_duration_since(Instant::now()));
            let inbox = &mut self.inbox;
            let next = self.pauses.block_on(async {
                // A timeout is made where there is a clock: inside.
                tokio::time::timeout(pause.min(TICK), inbox.recv()).await
            });
            match next {
                Ok(None) => return Err(NodeError::Network("the network has stopped".into())),
                Ok(Some(Report::Stop)) => {
                    tracing::info!("stopping");
                    self.say_bye(false);
                    return Ok(self.end(Phase::Stopped, watch));
                }
                Ok(Some(Report::Failed(reason))) => return Err(NodeError::Network(reason)),
                Ok(Some(report)) => self.take(report)?,
                Err(_) => {}
            }
            self.act()?;
            self.look_at_the_clock()?;
            self.unpark()?;
        }
    }

    fn take(&mut self, report: Report) -> Result<(), NodeError> {
        match report {
            Report::Up { peer, session, hello } => {
                self.sessions.insert(peer, session);
                self.rounds.insert(peer, hello.round);
                self.gone.remove(&peer);
                self.engine.meet(peer, &hello)?;
            }
            Report::Message { peer, statement, payload, verdict } => {
                self.hear(peer, statement, payload, verdict)?;
            }
            Report::Acked { peer, round } => self.engine.acknowledged(peer, round),
            Report::Status { peer, round } => {
                self.rounds.insert(peer, round);
                self.engine.note_round(peer, round)?;
            }
            Report::Bye { peer, finished } => {
                if finished {
                    self.gone.insert(peer);
                }
            }
            Report::Down { peer, session } => {
                if self.sessions.get(&peer) == Some(&session) {
                    self.sessions.remove(&peer);
                    self.engine.part(peer);
                }
            }
            Report::Stop | Report::Failed(_) => {}
        }
        self.setup.counters.peers.set(self.sessions.len() as u64);
        Ok(())
    }

    fn hear(
        &mut self,
        peer: u32,
        statement: Statement,
        payload: Payload,
        verdict: oneshot::Sender<Verdict>,
    ) -> Result<(), NodeError> {
        match self.engine.hear(peer, &statement, &payload)? {
            Heard::Early => self.parked.push((peer, statement, payload, verdict)),
            Heard::Taken => {
                let _ = verdict.send(Verdict::Next);
            }
            Heard::Refused(refusal) => {
                let _ = verdict.send(Verdict::Refuse(refusal));
            }
        }
        Ok(())
    }

    /// Tries again what came too early.
    fn unpark(&mut self) -> Result<(), NodeError> {
        for (peer, statement, payload, verdict) in std::mem::take(&mut self.parked) {
            // Whoever has gone sends it again.
            if !verdict.is_closed() {
                self.hear(peer, statement, payload, verdict)?;
            }
        }
        self.act()
    }

    /// Does what the engine wants.
    fn act(&mut self) -> Result<(), NodeError> {
        for effect in self.engine.effects() {
            match effect {
                Effect::Ack { peer, round } => {
                    let ack = &self.board.acks[peer as usize];
                    ack.send_modify(|told| *told = Some(round.max(told.unwrap_or(0))));
                }
                Effect::News => {
                    self.board.news.send_modify(|count| *count += 1);
                }
                Effect::Wait { round } => {
                    let at = self.setup.rounds.deadline.map(|wait| (round, Instant::now() + wait));
                    self.timer = at;
                    self.overdue = false;
                }
                Effect::Finished => self.timer = None,
            }
        }
        if self.first_round.is_none() && !self.engine.is_held() {
            self.first_round = Some((self.engine.round(), Instant::now()));
        }
        Ok(())
    }

    /// Ends a round whose time is over, as soon as a quorum is there.
    fn look_at_the_clock(&mut self) -> Result<(), NodeError> {
        let Some((round, at)) = self.timer else { return Ok(()) };
        if round != self.engine.round() {
            self.timer = None;
            return Ok(());
        }
        if Instant::now() < at {
            return Ok(());
        }
        self.overdue = !self.engine.deadline(round)?;
        self.act()
    }

    /// Whether a peer needs nothing any more.
    fn is_done(&self, peer: u32) -> bool {
        let finished = self.rounds.get(&peer).is_some_and(|round| *round >= self.setup.n_rounds);
        self.gone.contains(&peer) || finished && !self.sessions.contains_key(&peer)
    }

    fn say_bye(&self, finished: bool) {
        let bye = &self.board.bye;
        bye.send_if_modified(|said| {
            let news = *said != Some(finished);
            *said = Some(finished);
            news
        });
    }

    fn publish(&self, watch: &mut dyn FnMut(&Status), phase: Option<Phase>) -> Status {
        let status = self.status(phase);
        *self.shared.lock().expect("nobody panics with it") = Some(status.clone());
        watch(&status);
        status
    }

    fn end(&self, phase: Phase, watch: &mut dyn FnMut(&Status)) -> Outcome {
        let status = self.publish(watch, Some(phase));
        let machine = self.engine.machine();
        let mut estimate = vec![R::ZERO; machine.dimension()];
        machine.estimate(&mut estimate);
        Outcome {
            status,
            estimate: estimate.into_iter().map(Real::to_f64).collect(),
            guarantee: self.engine.guarantee(),
            unacknowledged: !self.engine.is_settled(),
        }
    }

    fn status(&self, phase: Option<Phase>) -> Status {
        let (counters, guarantee) = (&self.setup.counters, self.engine.guarantee());
        let (round, rounds) = (self.engine.round(), self.setup.n_rounds);
        // In test mode the noise comes from a public seed and hides nothing.
        let epsilon = Some(guarantee.epsilon.get()).filter(|_| self.setup.test_seed.is_none());
        let phase = phase.unwrap_or(match () {
            () if self.engine.is_finished() => Phase::Settling,
            () if self.engine.is_held() => Phase::Joining,
            () => Phase::Running,
        });
        let pace = self
            .first_round
            .filter(|(first, _)| round > *first)
            .map(|(first, since)| since.elapsed().as_secs_f64() / (round - first) as f64);
        Status {
            node: self.setup.node,
            phase,
            round,
            rounds,
            peers: self.sessions.len() as u64,
            waits_for: self.engine.missing(),
            bytes_in: counters.bytes_in.get(),
            bytes_out: counters.bytes_out.get(),
            debits: guarantee.debits,
            spent: guarantee.spent,
            epsilon: epsilon.filter(|epsilon| epsilon.is_finite()),
            delta: guarantee.delta.get(),
            seconds: self.started.elapsed().as_secs_f64(),
            seconds_left: pace.map(|pace| pace * (rounds - round) as f64),
        }
    }
}

async fn signals(reports: mpsc::Sender<Report>) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return;
        };
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        return;
    }
    let _ = reports.send(Report::Stop).await;
}
