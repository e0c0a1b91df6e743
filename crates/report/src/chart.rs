//! Line charts as self-contained SVG, readable on light and dark pages.

use std::fmt::Write;

use crate::axis::Axis;

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
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is called in the legend.
    pub name: String,
    /// Its points, in the order of the line. What cannot be shown (not finite, or not positive on
    /// a logarithmic axis) is left out.
    pub points: Vec<(f64, f64)>,
}

/// Colours that stay apart for those who see fewer of them (Okabe and Ito), on both backgrounds.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7ad0", "#888888"];

/// Dashes tell further series apart that share a colour.
const DASHES: [&str; 3] = ["", "6 3", "2 3"];

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;
const LEGEND: f64 = 210.0;
/// The width of a letter, rather more than less.
const LETTER: f64 = 7.6;

/// More points than this are thinned out: no screen shows them.
const MOST_POINTS: usize = 1500;

/// Points that are so few are marked.
const MARKED: usize = 16;

const STYLE: &str = "\
.text{fill:#1f2328}.soft{fill:#57606a}.grid{stroke:#d0d7de}.frame{stroke:#57606a}\
@media(prefers-color-scheme:dark){.text{fill:#e6edf3}.soft{fill:#9198a1}\
.grid{stroke:#3d444d}.frame{stroke:#9198a1}}";

impl Chart {
    /// The picture. It needs no font, script or file beside it, and has no background of its own.
    pub fn to_svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Axis::around(points().map(|p| p.0), self.log_x);
        let y = Axis::around(points().map(|p| p.1), self.log_y);
        let mut svg = self.head();
        match x.zip(y) {
            Some((x, y)) => self.body(&mut svg, &Frame { x, y, right: self.right() }),
            None => text(&mut svg, WIDTH / 2.0, HEIGHT / 2.0, "soft", "middle", "nothing to show"),
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn head(&self) -> String {
        let width = self.width();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" \
             width=\"{width}\" height=\"{HEIGHT}\" font-family=\"system-ui,sans-serif\" \
             font-size=\"13\" role=\"img\" aria-label=\"{}\">\n<style>{STYLE}</style>\n",
            escape(&self.title)
        );
        let title = escape(&self.title);
        push(
            &mut svg,
            format_args!(
                "<text class=\"text\" x=\"{LEFT}\" y=\"24\" font-size=\"16\" \
                 font-weight=\"600\">{title}</text>\n"
            ),
        );
        svg
    }

    /// As wide as the longest name in the legend needs.
    fn width(&self) -> f64 {
        let longest = self.series.iter().map(|series| series.name.chars().count()).max();
        let legend = 60.0 + LETTER * longest.unwrap_or(0) as f64;
        if self.series.len() > 1 { WIDTH.max(self.right() + legend) } else { WIDTH }
    }

    fn right(&self) -> f64 {
        if self.series.len() > 1 { WIDTH - LEGEND } else { WIDTH - 24.0 }
    }

    fn body(&self, svg: &mut String, frame: &Frame) {
        frame.draw(svg, &self.x, &self.y);
        for (index, series) in self.series.iter().enumerate() {
            let style = format!(
                "stroke=\"{}\" stroke-dasharray=\"{}\"",
                COLOURS[index % COLOURS.len()],
                DASHES[index / COLOURS.len() % DASHES.len()],
            );
            line(svg, series, frame, &style, COLOURS[index % COLOURS.len()]);
            if self.series.len() > 1 {
                let (at, row) = (frame.right + 16.0, TOP + 10.0 + 20.0 * index as f64);
                push(
                    svg,
                    format_args!(
                        "<line x1=\"{at}\" x2=\"{}\" y1=\"{row}\" y2=\"{row}\" {style} \
                         stroke-width=\"2.5\"/>\n",
                        at + 24.0
                    ),
                );
                text(svg, at + 32.0, row + 4.0, "text", "start", &series.name);
            }
        }
    }
}

/// The rectangle in which lines are drawn.
struct Frame {
    x: Axis,
    y: Axis,
    right: f64,
}

impl Frame {
    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let (x, y) = self.x.place(x).zip(self.y.place(y))?;
        Some((LEFT + x * (self.right - LEFT), HEIGHT - BOTTOM - y * (HEIGHT - BOTTOM - TOP)))
    }

    fn draw(&self, svg: &mut String, x_name: &str, y_name: &str) {
        let (right, base) = (self.right, HEIGHT - BOTTOM);
        for (value, word) in self.x.ticks() {
            let Some(place) = self.x.place(value) else { continue };
            let at = LEFT + place * (right - LEFT);
            push(
                svg,
                format_args!(
                    "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" \
                     y2=\"{base}\"/>\n"
                ),
            );
            text(svg, at, base + 18.0, "soft", "middle", &word);
        }
        for (value, word) in self.y.ticks() {
            let Some(place) = self.y.place(value) else { continue };
            let at = base - place * (base - TOP);
            push(
                svg,
                format_args!(
                    "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" \
                     y2=\"{at:.1}\"/>\n"
                ),
            );
            text(svg, LEFT - 8.0, at + 4.0, "soft", "end", &word);
        }
        push(
            svg,
            format_args!(
                "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" \
                 fill=\"none\"/>\n",
                right - LEFT,
                base - TOP
            ),
        );
        text(svg, (LEFT + right) / 2.0, HEIGHT - 12.0, "text", "middle", x_name);
        let middle = (TOP + base) / 2.0;
        push(
            svg,
            format_args!(
                "<text class=\"text\" text-anchor=\"middle\" transform=\"translate(18 {middle}) \
                 rotate(-90)\">{}</text>\n",
                escape(y_name)
            ),
        );
    }
}

fn line(svg: &mut String, series: &Series, frame: &Frame, style: &str, colour: &str) {
    let stride = series.points.len().div_ceil(MOST_POINTS).max(1);
    let last = series.points.len().saturating_sub(1);
    let kept = series.points.iter().enumerate().filter(|(k, _)| k % stride == 0 || *k == last);
    let places: Vec<_> = kept.filter_map(|(_, point)| frame.at(*point)).collect();
    let path: String = places.iter().map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
    push(
        svg,
        format_args!(
            "<polyline points=\"{}\" fill=\"none\" {style} stroke-width=\"2\" \
             stroke-linejoin=\"round\"/>\n",
            path.trim_end()
        ),
    );
    if series.points.len() <= MARKED {
        for (x, y) in places {
            push(
                svg,
                format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>\n"),
            );
        }
    }
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
    push(
        svg,
        format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" \
             text-anchor=\"{anchor}\">{}</text>\n",
            escape(words)
        ),
    );
}

fn push(svg: &mut String, arguments: std::fmt::Arguments<'_>) {
    svg.write_fmt(arguments).expect("a string takes every character");
}

fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(series: Vec<Series>) -> Chart {
        let (title, x, y) = ("a < b & \"c\"".into(), "round".into(), "residual".into());
        Chart { title, x, y, log_x: false, log_y: true, series }
    }

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.into(), points: points.to_vec() }
    }

    #[test]
    fn corners_of_the_data_are_corners_of_the_frame() {
        let svg = chart(vec![series("one", &[(0.0, 1.0), (5.0, 0.0), (10.0, 1e-4)])]).to_svg();
        // The point at zero has no logarithm and is left out.
        let expected = format!("{LEFT:.1},{TOP:.1} {:.1},{:.1}\"", WIDTH - 24.0, HEIGHT - BOTTOM);
        assert!(svg.contains(&expected), "{svg}");
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
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
    fn a_long_name_makes_room_for_itself() {
        let width = |name: &str| {
            let both = vec![series(name, &[(0.0, 1.0)]), series("b", &[(1.0, 2.0)])];
            let svg = chart(both).to_svg();
            let start = svg.find("width=\"").expect("it has a width") + 7;
            svg[start..].split('"').next().and_then(|w| w.parse::<f64>().ok()).expect("a number")
        };
        assert_eq!(width("a"), WIDTH);
        assert_eq!(width(&"a".repeat(60)), WIDTH - LEGEND + 60.0 + 60.0 * LETTER);
    }

    #[test]
    fn long_series_are_thinned_and_empty_charts_say_so() {
        let long: Vec<_> = (0..100_000).map(|k| (k as f64, 1.0 + k as f64)).collect();
        let svg = chart(vec![series("long", &long)]).to_svg();
        assert!(svg.len() < 40_000, "{}", svg.len());
        assert!(chart(vec![series("none", &[(1.0, -1.0)])]).to_svg().contains("nothing to show"));
    }
}
