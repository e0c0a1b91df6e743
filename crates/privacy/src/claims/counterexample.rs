//! Instances that break the papers' claims, each computed from first principles.
//!
//! The claimed side is the paper's formula. The true side never uses it: it builds two neighbouring
//! data sets, works out the law of what is sent for both, and compares the laws in closed form.

use serde::Serialize;

use super::{Comparison, Guarantee, Side};
use crate::accountant::gdp;
use crate::units::{Adjacency, Delta, Epsilon, Mu};

pub(super) mod composed;
pub(super) mod single;

/// An instance that breaks a claim.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counterexample {
    /// `CE-1` to `CE-15`.
    pub id: &'static str,
    /// The claim that is broken.
    pub claim: &'static str,
    /// The instance in words.
    pub instance: &'static str,
    /// Computes both sides, for one or more cases.
    #[serde(skip)]
    pub evaluate: fn() -> Vec<Outcome>,
}

/// Both sides of one case of a counterexample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Which case.
    pub case: &'static str,
    /// What the paper says.
    pub claimed: Guarantee,
    /// The delta that the instance has at the claimed epsilon, or a lower bound on it.
    pub delta: Delta,
    /// The epsilon that the instance has at the claimed delta, or a lower bound on it.
    pub epsilon: Epsilon,
    /// Whether both are exact for the instance; otherwise they are lower bounds.
    pub exact: bool,
    /// Size of the Gaussian test, where the instance is one.
    pub mu: Option<Mu>,
}

impl Outcome {
    /// Whether the claim is false in this case.
    pub fn breaks(&self) -> bool {
        self.delta > self.claimed.delta && self.epsilon > self.claimed.epsilon
    }

    /// An instance that is exactly a test between N(0, 1) and N(mu, 1).
    fn gaussian(case: &'static str, claimed: Guarantee, mu: f64) -> Outcome {
        let mu = Mu::new(mu).expect("a size is at least 0");
        Outcome {
            case,
            claimed,
            delta: gdp::delta(claimed.epsilon, mu),
            epsilon: gdp::epsilon(claimed.delta, mu),
            exact: true,
            mu: Some(mu),
        }
    }
}

/// All counterexamples, in order.
pub fn all() -> &'static [Counterexample] {
    &ALL
}

/// The counterexample with the given id, in any case.
pub fn find(id: &str) -> Option<&'static Counterexample> {
    ALL.iter().find(|example| example.id.eq_ignore_ascii_case(id))
}

/// The first case of a counterexample as a claim's comparison.
pub(super) fn compare(id: &str, adjacency: Adjacency) -> Comparison {
    let example = find(id).expect("claims name counterexamples that exist");
    let outcome = (example.evaluate)()[0];
    Comparison {
        instance: example.instance,
        claimed: Some(outcome.claimed),
        truth: Guarantee { epsilon: outcome.epsilon, delta: outcome.claimed.delta },
        side: if outcome.exact { Side::Exact } else { Side::AtLeast },
        adjacency,
        theorem: "the law of what is sent for the two neighbours of the instance",
    }
}

static ALL: [Counterexample; 15] = [
    Counterexample {
        id: "CE-1",
        claim: "004 Algorithm 1 as printed",
        instance: "T 1, mean estimation: the first message of stage II is a function of the data",
        evaluate: single::ce_1,
    },
    Counterexample {
        id: "CE-2",
        claim: "003 Theorem 2 at its own numbers, PrivSGP",
        instance: "J 3125, K 3120, G 10, c2 0.372403; a gradient is +G e or -G e, others 0",
        evaluate: composed::ce_2,
    },
    Counterexample {
        id: "CE-3",
        claim: "003 Theorem 2 at its own numbers, PrivSGP-VR",
        instance: "J 3125, K 3120, G 10, linear losses: every round sends the mean gradient",
        evaluate: composed::ce_3,
    },
    Counterexample {
        id: "CE-4",
        claim: "000 Theorem 15, Q-DPSGD-2",
        instance: "p 1, m 100 in full batches, T 100, lattice 1e-9; a gradient is +K or -K",
        evaluate: composed::ce_4,
    },
    Counterexample {
        id: "CE-5",
        claim: "000 Theorem 11, Q-DPSGD-1, outside its silent regime",
        instance: "m 1000, batches of 1, T 1000, noise of Remark 6",
        evaluate: composed::ce_5,
    },
    Counterexample {
        id: "CE-6",
        claim: "001 Theorem 2.3, a factor of 2",
        instance: "d 64, C 5, x = (C, ..., C) or (-C, ..., -C)",
        evaluate: single::ce_6,
    },
    Counterexample {
        id: "CE-7",
        claim: "001 Theorem 2.7, the sparsity factor",
        instance: "constant step and shift; the constant is right when everything is sent",
        evaluate: composed::ce_7,
    },
    Counterexample {
        id: "CE-8",
        claim: "000 Theorem 20, ADFC",
        instance: "n 1000, all records on one side of the split of attributes",
        evaluate: single::ce_8,
    },
    Counterexample {
        id: "CE-9",
        claim: "000 Theorem 2, PR-ADMM periodic",
        instance: "T = T_p = 1, one record with loss +x or -x, eta v 1, sigma 1",
        evaluate: single::ce_9,
    },
    Counterexample {
        id: "CE-10",
        claim: "000 Theorem 6, PP-ADMM, the solver's tolerance",
        instance: "n 100, m 2.7, beta 0.04, saturated records (+-cos 0.1, sin 0.1), worst solver",
        evaluate: composed::ce_10,
    },
    Counterexample {
        id: "CE-11",
        claim: "000 Lemma 3, the split of the budget",
        instance: "one Gaussian that spends all of rho, epsilon 10, delta 1e-4",
        evaluate: single::ce_11,
    },
    Counterexample {
        id: "CE-12",
        claim: "000 Lemma 13, threshold noise drawn anew every round",
        instance: "c 1, C 1, n 1, threshold 0, 30 rounds of queries at -1 or +1",
        evaluate: composed::ce_12,
    },
    Counterexample {
        id: "CE-13",
        claim: "002 Theorem V.1 with an inexact solver",
        instance: "d 1, B = C = 1, m 0.6, alpha 1: one Newton step from 0 is sent",
        evaluate: single::ce_13,
    },
    Counterexample {
        id: "CE-14",
        claim: "the classic Gaussian formula beyond epsilon 1 (001, 000 Definition 3)",
        instance: "epsilon 10, delta 1e-5",
        evaluate: single::ce_14,
    },
    Counterexample {
        id: "CE-15",
        claim: "000 Definition 4 with its radical misread",
        instance: "epsilon 1, delta 1e-5",
        evaluate: single::ce_15,
    },
];
