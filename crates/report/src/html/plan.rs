//! The plan with its parts told apart, and hashes.

use super::{list, table};
use crate::report::Report;
use crate::svg::escape;

impl Report {
    pub(super) fn plan_text(&self) -> String {
        let mut page = String::new();
        for plan in &self.plans {
            if self.plans.len() > 1 {
                page.push_str(&format!("<h3>{}</h3>\n", escape(&plan.name)));
            }
            if !plan.set.is_empty() {
                let set: Vec<String> = plan.set.iter().map(|set| format!("--set {set}")).collect();
                page.push_str(&format!("<p>With other values:</p>\n{}", list(&set)));
            }
            let text: String = plan.text.trim_end().lines().map(highlighted).collect();
            page.push_str(&format!("<pre tabindex=\"0\"><code>{text}</code></pre>\n"));
        }
        page
    }

    pub(super) fn hashes(&self) -> String {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut add = |what: String, hash: &str| {
            let hash = format!("<span class=\"hash\">{}</span>", escape(hash));
            rows.push(vec![escape(&what), hash]);
        };
        self.versions.iter().for_each(|(what, version)| add(what.clone(), version));
        for plan in &self.plans {
            add(format!("plan {}", plan.name), &plan.hash);
        }
        for variant in &self.variants {
            let title = self.title_of(variant);
            add(format!("{title}: plan"), &variant.plan_hash);
            for trace in &variant.traces {
                add(format!("{title}: trace, seed {}", trace.seed), &trace.hash);
            }
        }
        let header = ["what", "version or blake3"].map(String::from);
        format!(
            "{}<p>The same plan and seed give the same traces, on any number of threads.</p>\n",
            table(&header, &rows, &[0, 1])
        )
    }
}

/// A line of TOML. What spans several lines is not looked into.
fn highlighted(line: &str) -> String {
    let (code, comment) = line.split_at(comment_at(line));
    let comment = match comment {
        "" => String::new(),
        text => format!("<span class=\"c\">{}</span>", escape(text)),
    };
    let trimmed = code.trim();
    let code = if trimmed.starts_with('[') && trimmed.ends_with(']') && !trimmed.contains('=') {
        format!("<span class=\"t\">{}</span>", escape(code))
    } else if let Some((key, value)) = code.split_once('=').filter(|(key, _)| !key.contains('"')) {
        format!("<span class=\"k\">{}</span>={}", escape(key), values(value))
    } else {
        values(code)
    };
    format!("{code}{comment}\n")
}

/// Where the comment begins, if there is one, or the end.
fn comment_at(line: &str) -> usize {
    let mut quote = None;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') => return at,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    line.len()
}

/// Strings and numbers.
fn values(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (class, length) = match first {
            '"' | '\'' => {
                let end = rest[1..].find(first).map_or(rest.len(), |end| end + 2);
                ("s", end)
            }
            c if c.is_ascii_alphanumeric() || "+-.".contains(c) => {
                let inside = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
                let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
                let word = &rest[..end];
                let valued = word.parse::<f64>().is_ok() || ["true", "false"].contains(&word);
                (if valued { "v" } else { "" }, end)
            }
            c => ("", c.len_utf8()),
        };
        let part = escape(&rest[..length]);
        match class {
            "" => out.push_str(&part),
            class => out.push_str(&format!("<span class=\"{class}\">{part}</span>")),
        }
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_plan_are_told_apart() {
        let line = "step = { first = 0.1, name = \"a # b\" } # why <not>";
        let expected = "<span class=\"k\">step </span>= { first = <span class=\"v\">0.1</span>, \
                        name = <span class=\"s\">&quot;a # b&quot;</span> } \
                        <span class=\"c\"># why &lt;not&gt;</span>\n";
        assert_eq!(highlighted(line), expected);
        assert_eq!(highlighted("[[vary]]"), "<span class=\"t\">[[vary]]</span>\n");
        assert_eq!(highlighted("é\"open"), "é<span class=\"s\">&quot;open</span>\n");
    }
}
