//! What we may depend on: licences, bans and sources. `deny.toml` says the same to cargo-deny.

use super::Complaint;
use crate::workspace::{Package, Workspace};

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

const BANNED: &[(&str, &str)] = &[
    ("bincode", "has no maintained release; postcard is our encoding"),
    ("openssl-sys", "needs a system library; rustls or none"),
    ("statrs", "its erfc is off by 1e-10, which a privacy bound cannot afford; libm has it"),
];

/// How a source begins that is a package registry, not a repository or a folder.
const REGISTRY: &str = "registry+";

/// Complains of foreign packages that we must not depend on.
pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    workspace.packages.iter().flat_map(judge).collect()
}

fn judge(package: &Package) -> Vec<Complaint> {
    let Some(source) = &package.source else { return Vec::new() };
    let place = format!("{} {}", package.name, package.version);
    let mut complaints = Vec::new();
    if !permits(&package.licence) {
        let what = format!("licence `{}` is not in the allow-list", package.licence);
        complaints.push(Complaint::new(&place, what));
    }
    if let Some((_, why)) = BANNED.iter().find(|(name, _)| *name == package.name) {
        complaints.push(Complaint::new(&place, format!("is banned: it {why}")));
    }
    if !source.starts_with(REGISTRY) {
        complaints
            .push(Complaint::new(&place, format!("comes from `{source}`, not from a registry")));
    }
    complaints
}

/// Whether a licence expression can be met by allowed licences alone.
fn permits(expression: &str) -> bool {
    // "MIT/Apache-2.0" is the old way to write OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any(&words, &mut at) && at == words.len()
}

fn any(words: &[&str], at: &mut usize) -> bool {
    let mut permitted = all(words, at);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        permitted |= all(words, at);
    }
    permitted
}

fn all(words: &[&str], at: &mut usize) -> bool {
    let mut permitted = one(words, at);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        permitted &= one(words, at);
    }
    permitted
}

fn one(words: &[&str], at: &mut usize) -> bool {
    let word = words.get(*at).copied().unwrap_or_default();
    *at += 1; // beyond the end if a word is missing, which `permits` refuses
    if word == "(" {
        let permitted = any(words, at);
        let closed = words.get(*at) == Some(&")");
        *at += usize::from(closed);
        return permitted && closed;
    }
    if words.get(*at) == Some(&"WITH") {
        let exception = words.get(*at + 1).copied().unwrap_or_default();
        *at += 2;
        return ALLOWED.contains(&format!("{word} WITH {exception}").as_str());
    }
    ALLOWED.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_understood() {
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ] {
            assert!(permits(good), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0",
            "MIT MIT",
            "MIT OR",
            "Apache-2.0 WITH",
        ] {
            assert!(!permits(bad), "{bad}");
        }
    }

    #[test]
    fn licences_bans_and_sources_are_refused() {
        let mut package = Package {
            name: "bincode".into(),
            version: "1.0.0".into(),
            licence: "GPL-3.0".into(),
            source: Some("git+https://example.org".into()),
            dependencies: Vec::new(),
            benches: Vec::new(),
        };
        assert_eq!(judge(&package).len(), 3);
        package.name = "libm".into();
        package.licence = "MIT".into();
        package.source = Some(REGISTRY.into());
        assert_eq!(judge(&package), []);
        package.source = None;
        package.licence = String::new();
        assert_eq!(judge(&package), []);
    }

    #[test]
    fn deny_toml_says_the_same() {
        let text = include_str!("../../../deny.toml");
        let lines = || text.lines().map(str::trim);
        let allowed: Vec<String> = lines()
            .filter_map(|line| line.strip_prefix('"')?.strip_suffix("\",").map(str::to_string))
            .collect();
        assert_eq!(allowed, ALLOWED);
        let banned: Vec<&str> = lines()
            .filter_map(|line| line.strip_prefix("{ crate = \"")?.split('"').next())
            .collect();
        assert_eq!(banned, BANNED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
