//! `undertone node`.

mod config;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;
use undertone_net::{
    Counters, Identity, Keep, Limits, Multiaddr, Options, Outcome, Phase, Rounds, Run, Setup,
    Status, hex, plan_hash,
};

use super::{hash, network, plan};
use crate::output;
use config::{Config, Loaded};

/// Run one node of a network, with its own key, data, budget and disk.
#[derive(Args)]
#[command(after_help = "\
The file, in TOML; names of files are relative to it:
  network = \"network.toml\"             signed by everybody
  plan = \"plan.toml\"                   the one that was signed
  key = \"node.key\"
  store = \"node.store\"                 ledger, promised messages, journal; never put it back
  listen = \"/ip4/0.0.0.0/tcp/7000\"
  metrics = \"127.0.0.1:9100\"           optional: /metrics for Prometheus, /status as JSON
  [budget]                             optional: refuse a plan that costs more
  epsilon = 1.0
  delta = 1e-5
  [data]
  numbers = \"mine.csv\"                 to average: one record a line; or, to learn, a recipe that
                                       replaces [data] of the plan

It ends after the last round, when its peers have all of its messages. SIGTERM stops it at once and
safely; start it again to go on. A store that went backwards is refused with exit code 2.")]
pub struct Node {
    /// The node's file
    #[arg(long, value_name = "FILE", default_value = "node.toml")]
    config: PathBuf,
    /// Print where it stands and how it ended as lines of JSON
    #[arg(long)]
    json: bool,
    /// No lines about where it stands
    #[arg(long)]
    quiet: bool,
    /// What is logged to standard error: error, warn, info or debug, also by part of the program,
    /// as in warn,undertone_net=debug
    #[arg(long, env = "RUST_LOG", value_name = "LEVEL", default_value = "warn")]
    log: Targets,
}

impl Node {
    /// The text to print, and whether it came to the end.
    pub fn run(self) -> Result<(String, bool), String> {
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .with_timer(tracing_subscriber::fmt::time::uptime());
        tracing_subscriber::registry().with(lines.with_filter(self.log)).init();
        let config = Config::read(&self.config)?;
        let (file, variant) = plan(&config.plan, &config.set)?;
        let signed = variant.plan.clone();
        let identity = Identity::read(&config.key).map_err(|error| error.to_string())?;
        let network = network::open(&config.network)?;
        let network = network
            .check(signed.network.nodes, &hash(&signed))
            .map_err(|error| format!("{}: {error}", config.network.display()))?;
        let name = self.config.display();
        let node = network.node_of(&identity.public()).ok_or_else(|| {
            format!("{name}: no peer of the network has the key {}", identity.public())
        })?;
        let loaded = config.load(&file, &variant, node)?;
        let at = |error| file.locate(&error, &variant);
        let rounds = Rounds::of(&signed).map_err(at)?;
        let topology = loaded.experiment.topology(signed.seed).map_err(at)?;
        let listen: Multiaddr = config
            .listen
            .parse()
            .map_err(|error| format!("{name}: listen: {error}; write /ip4/0.0.0.0/tcp/7000"))?;
        let setup = Setup {
            node,
            identity,
            network: Arc::new(network),
            rounds,
            topology,
            n_rounds: signed.run.rounds,
            store: config.store.clone(),
            keep: Keep::default(),
            test_seed: config.test_seed,
            counters: Arc::new(Counters::default()),
        };
        let options = Options {
            listen,
            metrics: config.metrics,
            plan: plan_hash(&signed),
            limits: Limits::default(),
            linger: Duration::from_secs(config.linger),
        };
        config.check_budget(&loaded, signed.seed, node)?;
        let mut lines = Lines::new(self.json, self.quiet);
        let mut watch = |status: &Status| lines.tell(status);
        let run = Run { setup, options, watch: &mut watch };
        let Loaded { experiment, numbers } = loaded;
        let outcome = run.node(&experiment, signed.run.precision, signed.seed, numbers);
        let outcome = outcome.map_err(|error| format!("{name}: {error}"))?;
        let outcome = outcome.map_err(|error| format!("node {node}: {error}"))?;
        let passed = outcome.status.phase == Phase::Finished;
        let text = match self.json {
            true => json!({ "outcome": facts(&outcome, config.test_seed) }).to_string(),
            false => words(&outcome, config.test_seed),
        };
        // Stopped on request is no failure.
        Ok((text, passed || outcome.status.phase == Phase::Stopped))
    }
}

fn facts(outcome: &Outcome, test_seed: Option<u64>) -> Value {
    let bytes: Vec<u8> = outcome.estimate.iter().flat_map(|v| v.to_le_bytes()).collect();
    json!({
        "status": outcome.status,
        "guarantee": outcome.guarantee,
        "test-mode": test_seed.is_some(),
        "unacknowledged": outcome.unacknowledged,
        "estimate": outcome.estimate,
        "estimate-digest": hex(&undertone_net::digest(&bytes)),
    })
}

fn words(outcome: &Outcome, test_seed: Option<u64>) -> String {
    let status = &outcome.status;
    let promise = match test_seed {
        Some(_) => "no guarantee: in test mode the noise comes from a public seed".to_string(),
        None => outcome.guarantee.to_string(),
    };
    let shown: Vec<String> = outcome.estimate.iter().take(8).map(|v| format!("{v:.6}")).collect();
    let more = if outcome.estimate.len() > 8 { ", ..." } else { "" };
    output::facts(&[
        ("node", status.node.to_string()),
        ("ended", if status.phase == Phase::Finished { "all rounds" } else { "stopped" }.into()),
        ("rounds", format!("{} of {}", status.round, status.rounds)),
        ("bytes", format!("{} in, {} out", status.bytes_in, status.bytes_out)),
        ("estimate", format!("[{}{more}]", shown.join(", "))),
        ("promise", promise),
    ])
}

/// Lines about where the node stands: when something changed, and not too often.
struct Lines {
    json: bool,
    quiet: bool,
    last: Option<(Instant, Phase, u64)>,
}

const PAUSE: Duration = Duration::from_millis(500);

impl Lines {
    fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet, last: None }
    }

    fn tell(&mut self, status: &Status) {
        let new = self.last.is_none_or(|(at, phase, round)| {
            phase != status.phase || round != status.round && at.elapsed() > PAUSE
        });
        if self.quiet || !new {
            return;
        }
        self.last = Some((Instant::now(), status.phase, status.round));
        let mut out = std::io::stdout().lock();
        let _ = match self.json {
            true => writeln!(out, "{}", json!({ "status": status })),
            false => writeln!(out, "{}", line(status)),
        };
        let _ = out.flush();
    }
}

/// One line for people.
fn line(status: &Status) -> String {
    let left = match (status.phase, status.seconds_left) {
        (Phase::Running, Some(seconds)) => format!(", {seconds:.0} s left"),
        _ => String::new(),
    };
    let phase = serde_json::to_value(status.phase).unwrap_or_default();
    let phase = phase.as_str().unwrap_or_default().to_string();
    let promise = match status.epsilon {
        Some(epsilon) => format!("of epsilon {}", output::significant(epsilon)),
        None => "of no guarantee".to_string(),
    };
    let waits = match status.waits_for.as_slice() {
        [] => String::new(),
        peers => format!(", waits for {peers:?}"),
    };
    format!(
        "node {} {phase}: round {} of {}, {} peers, {:.1} kB in, {:.1} kB out, {:.1}% {promise} \
         spent{left}{waits}",
        status.node,
        status.round,
        status.rounds,
        status.peers,
        status.bytes_in as f64 / 1e3,
        status.bytes_out as f64 / 1e3,
        100.0 * status.spent,
    )
}
