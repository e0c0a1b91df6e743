//! `undertone cluster`.

mod folder;
mod screen;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};

use clap::Args;
use serde_json::{Value, json};

use super::plan;
use crate::output;
use folder::Folder;
use screen::Screen;

/// Run a plan with real node processes on this machine, shown live.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone cluster plan.toml --nodes 8
  undertone cluster plan.toml --set run.rounds=50 --dir cluster --json

Every node is a process with its own key, store and port on 127.0.0.1; the records are those that
the plan deals to it, the noise comes from the operating system. With --test-seed the noise comes
from the plan's seed, as in `undertone run`: the results have the same bits, and hide nothing.
Exit code 1 means that a node did not come to the end.")]
pub struct Cluster {
    /// The plan, in TOML
    plan: PathBuf,
    /// How many nodes [default: those of the plan]
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// Put a value at a key of the plan, as for `undertone run`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where keys, stores and logs go; kept [default: a folder that is removed in the end]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Noise from the plan's seed: for tests, no guarantee
    #[arg(long)]
    test_seed: bool,
    /// The first port; the others follow [default: any that are free]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// UDP and QUIC instead of TCP, if built with it
    #[arg(long)]
    quic: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show nothing while it runs
    #[arg(long)]
    quiet: bool,
}

/// A line of a node's output, or its end.
enum News {
    Line(u32, Value),
    End(u32, Option<i32>, String),
}

impl Cluster {
    /// The text to print, and whether all nodes came to the end.
    pub fn run(self) -> Result<(String, bool), String> {
        let mut set = self.set.clone();
        set.extend(self.nodes.map(|nodes| format!("network.nodes={nodes}")));
        let (_, variant) = plan(&self.plan, &set)?;
        let plan = variant.plan;
        if self.quic && !cfg!(feature = "quic") {
            return Err(
                "--quic: this command was built without it; build with --features quic".into()
            );
        }
        let folder = Folder::make(&self.plan, &plan, &set, self.dir.as_deref())?;
        let seed = self.test_seed.then_some(plan.seed);
        let n_nodes = plan.network.nodes;
        folder.set_up(n_nodes, seed, self.port, self.quic)?;
        let (news, inbox) = channel();
        let mut children = Children::default();
        for node in 0..n_nodes {
            children.0.push(folder.spawn(node).and_then(|child| watch(child, node, &news))?);
        }
        drop(news);
        let mut screen = Screen::new(n_nodes, plan.run.rounds, self.quiet || self.json);
        let mut outcomes = vec![Value::Null; n_nodes as usize];
        let mut failures = Vec::new();
        for news in inbox {
            match news {
                News::Line(node, line) => {
                    screen.show(node, &line["status"]);
                    if !line["outcome"].is_null() {
                        outcomes[node as usize] = line["outcome"].clone();
                    }
                }
                News::End(_, Some(0), _) => {}
                News::End(node, code, said) => {
                    let code = code.map_or("a signal".into(), |code| format!("exit code {code}"));
                    failures.push(format!("node {node} ended with {code}: {}", said.trim()));
                }
            }
        }
        screen.clear();
        let passed = failures.is_empty()
            && outcomes.iter().all(|outcome| outcome["status"]["phase"] == "finished");
        let text = match self.json {
            true => output::json(&json!({
                "plan": plan.name,
                "nodes": outcomes,
                "failures": failures,
                "test-mode": self.test_seed,
            })),
            false => screen::summary(&outcomes, &failures, self.test_seed),
        };
        Ok((text, passed))
    }
}

/// Nodes that are ended when the command ends, whatever happens.
#[derive(Default)]
struct Children(Vec<std::sync::Arc<std::sync::Mutex<Child>>>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &self.0 {
            if let Ok(mut child) = child.lock() {
                let _ = child.kill();
            }
        }
    }
}

/// Reads what a node prints until it ends.
fn watch(
    mut child: Child,
    node: u32,
    news: &Sender<News>,
) -> Result<std::sync::Arc<std::sync::Mutex<Child>>, String> {
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(format!("node {node} has no output"));
    };
    let said = std::thread::spawn(move || {
        let lines = BufReader::new(err).lines().map_while(Result::ok);
        // The last lines say why.
        lines.fold(String::new(), |said, line| {
            let kept = if said.len() > 2000 { String::new() } else { said };
            kept + &line + "\n"
        })
    });
    let child = std::sync::Arc::new(std::sync::Mutex::new(child));
    let (handle, news) = (std::sync::Arc::clone(&child), news.clone());
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if let Ok(value) = serde_json::from_str(&line) {
                let _ = news.send(News::Line(node, value));
            }
        }
        let said = said.join().unwrap_or_default();
        let code = handle.lock().ok().and_then(|mut child| child.wait().ok());
        let _ = news.send(News::End(node, code.and_then(|code| code.code()), said));
    });
    Ok(child)
}

/// A node's process.
fn command(config: &std::path::Path) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["node", "--json", "--config"]).arg(config);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| format!("a node does not start: {error}"))
}
