//! Theory section 8.

use super::*;
use crate::claims::dgd::*;

#[test]
fn theory_8_the_schedule_meets_its_budget() {
    let share = |rounds: u64| {
        let sum: f64 = (1..=rounds).map(|t| (t as f64).powf(-0.5)).sum();
        sum / (2.0 * (rounds as f64).sqrt())
    };
    digits(share(10), "0.793889474");
    digits(share(1000), "0.977159747");
    let (e, d) = (epsilon(4.0), delta(1e-3));
    digits(kappa(e, d, clip(1.0)).expect("in range").get(), "0.2083137505");
    for rounds in [10, 1000] {
        let event = event(&estimation(rounds), clip(1.0)).expect("in range");
        let spent = size(&event, Adjacency::Replace).powi(2);
        near(spent, share(rounds) * theorem_1_budget(e, d), 1e-12);
    }
}

#[test]
fn theory_8_true_price_of_the_schedule() {
    let event = event(&estimation(1000), clip(1.0)).expect("in range");
    let mu = size(&event, Adjacency::Replace);
    digits(mu, "0.9023431981");
    digits(gaussian_delta(4.0, mu), "5.8395e-6");
    digits(price(Accountant::Best, &event, Adjacency::Replace, 1e-3), "2.7651833");
    near(size(&event, Adjacency::AddRemove), 0.5 * mu, 1e-12);
}

#[test]
fn theory_8_budgets_of_theorem_1_and_exact_ones() {
    for (e, d, paper, exact) in [
        (4.0, 1e-3, "0.833255002", "1.476108717"),
        (1.0, 1e-5, "0.0393512625", "0.0718514047"),
        (4.0, 1e-6, "0.484594213", "0.702007297"),
        (0.5, 1e-9, "0.00576929831", "0.00877715969"),
    ] {
        digits(theorem_1_budget(epsilon(e), delta(d)), paper);
        digits(allowed(e, d).powi(2), exact);
    }
    digits(allowed(4.0, 1e-3).powi(2) / theorem_1_budget(epsilon(4.0), delta(1e-3)), "1.7715");
    digits(allowed(1.0, 1e-5).powi(2) / theorem_1_budget(epsilon(1.0), delta(1e-5)), "1.8259");
}
