//! Points with names, and the front of the best of them.

use crate::axis::Axis;
use crate::drawing::{Key, dot_mark};
use crate::frame::{Frame, Size};
use crate::svg::{Canvas, WARNING, colour};

/// Some points over two axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scatter {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) log_x: bool,
    pub(crate) log_y: bool,
    pub(crate) points: Vec<Dot>,
    /// The numbers of the points that a line goes through, in its order.
    pub(crate) front: Vec<usize>,
}

/// One point. Without an `x` it is in a strip at the right.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dot {
    pub(crate) name: String,
    pub(crate) x: Option<f64>,
    pub(crate) y: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Further names are left out of the legend.
const MOST_KEYS: usize = 24;

impl Scatter {
    pub(crate) fn draw(&self, size: Size) -> Canvas {
        let mut canvas = Canvas::new(size.width, size.height);
        let x = Axis::around(self.points.iter().filter_map(|dot| dot.x), self.log_x);
        let heights = self.points.iter().flat_map(|dot| [dot.low, dot.y, dot.high]);
        let y = Axis::around(heights, self.log_y);
        let Some((x, y)) = x.zip(y) else { return canvas };
        let strip = if self.points.iter().any(|dot| dot.x.is_none()) { 92.0 } else { 0.0 };
        let frame = Frame::new(x.widened(0.06), y.widened(0.08), size, strip);
        frame.draw(&mut canvas, &self.x, &self.y);
        let (top, base, right) = frame.edges();
        let beside = right + strip / 2.0 + 4.0;
        if strip > 0.0 {
            let style = format!("fill=\"{WARNING}\" fill-opacity=\"0.08\"");
            canvas.rect(right + 10.0, top, (strip - 12.0, base - top), &style);
            canvas.text(beside, base + 17.0, "ut-soft", "middle", "no guarantee");
        }
        let line = self.front.iter().map(|k| &self.points[*k]);
        let line: Vec<_> = line.filter_map(|dot| frame.at((dot.x?, dot.y))).collect();
        canvas.polyline(&line, "class=\"ut-frame\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"");
        let inside = self.points.iter().find_map(|dot| dot.x);
        for (index, dot) in self.points.iter().enumerate() {
            let place = |y: f64| match dot.x {
                Some(x) => frame.at((x, y)),
                None => inside.and_then(|x| frame.at((x, y))).map(|(_, y)| (beside, y)),
            };
            let Some(at) = place(dot.y) else { continue };
            if let (Some(low), Some(high)) = (place(dot.low), place(dot.high))
                && dot.low < dot.high
            {
                canvas.line(low, high, &format!("stroke=\"{}\" stroke-width=\"1.5\"", look(index)));
            }
            let style = format!("fill=\"{}\"", look(index));
            canvas.dot(at, 5.0, &style, &format!("{}: {}", dot.name, crate::number(dot.y)));
            if self.points.len() > 1 {
                canvas.text(at.0 + 8.0, at.1 - 6.0, "ut-text", "start", &format!("{}", index + 1));
            }
        }
        canvas
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        if self.points.len() < 2 {
            return Vec::new();
        }
        let key = |(index, dot): (usize, &Dot)| Key {
            mark: dot_mark(&format!("fill=\"{}\"", look(index))),
            words: format!("{} {}", index + 1, dot.name),
        };
        self.points.iter().enumerate().take(MOST_KEYS).map(key).collect()
    }
}

fn look(index: usize) -> &'static str {
    colour(index)
}

/// The points that no other beats: none has less of `x` and is as good, or as little and is better.
/// In the order of `x`.
pub(crate) fn front(points: &[(f64, f64)], higher_is_better: bool) -> Vec<usize> {
    let better = |a: f64, b: f64| if higher_is_better { a > b } else { a < b };
    let mut order: Vec<usize> =
        (0..points.len()).filter(|k| points[*k].0.is_finite() && !points[*k].1.is_nan()).collect();
    order.sort_by(|a, b| points[*a].0.total_cmp(&points[*b].0));
    let mut best: Vec<usize> = Vec::new();
    for k in order {
        match best.last().copied() {
            Some(last) if points[last].0 == points[k].0 => {
                if better(points[k].1, points[last].1) {
                    best.pop();
                    best.push(k);
                }
            }
            Some(last) if !better(points[k].1, points[last].1) => {}
            _ => best.push(k),
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_what_nobody_beats() {
        let points = [(1.0, 0.6), (2.0, 0.5), (2.0, 0.8), (4.0, 0.8), (8.0, 0.9), (f64::NAN, 1.0)];
        assert_eq!(front(&points, true), [0, 2, 4]);
        // By brute force: of losses, less is better.
        let beaten = |k: usize| {
            let (x, y) = points[k];
            points.iter().any(|&(a, b)| a <= x && b <= y && (a < x || b < y))
        };
        let expected: Vec<usize> = (0..5).filter(|k| !beaten(*k)).collect();
        assert_eq!(front(&points, false), expected);
    }
}
