//! Pictures as PNG, on white, twice as large as they are drawn.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};

const SCALE: f32 = 2.0;

/// Fonts without serifs that systems have, the plainest first.
const FAMILIES: [&str; 7] = [
    "Helvetica Neue",
    "Arial",
    "Segoe UI",
    "Noto Sans",
    "Liberation Sans",
    "DejaVu Sans",
    "Cantarell",
];

/// The bytes of a file.
pub fn of(svg: &str) -> Result<Vec<u8>, String> {
    let fontdb = fonts().ok_or(
        "no font without serifs was found, so the picture would have no words; install one, such \
         as DejaVu Sans, or build without --features png",
    )?;
    let options = Options { fontdb, ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let side = |length: f32| (length * SCALE).ceil() as u32;
    let size = tree.size();
    let pixmap = Pixmap::new(side(size.width()), side(size.height()));
    let mut pixmap = pixmap.ok_or("the picture has no size")?;
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| error.to_string())
}

/// Those of the system, read once.
fn fonts() -> Option<Arc<Database>> {
    static FONTS: OnceLock<Option<Arc<Database>>> = OnceLock::new();
    let read = || {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        let has = |name: &&&str| {
            let families = &[Family::Name(name)];
            fonts.query(&Query { families, ..Query::default() }).is_some()
        };
        let family = FAMILIES.iter().find(has)?;
        fonts.set_sans_serif_family(*family);
        Some(Arc::new(fonts))
    };
    FONTS.get_or_init(read).clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_report::{Chart, Series};

    #[test]
    fn words_are_drawn() {
        let chart = |title: &str| Chart {
            title: title.into(),
            x: "x".into(),
            y: "y".into(),
            log_x: false,
            log_y: false,
            series: vec![Series { points: vec![(0.0, 0.0), (1.0, 1.0)], ..Series::default() }],
        };
        if fonts().is_none() {
            return eprintln!("skipped: there is no font without serifs here");
        }
        let dark = |title: &str| {
            let bytes = of(&chart(title).to_svg()).expect("it is drawn");
            let pixmap = Pixmap::decode_png(&bytes).expect("it is PNG");
            pixmap.pixels().iter().filter(|pixel| pixel.red() < 128).count()
        };
        assert!(dark("a title of many letters") > dark("a") + 200);
    }
}
