//! Charts as files.

use std::path::Path;

use undertone_report::Report;

/// Every picture of a report into `charts` of a folder: SVG always, PNG if this program was built
/// with the feature `png`. Pictures of an earlier run are taken away first.
pub fn write_charts(folder: &Path, report: &Report) -> Result<(), String> {
    let charts = folder.join("charts");
    let wrong = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    std::fs::create_dir_all(&charts).map_err(|e| wrong(&charts, &e))?;
    let old = std::fs::read_dir(&charts).map_err(|e| wrong(&charts, &e))?;
    for path in old.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|end| end == "svg" || end == "png") {
            std::fs::remove_file(&path).map_err(|e| wrong(&path, &e))?;
        }
    }
    for picture in report.pictures() {
        let svg = picture.to_svg();
        let path = charts.join(format!("{}.svg", picture.name));
        std::fs::write(&path, &svg).map_err(|e| wrong(&path, &e))?;
        #[cfg(feature = "png")]
        {
            let path = charts.join(format!("{}.png", picture.name));
            let bytes = png::of(&svg).map_err(|e| wrong(&path, &e))?;
            std::fs::write(&path, bytes).map_err(|e| wrong(&path, &e))?;
        }
    }
    Ok(())
}

/// Whether pictures can be PNG.
pub const HAS_PNG: bool = cfg!(feature = "png");

#[cfg(feature = "png")]
mod png;
