//! What `cargo metadata` says about us: packages, their dependencies and targets.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::step::cargo;

/// The workspace, and every package it resolves to.
pub struct Workspace {
    /// The folder of the root manifest.
    pub root: PathBuf,
    /// Where cargo puts what it builds.
    pub target: PathBuf,
    /// Ours and foreign ones.
    pub packages: Vec<Package>,
}

/// One package.
pub struct Package {
    /// As in its manifest.
    pub name: String,
    /// As in its manifest.
    pub version: String,
    /// The licence expression, empty when there is none.
    pub licence: String,
    /// Where it came from; `None` for our own.
    pub source: Option<String>,
    /// Names of its direct dependencies of every kind.
    pub dependencies: Vec<String>,
    /// Names of its benchmark targets.
    pub benches: Vec<String>,
}

impl Workspace {
    /// Asks cargo.
    pub fn load() -> Result<Self, String> {
        let output = cargo()
            .args(["metadata", "--format-version=1", "--locked"])
            .output()
            .map_err(|e| format!("cargo metadata did not start: {e}"))?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let value = serde_json::from_slice(&output.stdout)
            .map_err(|e| format!("cargo metadata is not JSON: {e}"))?;
        let mut workspace = Self::parse(&value)?;
        let built = cargo()
            .args(["tree", "--workspace", "--all-features", "--target", "all", "--locked"])
            .args(["--edges", "all", "--prefix", "none", "--format", "{p}"])
            .output()
            .map_err(|e| format!("cargo tree did not start: {e}"))?;
        if !built.status.success() {
            return Err(format!("cargo tree: {}", String::from_utf8_lossy(&built.stderr)));
        }
        workspace.keep(&String::from_utf8_lossy(&built.stdout));
        Ok(workspace)
    }

    /// Leaves out what no feature builds on any target: the lock file also lists what a dependency
    /// would only take together with something that nobody asked for.
    fn keep(&mut self, tree: &str) {
        let built: BTreeSet<(&str, &str)> = tree
            .lines()
            .filter_map(|line| line.split_once(" v"))
            .map(|(name, rest)| (name, rest.split(' ').next().unwrap_or(rest)))
            .collect();
        self.packages.retain(|package| {
            package.source.is_none()
                || built.contains(&(package.name.as_str(), package.version.as_str()))
        });
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let packages = value["packages"].as_array().ok_or("cargo metadata has no packages")?;
        Ok(Self {
            root: PathBuf::from(text(&value["workspace_root"])),
            target: PathBuf::from(text(&value["target_directory"])),
            packages: packages.iter().map(Package::parse).collect(),
        })
    }

    /// The packages that live here.
    pub fn ours(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|p| p.source.is_none())
    }
}

impl Package {
    fn parse(value: &Value) -> Self {
        let list = |key: &str| value[key].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_bench = |target: &&Value| target["kind"][0] == "bench";
        Self {
            name: text(&value["name"]),
            version: text(&value["version"]),
            licence: text(&value["license"]),
            source: value["source"].as_str().map(str::to_string),
            dependencies: list("dependencies").iter().map(|d| text(&d["name"])).collect(),
            benches: list("targets").iter().filter(is_bench).map(|t| text(&t["name"])).collect(),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read() {
        let json = r#"{"workspace_root":"/w","target_directory":"/t","packages":[
            {"name":"undertone-a","version":"0.1.0","license":"MIT","source":null,
             "dependencies":[{"name":"libm"}],
             "targets":[{"name":"a","kind":["lib"]},{"name":"speed","kind":["bench"]}]},
            {"name":"libm","version":"0.2.0","license":null,"source":"registry+x",
             "dependencies":[],"targets":[]}]}"#;
        let value = serde_json::from_str(json).expect("the text above is JSON");
        let workspace = Workspace::parse(&value).expect("it has packages");
        assert_eq!(workspace.ours().count(), 1);
        assert_eq!(workspace.packages[0].dependencies, ["libm"]);
        assert_eq!(workspace.packages[0].benches, ["speed"]);
        assert_eq!(workspace.packages[1].licence, "");
        assert!(Workspace::parse(&Value::Null).is_err());
        let mut workspace = workspace;
        workspace.keep("undertone-a v0.1.0 (/w)\nlibm v0.2.0 (*)\n");
        assert_eq!(workspace.packages.len(), 2);
        workspace.keep("libm v0.3.0\n");
        assert_eq!(workspace.packages.len(), 1, "ours stay, whatever the tree says");
    }
}
