//! Dependencies between our crates point one way. This table is the architecture.

use super::Complaint;
use crate::workspace::Workspace;

/// A package, and those of ours that it may depend on, in any way (also for its tests).
/// Rows of crates that do not exist yet are promises.
const ALLOWED: &[(&str, &[&str])] = &[
    ("real", &[]),
    ("threads", &[]),
    ("privacy", &["real", "threads"]),
    ("graph", &["real"]),
    ("matrix", &["real"]),
    ("model", &["matrix", "real", "threads"]),
    ("data", &["model", "real"]),
    ("parquet", &["data"]),
    ("protocol", &["graph", "privacy", "real"]),
    ("node", &["graph", "matrix", "model", "privacy", "protocol", "real", "threads"]),
    ("trace", &["real"]),
    ("sim", &["data", "graph", "matrix", "model", "node", "privacy", "protocol", "real", "trace"]),
    ("net", &["data", "graph", "matrix", "model", "node", "privacy", "protocol", "real", "trace"]),
    (
        "audit",
        &[
            "data", "graph", "matrix", "model", "node", "privacy", "protocol", "real", "sim",
            "trace",
        ],
    ),
    ("report", &["graph", "privacy", "real", "trace"]),
    ("undertone", &LIBRARIES),
    ("cli", &CLI),
    ("xtask", &[]),
];

const LIBRARIES: [&str; 13] = [
    "audit", "data", "graph", "matrix", "model", "net", "node", "privacy", "protocol", "real",
    "report", "sim", "trace",
];

const CLI: [&str; 15] = [
    "audit",
    "data",
    "graph",
    "matrix",
    "model",
    "net",
    "node",
    "parquet",
    "privacy",
    "protocol",
    "real",
    "report",
    "sim",
    "trace",
    "undertone",
];

/// Complains of every edge that is not in the table, and of every crate that has no row.
pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    // By full name: `undertone-parquet` is ours, `parquet` is not.
    let ours: Vec<&str> = workspace.ours().map(|p| p.name.as_str()).collect();
    let mut complaints = Vec::new();
    for package in workspace.ours() {
        let from = short(&package.name);
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == from) else {
            let what = "no row in the table of crate edges; say what the crate forbids and add one";
            complaints.push(Complaint::new(from, what));
            continue;
        };
        let known = package.dependencies.iter().filter(|d| ours.contains(&d.as_str()));
        for to in known.map(|d| short(d)).filter(|to| !allowed.contains(to)) {
            complaints.push(Complaint::new(from, format!("must not depend on {to}")));
        }
    }
    complaints
}

fn short(name: &str) -> &str {
    name.strip_prefix("undertone-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Package;

    fn workspace(edges: &[(&str, &[&str])]) -> Workspace {
        let package = |(name, dependencies): &(&str, &[&str])| Package {
            name: name.to_string(),
            version: "0.1.0".into(),
            licence: "MIT".into(),
            source: None,
            dependencies: dependencies.iter().map(|d| d.to_string()).collect(),
            benches: Vec::new(),
        };
        Workspace {
            root: "/".into(),
            target: "/".into(),
            packages: edges.iter().map(package).collect(),
        }
    }

    #[test]
    fn the_edges_we_want_pass() {
        let edges: &[(&str, &[&str])] = &[
            ("undertone-real", &[]),
            ("undertone-privacy", &["undertone-real", "libm"]),
            ("undertone-cli", &["undertone-privacy"]),
            ("undertone-data", &[]),
            ("undertone-parquet", &["undertone-data", "parquet"]),
        ];
        assert_eq!(check(&workspace(edges)), []);
    }

    #[test]
    fn other_edges_and_unknown_crates_do_not() {
        let edges: &[(&str, &[&str])] = &[
            ("undertone-model", &["undertone-privacy"]),
            ("undertone-privacy", &[]),
            ("undertone-utils", &[]),
        ];
        let complaints = check(&workspace(edges));
        assert_eq!(complaints.len(), 2);
        assert_eq!(complaints[0].to_string(), "model: must not depend on privacy");
        assert!(complaints[1].what.contains("no row"));
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        // Rows only name rows above them, so that the table reads bottom-up.
        for (index, (name, allowed)) in ALLOWED.iter().enumerate() {
            for to in *allowed {
                let above = ALLOWED[..index].iter().any(|(other, _)| other == to);
                assert!(above, "{name} -> {to}");
            }
        }
    }
}
