//! `undertone report`.

use std::path::{Path, PathBuf};

use clap::Args;
use undertone_report::Report as Results;

use crate::pictures::{write_charts, write_pngs};

/// Make the page and the charts of a run again, from its report.json.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone report undertone-out/averaging
  undertone report undertone-out/averaging --png")]
pub struct Report {
    /// The folder of a run
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Insist on PNG beside SVG
    #[arg(long)]
    png: bool,
}

impl Report {
    pub fn run(self) -> Result<String, String> {
        let report = read(&self.folder)?;
        let folder = match self.folder.is_dir() {
            true => self.folder.as_path(),
            false => self.folder.parent().unwrap_or(Path::new(".")),
        };
        let page = folder.join("report.html");
        std::fs::write(&page, report.to_html()).map_err(|e| format!("{}: {e}", page.display()))?;
        write_charts(folder, &report)?;
        if self.png {
            write_pngs(folder, &report).map_err(|error| format!("--png: {error}"))?;
        }
        Ok(format!("{}\n{} and charts beside it", report.sentence(), page.display()))
    }
}

/// The report of a run, by its folder or by the file itself.
pub fn read(path: &Path) -> Result<Results, String> {
    let file = if path.is_dir() { path.join("report.json") } else { path.to_path_buf() };
    let text = std::fs::read_to_string(&file).map_err(|error| {
        format!("{}: {error}; name the folder of a run, which has a report.json", file.display())
    })?;
    Results::from_json(&text).map_err(|error| format!("{}: {error}", file.display()))
}
