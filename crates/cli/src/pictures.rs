//! Charts as files.

#[cfg(feature = "png")]
mod png;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use undertone_report::Report;

/// Every picture of a report into `charts` of a folder, as SVG. Those of an earlier run are taken
/// away first. Where this program can, there is PNG, too; if that fails, a line on standard error
/// says so, for the run itself did not.
pub fn write_charts(folder: &Path, report: &Report) -> Result<(), String> {
    let charts = folder_of(folder);
    std::fs::create_dir_all(&charts).map_err(|e| wrong(&charts, &e))?;
    let old = std::fs::read_dir(&charts).map_err(|e| wrong(&charts, &e))?;
    for path in old.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|end| end == "svg" || end == "png") {
            std::fs::remove_file(&path).map_err(|e| wrong(&path, &e))?;
        }
    }
    for picture in report.pictures() {
        let path = charts.join(format!("{}.svg", picture.name));
        std::fs::write(&path, picture.to_svg()).map_err(|e| wrong(&path, &e))?;
    }
    if cfg!(feature = "png")
        && let Err(error) = write_pngs(folder, report)
    {
        eprintln!("warning: charts are SVG only: {error}");
    }
    Ok(())
}

/// The same as PNG, in a folder that has charts.
#[cfg(feature = "png")]
pub fn write_pngs(folder: &Path, report: &Report) -> Result<(), String> {
    for picture in report.pictures() {
        let path = folder_of(folder).join(format!("{}.png", picture.name));
        let bytes = png::of(&picture.to_svg())?;
        std::fs::write(&path, bytes).map_err(|e| wrong(&path, &e))?;
    }
    Ok(())
}

/// Says what is missing.
#[cfg(not(feature = "png"))]
pub fn write_pngs(_: &Path, _: &Report) -> Result<(), String> {
    let message = "this program was built without PNG; build it with --features png, or take the \
                   SVG files";
    Err(message.into())
}

fn folder_of(folder: &Path) -> PathBuf {
    folder.join("charts")
}

fn wrong(path: &Path, error: &dyn Display) -> String {
    format!("{}: {error}", path.display())
}
