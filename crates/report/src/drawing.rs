//! Pictures of every kind, on pages and in files.

use crate::bars::Bars;
use crate::chart::Chart;
use crate::frame::{NARROW, Size, WIDE};
use crate::network::Net;
use crate::scatter::Scatter;
use crate::svg::{Canvas, escape, fitted, width_of};

/// A picture with its name, what it shows, and how to read it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Fit for a file.
    pub name: String,
    /// Above the picture.
    pub title: String,
    /// Below it.
    pub caption: String,
    pub(crate) drawing: Drawing,
}

#[derive(Clone, Debug)]
pub(crate) enum Drawing {
    Bars(Bars),
    Lines(Chart),
    Net(Net),
    Scatter(Scatter),
}

/// One row of a legend.
pub(crate) struct Key {
    pub(crate) mark: Canvas,
    pub(crate) words: String,
}

impl Picture {
    /// As a file with a title and a legend, readable on light and dark ground.
    pub fn to_svg(&self) -> String {
        alone(&self.title, &self.drawing.draw(WIDE), &self.drawing.keys())
    }

    /// As a figure of a page: drawn for wide and for narrow screens, of which one is shown.
    pub(crate) fn to_figure(&self) -> String {
        let wide = self.drawing.draw(WIDE).inline("chart wide", &self.title);
        let narrow = self.drawing.draw(NARROW).inline("chart narrow", &self.title);
        let keys: String = self
            .drawing
            .keys()
            .iter()
            .map(|key| {
                let mark = key.mark.inline("key", "").replace("<title></title>", "");
                let mark = mark.replace("role=\"img\" aria-label=\"\"", "aria-hidden=\"true\"");
                format!("<li>{}{}</li>\n", mark.trim_end(), escape(&key.words))
            })
            .collect();
        let legend = match keys.is_empty() {
            true => String::new(),
            false => format!("<ul class=\"legend\">\n{keys}</ul>\n"),
        };
        format!(
            "<figure>\n<h3>{}</h3>\n{wide}{narrow}{legend}<figcaption>{}</figcaption>\n</figure>\n",
            escape(&self.title),
            escape(&self.caption)
        )
    }
}

impl Drawing {
    pub(crate) fn draw(&self, size: Size) -> Canvas {
        match self {
            Self::Bars(bars) => bars.draw(size),
            Self::Lines(chart) => chart.draw(size),
            Self::Net(net) => net.draw(size),
            Self::Scatter(scatter) => scatter.draw(size),
        }
    }

    fn keys(&self) -> Vec<Key> {
        match self {
            Self::Bars(bars) => bars.keys(),
            Self::Lines(chart) => chart.keys(),
            Self::Net(net) => net.keys(),
            Self::Scatter(scatter) => scatter.keys(),
        }
    }
}

/// A drawing under its title, with its legend below, as many in a row as fit.
pub(crate) fn alone(title: &str, drawing: &Canvas, keys: &[Key]) -> String {
    const TITLE: f64 = 36.0;
    const ROW: f64 = 20.0;
    let width = drawing.width;
    let (mut x, mut y) = (16.0, TITLE + drawing.height + 14.0);
    let mut places = Vec::with_capacity(keys.len());
    for key in keys {
        let words = fitted(&key.words, width - 80.0);
        let needed = 36.0 + width_of(&words) + 12.0;
        if x > 16.0 && x + needed > width {
            (x, y) = (16.0, y + ROW);
        }
        places.push((x, y, words));
        x += needed;
    }
    let height = if keys.is_empty() { TITLE + drawing.height } else { y + ROW };
    let mut canvas = Canvas::new(width, height);
    canvas.heading(16.0, 24.0, &fitted(title, 0.75 * width));
    canvas.place(drawing, 0.0, TITLE);
    for (key, (x, y, words)) in keys.iter().zip(places) {
        canvas.place(&key.mark, x, y - 10.0);
        canvas.text(x + 30.0, y, "ut-text", "start", &words);
    }
    canvas.alone(title)
}

/// A piece of a line, for a legend.
pub(crate) fn line_mark(style: &str) -> Canvas {
    let mut mark = Canvas::new(24.0, 12.0);
    mark.line((0.0, 6.0), (24.0, 6.0), style);
    mark
}

/// A dot, for a legend.
pub(crate) fn dot_mark(style: &str) -> Canvas {
    let mut mark = Canvas::new(24.0, 12.0);
    mark.rect(6.0, 0.0, (12.0, 12.0), &format!("rx=\"6\" {style}"));
    mark
}

/// A square, for a legend.
pub(crate) fn square_mark(style: &str) -> Canvas {
    let mut mark = Canvas::new(24.0, 12.0);
    mark.rect(4.0, 0.0, (14.0, 12.0), style);
    mark
}
