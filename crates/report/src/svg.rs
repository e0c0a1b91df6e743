//! What pictures are made of.

use std::fmt::{Arguments, Write};

/// Colours that stay apart for those who see fewer of them (Okabe and Ito), on both backgrounds.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7ad0", "#888888"];

/// Dashes tell further series apart that share a colour.
const DASHES: [&str; 3] = ["", "6 3", "2 3"];

/// Of what has no guarantee.
pub(crate) const WARNING: &str = "#d55e00";

/// The width of a letter, rather more than less.
const LETTER: f64 = 7.4;

/// Of pictures that stand alone; a page has its own.
const STYLE: &str = "\
.ut-text{fill:#1f2328}.ut-soft{fill:#57606a}.ut-grid{stroke:#d8dee4}.ut-frame{stroke:#8c959f}\
.ut-edge{stroke:#8c959f}.ut-head{fill:#8c959f}.ut-paper{stroke:#ffffff}\
@media(prefers-color-scheme:dark){.ut-text{fill:#e6edf3}.ut-soft{fill:#9198a1}\
.ut-grid{stroke:#30363d}.ut-frame{stroke:#6e7681}.ut-paper{stroke:#0d1117}}";

pub(crate) fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

pub(crate) fn dash(index: usize) -> &'static str {
    DASHES[index / COLOURS.len() % DASHES.len()]
}

/// About as wide as some words are.
pub(crate) fn width_of(words: &str) -> f64 {
    LETTER * words.chars().count() as f64
}

/// What fits, with an ellipsis for the rest.
pub(crate) fn fitted(words: &str, width: f64) -> String {
    let most = (width / LETTER).max(4.0) as usize;
    match words.chars().count() > most {
        true => words.chars().take(most - 1).chain(['…']).collect(),
        false => words.into(),
    }
}

/// Text as it has to be in SVG and HTML.
pub(crate) fn escape(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // No document may have them, not even escaped.
            control if control.is_control() && !"\n\t".contains(control) => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// A drawing of some size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canvas {
    pub(crate) width: f64,
    pub(crate) height: f64,
    body: String,
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// As an element of a page, whose style it takes.
    pub(crate) fn inline(&self, class: &str, label: &str) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
             aria-label=\"{0}\"><title>{0}</title>\n{body}</svg>\n",
            escape(label)
        )
    }

    /// As a file. It needs no font, script or file beside it, and has no background of its own.
    pub(crate) fn alone(&self, label: &str) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"system-ui,sans-serif\" \
             font-size=\"13\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\n\
             <style>{STYLE}</style>\n{body}</svg>\n",
            escape(label)
        )
    }

    /// Puts another drawing at a place of this one.
    pub(crate) fn place(&mut self, other: &Canvas, x: f64, y: f64) {
        let body = &other.body;
        self.push(format_args!("<g transform=\"translate({x:.1} {y:.1})\">\n{body}</g>\n"));
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
        self.push(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}\
             </text>\n",
            escape(words)
        ));
    }

    pub(crate) fn upward(&mut self, x: f64, y: f64, words: &str) {
        self.push(format_args!(
            "<text class=\"ut-text\" text-anchor=\"middle\" transform=\"translate({x:.1} {y:.1}) \
             rotate(-90)\">{}</text>\n",
            escape(words)
        ));
    }

    pub(crate) fn heading(&mut self, x: f64, y: f64, words: &str) {
        self.push(format_args!(
            "<text class=\"ut-text\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"16\" \
             font-weight=\"600\">{}</text>\n",
            escape(words)
        ));
    }

    /// The number of a node, in the middle of its dot.
    pub(crate) fn number(&mut self, x: f64, y: f64, fill: &str, number: u32) {
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{fill}\" font-size=\"11\" \
             text-anchor=\"middle\" pointer-events=\"none\">{number}</text>\n"
        ));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let ((a, b), (c, d)) = (from, to);
        self.push(format_args!(
            "<line x1=\"{a:.1}\" y1=\"{b:.1}\" x2=\"{c:.1}\" y2=\"{d:.1}\" {style}/>\n"
        ));
    }

    pub(crate) fn rect(&mut self, x: f64, y: f64, size: (f64, f64), style: &str) {
        let (width, height) = size;
        self.push(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             {style}/>\n"
        ));
    }

    /// A dot that says what it is when it is pointed at.
    pub(crate) fn dot(&mut self, at: (f64, f64), radius: f64, style: &str, says: &str) {
        let (x, y) = at;
        self.push(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {style}><title>{}</title>\
             </circle>\n",
            escape(says)
        ));
    }

    pub(crate) fn polyline(&mut self, places: &[(f64, f64)], style: &str) {
        let path = path(places);
        self.push(format_args!("<polyline points=\"{path}\" fill=\"none\" {style}/>\n"));
    }

    pub(crate) fn polygon(&mut self, places: &[(f64, f64)], style: &str) {
        let path = path(places);
        self.push(format_args!("<polygon points=\"{path}\" {style}/>\n"));
    }

    fn push(&mut self, arguments: Arguments<'_>) {
        self.body.write_fmt(arguments).expect("a string takes every character");
    }
}

fn path(places: &[(f64, f64)]) -> String {
    let words: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    words.join(" ")
}
