//! The peers: other people's tools doing the same work, each in its own process.

use std::path::Path;
use std::process::{Command, Stdio};

use super::record::{self, Record};
use super::{Options, pinned};
use crate::workspace::Workspace;

struct Peer {
    name: &'static str,
    /// What pip installs. Each peer by itself, so that a missing one costs only itself.
    packages: &'static [&'static str],
    /// What must be importable afterwards.
    module: &'static str,
    /// What it does better with, and does without if it cannot be had.
    better_with: Option<&'static str>,
    /// Whether it also runs on all cores, with the number of threads in its names.
    parallel: bool,
}

const fn peer(name: &'static str, packages: &'static [&'static str], module: &'static str) -> Peer {
    Peer { name, packages, module, better_with: None, parallel: false }
}

/// numpy, and the same with the noise of MKL.
const fn with_mkl_noise(name: &'static str) -> Peer {
    let better_with = Some("mkl_random");
    Peer { parallel: true, better_with, ..peer(name, &["numpy", "mkl_random"], "numpy") }
}

const PEERS: &[Peer] = &[
    peer("numpy", &["numpy", "scipy"], "numpy"),
    Peer { parallel: true, ..peer("admm", &["numpy", "scipy"], "scipy") },
    Peer { parallel: true, ..peer("scipy", &["numpy", "scipy"], "scipy") },
    Peer { parallel: true, ..peer("jax", &["jax"], "jax") },
    peer("dp_accounting", &["dp-accounting==0.6.0"], "dp_accounting"),
    peer("prv_accountant", &["prv-accountant==0.2.0"], "prv_accountant"),
    peer("opendp", &["opendp==0.16.0"], "opendp"),
    peer("mkl_random", &["mkl_random"], "mkl_random"),
    peer("torch", &["torch"], "torch"),
    with_mkl_noise("models_numpy"),
    Peer { parallel: true, ..peer("models_jax", &["jax"], "jax") },
    with_mkl_noise("descent_numpy"),
    Peer { parallel: true, ..peer("descent_torch", &["torch"], "torch") },
    Peer { parallel: true, ..peer("descent_jax", &["jax"], "jax") },
    peer("gossipy", &["gossipy-dfl==0.0.1", "torchvision", "torch"], "gossipy.simul"),
    Peer { parallel: true, ..peer("opacus", &["opacus==1.6.0"], "opacus") },
    peer("opacus_memory", &["opacus==1.6.0"], "opacus"),
];

/// Checks the name of a peer.
pub fn named(name: &str) -> Result<(), String> {
    if PEERS.iter().any(|p| p.name == name) {
        return Ok(());
    }
    let known = PEERS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    Err(format!("there is no peer `{name}`; there are {known}"))
}

/// Installs and runs every peer that is wanted; one that cannot be had is skipped with a word.
pub fn run(workspace: &Workspace, options: &Options) -> Result<Vec<Record>, String> {
    let folder = workspace.target.join("peers-venv");
    let python = folder.join("bin/python");
    if !python.exists() {
        eprintln!("==> python3 -m venv {}", folder.display());
        let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status();
        if !made.is_ok_and(|status| status.success()) {
            return Err("the peers need python3 with its venv module".into());
        }
    }
    let mut records = Vec::new();
    for peer in PEERS {
        if options.without.iter().any(|name| name == peer.name) {
            eprintln!("==> {}: left out", peer.name);
            continue;
        }
        match measure(workspace, &python, peer, options.quick) {
            Ok(measured) => records.extend(measured),
            Err(why) => eprintln!("==> {}: skipped: {why}", peer.name),
        }
    }
    Ok(records)
}

fn measure(
    workspace: &Workspace,
    python: &Path,
    peer: &Peer,
    quick: bool,
) -> Result<Vec<Record>, String> {
    let missing = |module: &&str| !imports(python, module);
    if [peer.module].iter().chain(&peer.better_with).any(missing) {
        eprintln!("==> pip install {}", peer.packages.join(" "));
        // Whether it worked is seen by what can be imported then.
        let _ = Command::new(python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(peer.packages)
            .stdin(Stdio::null())
            .status();
        if !imports(python, peer.module) {
            return Err(format!("{} cannot be installed here", peer.packages.join(" ")));
        }
        if let Some(module) = peer.better_with.as_ref().filter(|module| missing(module)) {
            eprintln!("==> {}: without {module}, which cannot be installed here", peer.name);
        }
    }
    eprintln!("==> {}", peer.name);
    let script = workspace.root.join("xtask/peers").join(format!("bench_{}.py", peer.name));
    let mut command = Command::new(python);
    command.arg(script);
    if quick {
        command.arg("--quick");
    }
    let mut records = record::from_command(&mut pinned(&mut command))?;
    if peer.parallel {
        eprintln!("==> {} on all cores", peer.name);
        records.extend(record::from_command(&mut command)?);
    }
    Ok(records)
}

fn imports(python: &Path, module: &str) -> bool {
    let import = format!("import {module}");
    Command::new(python).args(["-c", &import]).output().is_ok_and(|out| out.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_has_a_script() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        for peer in PEERS {
            assert!(folder.join(format!("bench_{}.py", peer.name)).is_file(), "{}", peer.name);
        }
    }

    #[test]
    fn peers_are_known_by_name() {
        assert_eq!(named("torch"), Ok(()));
        assert!(named("tensorflow").is_err_and(|e| e.contains("dp_accounting")));
    }

    #[test]
    fn a_python_without_the_module_is_noticed() {
        assert!(!imports(Path::new("no-such-python"), "sys"));
    }
}
