//! Theory section 5.

use super::*;
use crate::claims::consensus::*;

#[test]
fn theory_5_1_noise_for_consensus() {
    for (e, d, paper, sound) in
        [(0.9, 1e-5, "215.3246783", "328.5299465"), (1.0, 1e-4, "173.7444922", "254.8562392")]
    {
        let claimed = theorem_2_3_sigma(epsilon(e), delta(d), 64, clip(5.0)).expect("in range");
        digits(claimed.get(), paper);
        let needed = scale(2.0 * 8.0 * 5.0 / allowed(e, d));
        digits(needed.get(), sound);
        let event = consensus_event(64, clip(5.0), 1, needed).expect("in range");
        near(price(Accountant::Best, &event, Adjacency::Replace, d), e, 1e-9);
        let mean = consensus_event(64, clip(5.0), 10, needed).expect("in range");
        near(size(&mean, Adjacency::Replace), 0.1 * size(&event, Adjacency::Replace), 1e-12);
    }
}

#[test]
fn theory_5_2_a_run_of_windows() {
    let event = optimisation_event(clip(1.0), 13_500, scale(0.01), 100).expect("in range");
    digits(size(&event, Adjacency::Replace), "0.1481481481");
    digits(price(Accountant::Best, &event, Adjacency::Replace, 1e-4), "0.4292958");
    near(size(&event, Adjacency::AddRemove), 0.5 * size(&event, Adjacency::Replace), 1e-12);
    // Sampling a tenth with ten times the noise on the mean costs less than a tenth more.
    let sampled = sampled_optimisation_event(clip(1.0), 13_500, probability(0.1), scale(0.01), 100);
    let sampled = price(Accountant::Pld, &sampled.expect("ok"), Adjacency::AddRemove, 1e-4);
    let whole = price(Accountant::Best, &event, Adjacency::AddRemove, 1e-4);
    assert!(sampled > whole && sampled < 1.1 * whole, "{sampled} {whole}");
}
