//! Bars that lie, one group below the other, so that long names have room.

use crate::axis::Axis;
use crate::drawing::{Key, square_mark};
use crate::frame::Size;
use crate::svg::{Canvas, WARNING, colour, fitted, width_of};

/// Some groups of bars over one axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bars {
    /// Below the axis.
    pub(crate) x: String,
    /// Whether lengths are logarithms.
    pub(crate) log: bool,
    /// What the bars of every group are, in order; none if groups have one bar.
    pub(crate) names: Vec<String>,
    pub(crate) groups: Vec<Group>,
}

/// Bars under one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Values and how they are written; an infinite one runs to the rim.
    pub(crate) bars: Vec<(f64, String)>,
}

/// More groups than this would be a wall.
pub(crate) const MOST_GROUPS: usize = 24;

const NAME: f64 = 20.0;
const BAR: f64 = 16.0;
const GAP: f64 = 12.0;
const LEFT: f64 = 18.0;
const BOTTOM: f64 = 46.0;

impl Bars {
    pub(crate) fn draw(&self, size: Size) -> Canvas {
        let shown = &self.groups[..self.groups.len().min(MOST_GROUPS)];
        let rows = |group: &Group| NAME + BAR * group.bars.len() as f64 + GAP;
        let base: f64 = shown.iter().map(rows).sum::<f64>();
        let mut canvas = Canvas::new(size.width, base + BOTTOM);
        let values = shown.iter().flat_map(|group| &group.bars).map(|bar| bar.0);
        // Bars start at nothing, or at the decade below the least.
        let floor = match self.log {
            false => 0.0,
            true => {
                let least = values.clone().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
                if least.is_finite() { 10f64.powf((least.log10() - 0.3).floor()) } else { 0.1 }
            }
        };
        let Some(axis) = Axis::around(values.chain([floor]), self.log) else { return canvas };
        let words = shown.iter().flat_map(|g| &g.bars).map(|bar| width_of(&bar.1));
        let room = words.fold(0.0, f64::max) + 14.0;
        let right = (size.width - room).max(size.width / 2.0);
        for (value, word) in axis.ticks(((right - LEFT) / 70.0) as usize) {
            let Some(place) = axis.place(value).filter(|p| *p > -1e-9) else { continue };
            let at = LEFT + place * (right - LEFT);
            canvas.line((at, 0.0), (at, base), "class=\"ut-grid\"");
            canvas.text(at, base + 16.0, "ut-soft", "middle", &word);
        }
        canvas.text((LEFT + right) / 2.0, base + 38.0, "ut-text", "middle", &self.x);
        let mut y = 0.0;
        for group in shown {
            let name = fitted(&group.name, size.width - LEFT);
            canvas.text(LEFT, y + 14.0, "ut-text", "start", &name);
            y += NAME;
            for (index, (value, word)) in group.bars.iter().enumerate() {
                let (share, style) = match value.is_infinite() {
                    true => {
                        let style = format!("stroke=\"{WARNING}\" stroke-dasharray=\"4 3\"");
                        (1.0, format!("fill=\"{WARNING}\" fill-opacity=\"0.15\" {style}"))
                    }
                    false => {
                        let share = axis.place(*value).unwrap_or(0.0).max(0.0);
                        (share, format!("fill=\"{}\"", colour(index)))
                    }
                };
                let length = (share * (right - LEFT)).max(1.0);
                canvas.rect(LEFT, y, (length, BAR - 3.0), &format!("rx=\"2\" {style}"));
                canvas.text(LEFT + length + 6.0, y + 11.0, "ut-text", "start", word);
                y += BAR;
            }
            y += GAP;
        }
        canvas
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        let key = |(index, name): (usize, &String)| Key {
            mark: square_mark(&format!("rx=\"2\" fill=\"{}\"", colour(index))),
            words: name.clone(),
        };
        self.names.iter().enumerate().map(key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::WIDE;

    fn lengths(bars: &Bars) -> Vec<f64> {
        let svg = bars.draw(WIDE).alone("t");
        let rects = svg.split("<rect ").skip(1);
        let length = |rect: &str| {
            let start = rect.find("width=\"").expect("it has a width") + 7;
            rect[start..].split('"').next().and_then(|w| w.parse().ok()).expect("a number")
        };
        rects.map(length).collect()
    }

    #[test]
    fn lengths_are_in_proportion() {
        let group = |name: &str, value: f64| Group {
            name: name.into(),
            bars: vec![(value, format!("{value}"))],
        };
        let groups = vec![group("a", 10.0), group("b", 5.0)];
        let mut bars = Bars { x: "bytes".into(), log: false, names: Vec::new(), groups };
        let linear = lengths(&bars);
        assert!((linear[0] / linear[1] - 2.0).abs() < 1e-2, "{linear:?}");
        bars.log = true;
        bars.groups.push(group("c", f64::INFINITY));
        let log = lengths(&bars);
        // From 1: five is 0.7 of a decade, and what has no bound runs to the rim.
        assert!((log[1] / log[0] - 5f64.log10()).abs() < 1e-2, "{log:?}");
        assert_eq!(log[2], log[0]);
    }
}
