//! The page and the comparison of reports: structure, escapes, numbers.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use serde_json::{Value, json};
use undertone_report::{Report, Spread, compare};

const HOSTILE: &str = "<script>alert(\"1\")</script>&'\u{7}";

/// A report of two variants; the second has no guarantee.
fn report() -> Value {
    let spread = |mean: f64| {
        let (least, most) = (mean - 0.125, mean + 0.125);
        json!({"mean": mean, "least": least, "most": most, "deviation": 0.0884})
    };
    let guarantee = |epsilon: Value| {
        json!({
            "node": 0, "epsilon": epsilon, "delta": 1e-5, "adjacency": "add-remove",
            "unit": "record", "observer": "everyone", "accountant": "pld",
            "theorem": format!("theorem {HOSTILE}"),
            "budget": {"epsilon": epsilon, "delta": 1e-5}, "debits": 50, "spent": 1.0
        })
    };
    let variant = |label: &str, accuracy: f64, epsilon: Option<f64>| {
        let point = |round: u64, accuracy: f64| {
            let loss = spread(1.0 / (1.0 + round as f64));
            let metrics = json!({"accuracy": spread(accuracy), "loss": loss});
            json!({"round": round, "time": null, "metrics": metrics})
        };
        let whole = epsilon.map_or(json!("infinite"), |epsilon| json!(epsilon));
        let claim = json!({"source": format!("paper {HOSTILE}"), "epsilon": 0.0625, "delta": 1e-5});
        json!({
            "label": label, "settings": {"privacy.noise": label},
            "setup": {"privacy.noise": label, "data.source": "census"},
            "algorithm": "priv-sgp", "about": "noisy gradient push", "nodes": 3,
            "rounds": 50.0, "messages": 300.0, "bytes": 123456.0,
            "metrics": {"accuracy": spread(accuracy), "loss": spread(0.25)},
            "epsilon": epsilon, "claim": claim,
            "guarantees": [{
                "nodes": {"count": 3, "ranges": [[0, 2]]}, "guarantee": guarantee(whole),
                "claim": claim
            }],
            "guarantees_left_out": 0,
            "spending": [{
                "nodes": {"count": 3, "ranges": [[0, 2]]},
                "points": [
                    {"round": 0, "time": null, "epsilon": epsilon.map(|_| 0.0)},
                    {"round": 50, "time": null, "epsilon": epsilon}
                ]
            }],
            "stopped": [], "notes": [format!("note {HOSTILE}")],
            "plan_hash": "ab", "traces": [{"seed": 1, "hash": "cd"}, {"seed": 2, "hash": "ef"}],
            "points": [point(0, 0.5), point(50, accuracy)]
        })
    };
    let node = |node: u32| {
        let place = [f64::from(node) / 2.0, 0.5];
        json!({"node": node, "place": place, "budget": 1.0, "epsilon": 1.0, "spent": 1.0})
    };
    json!({
        "schema": 2, "name": HOSTILE, "versions": {"undertone": "0.1.0"},
        "plans": [{
            "name": "p", "text": format!("name = \"{HOSTILE}\" # {HOSTILE}\n"), "hash": "01",
            "set": [HOSTILE]
        }],
        "taken_for_public": [HOSTILE], "warnings": [],
        "metrics": [
            {"name": "accuracy", "higher_is_better": true, "fairness": false},
            {"name": "loss", "higher_is_better": false, "fairness": false}
        ],
        "varied": ["privacy.noise"],
        "variants": [
            variant("sound", 0.8125, Some(0.987_654_321_f64)),
            variant(HOSTILE, 0.875, None)
        ],
        "networks": [{
            "variants": [0, 1], "what": HOSTILE, "nodes": 3, "edges": 2, "directed": false,
            "shown": [node(0), node(1), node(2)], "lines": [[0, 1], [1, 2]]
        }],
        "chart": {"x": "round", "y": "accuracy", "log_x": false, "log_y": false},
        "expected": [{
            "what": HOSTILE, "why": HOSTILE, "found": "inf", "min": null, "max": 1.0,
            "passed": false
        }],
        "passed": false
    })
}

fn read(value: &Value) -> Report {
    Report::from_json(&value.to_string()).unwrap()
}

/// Checks that every element is closed in order, as XML wants it, and returns how many there are.
fn elements(text: &str) -> usize {
    const EMPTY: [&str; 3] = ["meta", "link", "br"];
    let (mut open, mut count): (Vec<&str>, usize) = (Vec::new(), 0);
    let mut rest = text.strip_prefix("<!DOCTYPE html>").unwrap_or(text);
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert!(!rest[..start].contains('>'), "a bare > before <{tag}>");
        assert!(!tag.contains('<'), "a bare < in <{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "near {}", &text[..200.min(text.len())]);
        } else if !tag.ends_with('/') && !EMPTY.contains(&name) {
            open.push(name);
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes of <{tag}>");
        count += 1;
        rest = &rest[end + 1..];
        // A style sheet is no markup.
        if name == "style" && !tag.starts_with('/') {
            rest = &rest[rest.find("</style>").expect("a style sheet ends")..];
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    count
}

#[test]
fn a_page_is_well_formed_and_names_in_it_are_harmless() {
    let report = read(&report());
    let page = report.to_html();
    assert!(elements(&page) > 200);
    assert!(!page.contains("<script") && !page.contains('\u{7}'), "a name became an element");
    assert!(page.matches("&lt;script&gt;").count() >= 10);
    assert!(page.contains("hides nothing"), "a simulation's noise is no secret");
    for picture in report.pictures() {
        let svg = picture.to_svg();
        elements(&svg);
        assert!(!svg.contains("<script") && !svg.contains("NaN"), "{}", picture.name);
    }
}

#[test]
fn a_page_needs_nothing_beside_it() {
    let page = read(&report()).to_html();
    for word in ["http:", "https:", "url(", "@import", "src=", "onload"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
}

#[test]
fn contents_name_the_sections_and_empty_ones_are_left_out() {
    let page = read(&report()).to_html();
    for (id, there) in [
        ("results", true),
        ("guarantee", true),
        ("curves", true),
        ("spending", true),
        ("claims", true),
        ("front", true),
        ("network", true),
        ("bytes", true),
        ("expected", true),
        ("notes", true),
        ("public", true),
        ("plan", true),
        ("versions", true),
        ("fairness", false),
        ("warnings", false),
        ("settings", false),
    ] {
        assert_eq!(page.contains(&format!("<section id=\"{id}\">")), there, "{id}");
        assert_eq!(page.contains(&format!("<a href=\"#{id}\">")), there, "{id}");
    }
}

#[test]
fn numbers_of_the_page_are_those_of_the_report_and_bounds_are_rounded_up() {
    let report = read(&report());
    let page = report.to_html();
    for variant in &report.variants {
        for value in [variant.bytes, variant.rounds, variant.messages] {
            assert!(page.contains(&format!("<data value=\"{value}\">")), "{value}");
        }
        for spread in variant.metrics.values() {
            let mean = spread.mean;
            assert!(page.contains(&format!("<data value=\"{mean}\">{mean}</data>")), "{mean}");
        }
    }
    assert!(page.contains("<data value=\"0.987654321\">0.9877</data>"));
    assert!(page.contains("ε ≤ <data value=\"0.987654321\">0.9877</data> at δ = "));
    assert!(page.contains("<p class=\"promise\">No guarantee</p>"));
    assert!(page.contains("pld"), "the accountant is named");
    assert!(report.sentence().ends_with("1 of 2 variants have no guarantee."));
}

#[test]
fn json_comes_back_and_other_schemas_are_refused() {
    let mut value = report();
    let report = read(&value);
    assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
    assert_eq!(serde_json::from_str::<Value>(&report.to_json()).unwrap(), value);
    value["schema"] = json!(99);
    value["new"] = json!(true);
    let error = Report::from_json(&value.to_string()).unwrap_err().to_string();
    assert!(error.contains("its schema is 99, and this program reads 2"), "{error}");
    assert!(Report::from_json("{}").is_err() && Report::from_json("no").is_err());
}

#[test]
fn a_comparison_says_what_differs_and_warns_of_other_terms() {
    let mut value = report();
    value["name"] = json!("first");
    let first = read(&value);
    let promise = &mut value["variants"][0]["guarantees"][0]["guarantee"];
    promise["delta"] = json!(1e-6);
    promise["adjacency"] = json!("replace");
    value["variants"][0]["setup"]["run.rounds"] = json!(70);
    value["variants"][0]["metrics"] = json!({"loss": {"mean": 1.0, "least": 1.0, "most": 1.0}});
    let second = read(&value);
    let comparison = compare(&[first.clone(), second]);
    let names: Vec<_> = comparison.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names[..1], ["first: sound"]);
    assert_eq!(names[2], "first #2: sound");
    assert_eq!(comparison.differing, ["privacy.noise", "run.rounds"]);
    assert!(!comparison.rows[2].metrics.contains_key("accuracy"));
    let said = comparison.warnings.join("\n");
    for word in
        ["different deltas (1e-5, 1e-6)", "adjacencies (add-remove, replace)", "no guarantee"]
    {
        assert!(said.contains(word), "{word} is not in {said}");
    }
    assert!(elements(&comparison.report.to_html()) > 300);
    let page = comparison.report.to_html();
    assert!(page.contains("<section id=\"warnings\">"));
    assert!(page.contains("<section id=\"settings\">") && page.contains(">run.rounds</th>"));
    // One run has nothing to be warned of but its own bare variant.
    assert_eq!(compare(&[first]).warnings.len(), 1);
}

#[test]
fn a_value_has_the_deviation_of_its_repetitions() {
    let said = |values: &[f64]| Spread::of(values).to_string();
    // The root of (0.05^2 + 0.05^2)/(2 - 1).
    assert_eq!(said(&[0.8, 0.9]), "0.85 (0.071)");
    assert_eq!(said(&[0.1, 0.1, 0.1]), "0.1 (0)");
    assert_eq!(said(&[0.8]), "0.8");
    let wrong = Spread::of(&[0.8, f64::NAN]);
    assert!(wrong.mean.is_nan() && wrong.deviation.is_none());
}
