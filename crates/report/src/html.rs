//! One page that needs nothing beside it: no script, no font, no file.

mod guarantee;
mod plan;
mod results;

use crate::drawing::Picture;
use crate::report::{Report, Variant};
use crate::svg::escape;

const STYLE: &str = include_str!("html/style.css");

/// A part of the page: the name of its anchor, its heading and what is in it.
struct Section {
    id: &'static str,
    heading: &'static str,
    body: String,
}

impl Report {
    /// The page. It reads well on narrow and wide screens, light and dark, and on paper.
    pub fn to_html(&self) -> String {
        let sections: Vec<Section> =
            self.sections().into_iter().filter(|section| !section.body.is_empty()).collect();
        let contents: String = sections
            .iter()
            .map(|Section { id, heading, .. }| {
                format!("<li><a href=\"#{id}\">{heading}</a></li>\n")
            })
            .collect();
        let body: String = sections
            .iter()
            .map(|Section { id, heading, body }| {
                format!("<section id=\"{id}\">\n<h2>{heading}</h2>\n{body}</section>\n")
            })
            .collect();
        let name = escape(&self.name);
        let versions: Vec<String> =
            self.versions.iter().map(|(what, version)| format!("{what} {version}")).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{name}: report</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <div class=\"page\">\n<header>\n<p class=\"kind\">Undertone report</p>\n\
             <h1>{name}</h1>\n<p class=\"lead\">{}</p>\n</header>\n<div class=\"columns\">\n\
             <nav aria-label=\"Contents\">\n<ol>\n{contents}</ol>\n</nav>\n<main>\n{body}</main>\n\
             </div>\n<footer>Made by {}.</footer>\n</div>\n</body>\n</html>\n",
            escape(&self.sentence()),
            escape(&versions.join(", "))
        )
    }

    /// What ran, in a sentence or two.
    pub fn sentence(&self) -> String {
        let all = |of: fn(&Variant) -> String| {
            let mut words: Vec<String> = self.variants.iter().map(of).collect();
            words.sort();
            words.dedup();
            words
        };
        let nodes = match &all(|variant| variant.nodes.to_string())[..] {
            [one] if one == "1" => "1 node".to_string(),
            [one] => format!("{one} nodes"),
            _ => {
                let counts = || self.variants.iter().map(|variant| variant.nodes);
                let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
                format!("{least} to {most} nodes")
            }
        };
        let algorithms = all(|variant| variant.algorithm.clone());
        let about = match &all(|variant| variant.about.clone())[..] {
            [one] if !one.is_empty() => format!(" ({one})"),
            _ => String::new(),
        };
        let variants = match self.variants.len() {
            1 => String::new(),
            n => format!(" in {n} variants"),
        };
        let repeats = match &all(|variant| variant.traces.len().to_string())[..] {
            [one] if one != "1" => format!(", each repeated {one} times with other seeds"),
            _ => String::new(),
        };
        let rounds = self.variants.iter().map(|variant| variant.rounds).fold(0.0, f64::max);
        let bare = self.variants.iter().filter(|variant| variant.epsilon.is_none()).count();
        let promise = match (bare, self.variants.len()) {
            (0, _) => "Every node has a proved guarantee.".to_string(),
            (n, all) if n == all => "There is no guarantee.".to_string(),
            (n, all) => format!("{n} of {all} variants have no guarantee."),
        };
        format!(
            "{nodes} ran {}{about}{variants} for {} at most{repeats}. {promise}",
            listed(&algorithms),
            if rounds == 1.0 {
                "1 round".into()
            } else {
                format!("{} rounds", crate::number(rounds))
            }
        )
    }

    fn sections(&self) -> Vec<Section> {
        let section = |id, heading, body| Section { id, heading, body };
        let figures = |pictures: Vec<Picture>| match pictures.is_empty() {
            true => String::new(),
            false => {
                let figures: String = pictures.iter().map(Picture::to_figure).collect();
                format!("<div class=\"figures\">\n{figures}</div>\n")
            }
        };
        let some = |picture: Option<Picture>| figures(picture.into_iter().collect());
        let curves = self.asked().into_iter().filter(|_| !self.asks_for_a_curve());
        let curves = curves.chain(self.curves()).collect();
        vec![
            section("results", "Results", self.results_table()),
            section("warnings", "Before you compare", self.warnings_card()),
            section("settings", "Settings that differ", self.settings_table()),
            section("guarantee", "What is promised", self.guarantee_cards()),
            section("curves", "Curves", figures(curves)),
            section("spending", "Privacy over time", some(self.spending())),
            section("claims", "Claim and truth", some(self.claims())),
            section("front", "Privacy and utility", some(self.front())),
            section(
                "fairness",
                "Fairness",
                format!("{}{}", self.fairness_table(), some(self.fairness())),
            ),
            section(
                "network",
                "Network",
                format!("{}{}", figures(self.network_pictures()), self.nodes_table()),
            ),
            section("bytes", "Bytes", some(self.traffic())),
            section("expected", "Expectations", self.expectations_table()),
            section("notes", "Notes", self.notes()),
            section("public", "Taken for public", self.public()),
            section("plan", "Plan", self.plan_text()),
            section("versions", "Versions and hashes", self.hashes()),
        ]
    }

    /// Whether the plan's own chart is one of the curves, which need not be drawn twice.
    fn asks_for_a_curve(&self) -> bool {
        self.chart.as_ref().is_some_and(|asked| {
            let plain = self.metrics.iter().any(|m| m.name == asked.y && !m.fairness);
            asked.x == "round" && !asked.log_x && plain
        })
    }

    fn warnings_card(&self) -> String {
        match list(&self.warnings) {
            none if none.is_empty() => none,
            list => format!("<div class=\"card none\">\n{list}</div>\n"),
        }
    }

    fn notes(&self) -> String {
        let mut notes: Vec<String> = Vec::new();
        for variant in &self.variants {
            for note in &variant.notes {
                notes.push(match self.variants.len() {
                    1 => note.clone(),
                    _ => format!("{}: {note}", self.title_of(variant)),
                });
            }
        }
        list(&notes)
    }

    fn public(&self) -> String {
        match self.taken_for_public.is_empty() {
            true => String::new(),
            false => format!(
                "<p>This was read from the data and not declared. Guarantees hold if it is \
                 public.</p>\n{}",
                list(&self.taken_for_public)
            ),
        }
    }
}

/// A list of lines; nothing if there are none.
fn list(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    format!("<ul class=\"plain\">\n{items}</ul>\n")
}

/// Some words with commas and an "and".
fn listed(words: &[String]) -> String {
    match words {
        [] => "nothing".into(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A table in a box of its own, which scrolls where the page must not. Cells are HTML; the first
/// of a row is its heading, and all columns but `words` of them are numbers.
fn table(header: &[String], rows: &[Vec<String>], words: &[usize]) -> String {
    let class = |k: usize| if words.contains(&k) { "w" } else { "n" };
    let head: String = header
        .iter()
        .enumerate()
        .map(|(k, cell)| format!("<th scope=\"col\" class=\"{}\">{}</th>", class(k), escape(cell)))
        .collect();
    let row = |cells: &Vec<String>| {
        let cell = |(k, cell): (usize, &String)| match k {
            0 => format!("<th scope=\"row\" class=\"{}\">{cell}</th>", class(k)),
            _ => format!("<td class=\"{}\">{cell}</td>", class(k)),
        };
        format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
    };
    let body: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n\
         {body}</tbody>\n</table></div>\n"
    )
}

/// A number as it is shown, with all its digits for machines.
fn datum(value: f64, shown: &str) -> String {
    format!("<data value=\"{value}\">{}</data>", escape(shown))
}
