//! Line charts with bands of spread.

use crate::axis::Axis;
use crate::drawing::{Key, alone, line_mark};
use crate::frame::{Frame, Size, WIDE};
use crate::svg::{Canvas, colour, dash};

/// Some series over the same two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Above the chart.
    pub title: String,
    /// Below the horizontal axis.
    pub x: String,
    /// Beside the vertical one.
    pub y: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical one is.
    pub log_y: bool,
    /// The lines.
    pub series: Vec<Series>,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What it is called in the legend.
    pub name: String,
    /// Its points, in the order of the line. What cannot be shown (not finite, or not positive on
    /// a logarithmic axis) is left out.
    pub points: Vec<(f64, f64)>,
    /// How far values spread at each of the points, from below to above; empty if they do not.
    pub band: Vec<(f64, f64)>,
}

/// More points than this are thinned out: no screen shows them.
const MOST_POINTS: usize = 500;

/// Points that are so few are marked.
const MARKED: usize = 26;

impl Chart {
    /// The picture. It needs no font, script or file beside it, and has no background of its own.
    pub fn to_svg(&self) -> String {
        alone(&self.title, &self.draw(WIDE), &self.keys())
    }

    pub(crate) fn draw(&self, size: Size) -> Canvas {
        let mut canvas = Canvas::new(size.width, size.height);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let bands = self.series.iter().flat_map(|series| &series.band);
        let heights = points().map(|p| p.1).chain(bands.flat_map(|(low, high)| [*low, *high]));
        let x = Axis::around(points().map(|p| p.0), self.log_x);
        let y = Axis::around(heights, self.log_y).map(|y| y.widened(0.04));
        let Some((x, y)) = x.zip(y) else {
            let (x, y) = (size.width / 2.0, size.height / 2.0);
            canvas.text(x, y, "ut-soft", "middle", "nothing to show");
            return canvas;
        };
        let frame = Frame::new(x, y, size, 0.0);
        frame.draw(&mut canvas, &self.x, &self.y);
        for (index, series) in self.series.iter().enumerate() {
            band(&mut canvas, series, &frame, index);
        }
        for (index, series) in self.series.iter().enumerate() {
            line(&mut canvas, series, &frame, index);
        }
        canvas
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        if self.series.len() < 2 {
            return Vec::new();
        }
        let key = |(index, series): (usize, &Series)| Key {
            mark: line_mark(&format!("{} stroke-width=\"2.5\"", look(index))),
            words: series.name.clone(),
        };
        self.series.iter().enumerate().map(key).collect()
    }
}

fn look(index: usize) -> String {
    match dash(index) {
        "" => format!("stroke=\"{}\"", colour(index)),
        dash => format!("stroke=\"{}\" stroke-dasharray=\"{dash}\"", colour(index)),
    }
}

/// The numbers of the points that are drawn.
fn kept(series: &Series) -> impl Iterator<Item = usize> {
    let count = series.points.len();
    let stride = count.div_ceil(MOST_POINTS).max(1);
    (0..count).filter(move |k| k.is_multiple_of(stride) || k + 1 == count)
}

fn band(canvas: &mut Canvas, series: &Series, frame: &Frame, index: usize) {
    if series.band.len() != series.points.len() {
        return;
    }
    let side = |pick: fn(&(f64, f64)) -> f64| {
        let at = |k: usize| frame.at((series.points[k].0, pick(&series.band[k])));
        kept(series).filter_map(at).collect::<Vec<_>>()
    };
    let (below, mut above) = (side(|band| band.0), side(|band| band.1));
    above.extend(below.into_iter().rev());
    let style = format!("fill=\"{}\" fill-opacity=\"0.16\"", colour(index));
    canvas.polygon(&above, &style);
}

fn line(canvas: &mut Canvas, series: &Series, frame: &Frame, index: usize) {
    let places: Vec<_> =
        kept(series).filter_map(|k| Some((k, frame.at(series.points[k])?))).collect();
    let path: Vec<_> = places.iter().map(|(_, place)| *place).collect();
    let style = format!("{} stroke-width=\"2\" stroke-linejoin=\"round\"", look(index));
    canvas.polyline(&path, &style);
    if series.points.len() <= MARKED {
        for (k, place) in places {
            let (x, y) = series.points[k];
            let says = format!("{}: {}, {}", series.name, crate::number(x), crate::number(y));
            let says = says.trim_start_matches(": ");
            canvas.dot(place, 3.2, &format!("fill=\"{}\"", colour(index)), says);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(series: Vec<Series>) -> Chart {
        let (title, x, y) = ("a < b & \"c\"".into(), "round".into(), "residual".into());
        Chart { title, x, y, log_x: false, log_y: true, series }
    }

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.into(), points: points.to_vec(), band: Vec::new() }
    }

    /// The places of the first line.
    fn places(svg: &str, element: &str) -> Vec<(f64, f64)> {
        let start = svg.find(&format!("<{element} points=\"")).expect("it has one");
        let points = svg[start..].split('"').nth(1).expect("points are quoted");
        let place = |word: &str| {
            let (x, y) = word.split_once(',').expect("two numbers");
            (x.parse().expect("a number"), y.parse().expect("a number"))
        };
        points.split(' ').map(place).collect()
    }

    #[test]
    fn points_are_in_proportion_and_what_cannot_be_shown_is_left_out() {
        let points = [(0.0, 1.0), (5.0, 0.0), (5.0, 1e-2), (10.0, 1e-4)];
        let svg = chart(vec![series("one", &points)]).to_svg();
        let places = places(&svg, "polyline");
        assert_eq!(places.len(), 3);
        let middle = ((places[0].0 + places[2].0) / 2.0, (places[0].1 + places[2].1) / 2.0);
        assert!((places[1].0 - middle.0).abs() < 0.2 && (places[1].1 - middle.1).abs() < 0.2);
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn a_band_goes_along_above_and_comes_back_below() {
        let mut one = series("one", &[(0.0, 1.0), (1.0, 1.0)]);
        one.band = vec![(0.5, 2.0), (0.25, 4.0)];
        let places = places(&chart(vec![one]).to_svg(), "polygon");
        assert_eq!(places.len(), 4);
        let heights: Vec<f64> = places.iter().map(|place| place.1).collect();
        // The vertical axis of a picture points down: 4 is above 2, 0.5 above 0.25.
        assert!(heights[1] < heights[0] && heights[0] < heights[3] && heights[3] < heights[2]);
    }

    #[test]
    fn several_series_have_a_legend_and_looks_of_their_own() {
        let many: Vec<_> = (0..12)
            .map(|k| series(&format!("s{k}"), &[(0.0, 1.0), (1.0, 2.0 + k as f64)]))
            .collect();
        let svg = chart(many).to_svg();
        let mut looks: Vec<_> = svg
            .lines()
            .filter(|l| l.starts_with("<polyline"))
            .map(|l| l.split("fill").last())
            .collect();
        assert!((0..12).all(|k| svg.contains(&format!(">s{k}<"))));
        looks.sort();
        looks.dedup();
        assert_eq!(looks.len(), 12);
    }

    #[test]
    fn long_series_are_thinned_and_empty_charts_say_so() {
        let long: Vec<_> = (0..100_000).map(|k| (k as f64, 1.0 + k as f64)).collect();
        let svg = chart(vec![series("long", &long)]).to_svg();
        assert!(svg.len() < 20_000, "{}", svg.len());
        assert!(chart(vec![series("none", &[(1.0, -1.0)])]).to_svg().contains("nothing to show"));
    }
}
