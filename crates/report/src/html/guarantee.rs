//! What is promised, complete, large and clear.

use undertone_privacy::ledger::Guarantee;
use undertone_privacy::units::{Observer, Unit};

use super::results::epsilon;
use super::{datum, table};
use crate::numbers::{number, short_above};
use crate::report::{Promise, Report, SIMULATED};
use crate::svg::escape;

/// Promises that differ in nothing but epsilon, budget and nodes.
struct Card<'a> {
    terms: &'a Guarantee,
    promises: Vec<(&'a str, &'a Promise)>,
}

impl Report {
    pub(super) fn guarantee_cards(&self) -> String {
        let mut cards: Vec<Card<'_>> = Vec::new();
        for variant in &self.variants {
            for promise in &variant.guarantees {
                let entry = (self.title_of(variant), promise);
                match cards.iter_mut().find(|card| is_alike(card.terms, &promise.guarantee)) {
                    Some(card) => card.promises.push(entry),
                    None => {
                        cards.push(Card { terms: &promise.guarantee, promises: vec![entry] });
                    }
                }
            }
        }
        let mut page: String = cards.iter().map(Card::to_html).collect();
        if self.variants.iter().any(|variant| variant.epsilon.is_some()) {
            page.push_str(&format!("<p>{}</p>\n", escape(SIMULATED)));
        }
        let left: usize = self.variants.iter().map(|variant| variant.guarantees_left_out).sum();
        if left > 0 {
            page.push_str(&format!(
                "<p>{left} more groups of nodes are not listed; none of their promises is \
                 weaker.</p>\n"
            ));
        }
        if self.variants.iter().any(|variant| variant.traces.len() > 1) || self.variants.len() > 1 {
            page.push_str(
                "<p>A guarantee is that of one run. Whoever shows several runs on the same records \
                 (repetitions, variants, choices of parameters) pays for each of them.</p>\n",
            );
        }
        page
    }
}

impl Card<'_> {
    fn to_html(&self) -> String {
        let Guarantee { delta, adjacency, unit, observer, accountant, theorem, .. } = self.terms;
        if self.terms.epsilon.get().is_infinite() {
            return format!(
                "<div class=\"card none\">\n<p class=\"promise\">No guarantee</p>\n<p>Something \
                 leaves these nodes without noise, so nothing is promised to anybody.</p>\n{}\
                 </div>\n",
                self.table()
            );
        }
        let epsilons = || self.promises.iter().map(|(_, p)| p.guarantee.epsilon.get());
        let (least, most) = (
            epsilons().fold(f64::INFINITY, f64::min),
            epsilons().fold(f64::NEG_INFINITY, f64::max),
        );
        let range = match short_above(least) == short_above(most) {
            true => datum(most, &short_above(most)),
            false => {
                let (least, most) =
                    (datum(least, &short_above(least)), datum(most, &short_above(most)));
                format!("{least} to {most}")
            }
        };
        let (unit, observer) = (unit_words(*unit), observer_words(*observer));
        let delta = delta.get();
        let fact = |name: &str, words: &str| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(words));
        format!(
            "<div class=\"card\">\n<p class=\"promise\">ε ≤ {range} at δ = {}</p>\n<dl>\n{}{}{}{}{}\
             </dl>\n{}</div>\n",
            datum(delta, &format!("{delta:e}")),
            fact("hides", unit),
            fact("neighbours", &adjacency_words(&adjacency.to_string())),
            fact("observer", observer),
            fact("accountant", &accountant.to_string()),
            fact("theorem", theorem),
            self.table()
        )
    }

    fn table(&self) -> String {
        let claims = self.promises.iter().any(|(_, promise)| promise.claim.is_some());
        let mut header = ["variant", "nodes", "ε, at most", "budget ε", "debits", "spent"]
            .map(String::from)
            .to_vec();
        if claims {
            header.push("claimed".into());
        }
        let row = |(label, promise): &(&str, &Promise)| {
            let Guarantee { budget, debits, spent, .. } = &promise.guarantee;
            let finite = |value: f64| value.is_finite().then_some(value);
            let allowed = budget.epsilon.get();
            let mut row = vec![
                escape(label),
                escape(&promise.nodes.to_string()),
                epsilon(finite(promise.guarantee.epsilon.get())),
                finite(allowed).map_or("–".into(), |e| datum(e, &short_above(e))),
                datum(*debits as f64, &format!("{debits}")),
                format!("{:.1} %", 100.0 * spent),
            ];
            if claims {
                row.push(promise.claim.as_ref().map_or("–".into(), |claim| {
                    format!(
                        "{} at δ = {:e}<br><small>{}</small>",
                        datum(claim.epsilon, &number(claim.epsilon)),
                        claim.delta,
                        escape(&claim.source)
                    )
                }));
            }
            row
        };
        let rows: Vec<_> = self.promises.iter().map(row).collect();
        table(&header, &rows, &[0, 1])
    }
}

fn is_alike(a: &Guarantee, b: &Guarantee) -> bool {
    let bare = |guarantee: &Guarantee| guarantee.epsilon.get().is_infinite();
    if bare(a) || bare(b) {
        return bare(a) && bare(b);
    }
    (a.delta, a.adjacency, a.unit, a.observer) == (b.delta, b.adjacency, b.unit, b.observer)
        && (a.accountant, &a.theorem) == (b.accountant, &b.theorem)
}

fn unit_words(unit: Unit) -> &'static str {
    match unit {
        Unit::Node => "the whole data of a node",
        Unit::Record => "one record of a node",
    }
}

fn observer_words(observer: Observer) -> &'static str {
    match observer {
        Observer::Everyone => "whoever sees every message of the whole run",
        Observer::Coalition => "a set of nodes that share what they saw",
        Observer::Neighbour => "one neighbour, which sees only what it is sent",
    }
}

fn adjacency_words(adjacency: &str) -> String {
    match adjacency {
        "add-remove" => "data sets with one more or one less (add-remove adjacency)".into(),
        "replace" => "data sets in which one is replaced (replace adjacency)".into(),
        other => format!("{other} adjacency"),
    }
}
