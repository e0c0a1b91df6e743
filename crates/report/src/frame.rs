//! The rectangle in which lines and points are drawn.

use crate::axis::Axis;
use crate::svg::{Canvas, fitted, width_of};

/// How large a drawing is; a page has one for wide and one for narrow screens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

pub(crate) const WIDE: Size = Size { width: 720.0, height: 360.0 };
pub(crate) const NARROW: Size = Size { width: 360.0, height: 300.0 };

const TOP: f64 = 10.0;
const BOTTOM: f64 = 48.0;
const RIGHT: f64 = 16.0;

/// Two axes and where they are.
pub(crate) struct Frame {
    x: Axis,
    y: Axis,
    left: f64,
    right: f64,
    base: f64,
    width: f64,
}

impl Frame {
    /// With `room` left free at the right.
    pub(crate) fn new(x: Axis, y: Axis, size: Size, room: f64) -> Self {
        let words = y.ticks(7).into_iter().map(|(_, word)| width_of(&word));
        let left = 34.0 + words.fold(0.0, f64::max);
        let right = size.width - RIGHT - room;
        Self { x, y, left, right, base: size.height - BOTTOM, width: size.width }
    }

    /// Where a point is, if it can be shown.
    pub(crate) fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let (x, y) = self.x.place(x).zip(self.y.place(y))?;
        let across = self.left + x * (self.right - self.left);
        Some((across, self.base - y * (self.base - TOP)))
    }

    /// The upper and the lower end of the vertical axis, and the right one of the other.
    pub(crate) fn edges(&self) -> (f64, f64, f64) {
        (TOP, self.base, self.right)
    }

    /// Grid, marks and names.
    pub(crate) fn draw(&self, canvas: &mut Canvas, x_name: &str, y_name: &str) {
        let Self { left, right, base, .. } = *self;
        for (value, word) in self.x.ticks(((right - left) / 62.0) as usize) {
            let Some(place) = self.x.place(value) else { continue };
            let at = left + place * (right - left);
            canvas.line((at, TOP), (at, base), "class=\"ut-grid\"");
            canvas.text(at, base + 17.0, "ut-soft", "middle", &word);
        }
        for (value, word) in self.y.ticks(7) {
            let Some(place) = self.y.place(value) else { continue };
            let at = base - place * (base - TOP);
            canvas.line((left, at), (right, at), "class=\"ut-grid\"");
            canvas.text(left - 7.0, at + 4.0, "ut-soft", "end", &word);
        }
        canvas.line((left, base), (right, base), "class=\"ut-frame\"");
        let middle = (left + right) / 2.0;
        canvas.text(middle, base + 38.0, "ut-text", "middle", &fitted(x_name, self.width));
        canvas.upward(14.0, (TOP + base) / 2.0, &fitted(y_name, base));
    }
}
