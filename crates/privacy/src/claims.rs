//! What the five source papers claim, what is true, and what is shipped instead.
//!
//! Three things per algorithm: the paper's formulas as plain functions, the events the shipped
//! version really emits, and a [`Claim`] that puts the two side by side. A claim that is false has
//! a [`counterexample::Counterexample`]. Every number is computed when asked for, none is stored.
//!
//! ```
//! use undertone_privacy::claims;
//!
//! let claim = claims::find("dp-consensus").expect("paper 001 is here");
//! let comparison = claim.compare();
//! assert!(comparison.truth.epsilon > comparison.claimed.expect("it claims").epsilon);
//! ```

use std::sync::LazyLock;

use serde::Serialize;

use crate::accountant::Accountant;
use crate::event::Event;
use crate::units::{Adjacency, ClipNorm, Delta, Epsilon, Probability, Rho, Scale};

pub mod admm;
pub mod consensus;
pub mod counterexample;
pub mod dgd;
pub mod fair;
pub mod gaussian;
pub mod privsgp;
pub mod quantised;
pub mod recycled;

#[cfg(test)]
mod tests;

/// What became of a paper's claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// True.
    Sound,
    /// True, but it asks for more noise than needed, although its proof may have gaps.
    Loose,
    /// True with a valid proof, and it asks for more noise than needed.
    SoundAndLoose,
    /// A concrete violation exists.
    Unsound,
    /// No violation is known, but the argument does not establish it.
    ProofBroken,
    /// Nothing is claimed: the messages are functions of the data.
    NoClaim,
}

/// One claim of one paper.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Claim {
    /// Key of the algorithm, such as `pr-admm-periodic`.
    pub algorithm: &'static str,
    /// Paper and theorem, such as `000 Theorem 2`.
    pub paper: &'static str,
    /// What became of it.
    pub verdict: Verdict,
    /// Why, in one line.
    pub reason: &'static str,
    /// What is shipped, and what prices it.
    pub shipped: &'static str,
    /// The instance that breaks it; see [`counterexample::find`].
    pub counterexample: Option<&'static str>,
    /// Computes both sides at the paper's own parameters.
    #[serde(skip)]
    pub example: fn() -> Comparison,
}

/// An (epsilon, delta) pair. In JSON an infinite epsilon is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Guarantee {
    /// Its epsilon.
    pub epsilon: Epsilon,
    /// Its delta.
    pub delta: Delta,
}

/// On which side of a computed value the true one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The true value is at least this.
    AtLeast,
    /// The true value is at most this.
    AtMost,
    /// This is the true value.
    Exact,
}

/// Both sides of a claim at one choice of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The parameters in words.
    pub instance: &'static str,
    /// What the paper says they give; nothing if it says nothing.
    pub claimed: Option<Guarantee>,
    /// What they give, at the claimed delta.
    pub truth: Guarantee,
    /// Which kind of bound `truth` is.
    pub side: Side,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// Why `truth` is true.
    pub theorem: &'static str,
}

impl Claim {
    /// Computes both sides at the paper's own parameters.
    pub fn compare(&self) -> Comparison {
        (self.example)()
    }

    /// The worst case of its counterexample: the one whose delta is furthest from the claimed one.
    ///
    /// A false claim may still be true at the paper's own parameters, where [`Claim::compare`]
    /// looks; this is where it is not.
    pub fn violation(&self) -> Option<counterexample::Outcome> {
        let example = counterexample::find(self.counterexample?)?;
        (example.evaluate)().into_iter().max_by(|a, b| a.delta.get().total_cmp(&b.delta.get()))
    }
}

impl std::fmt::Display for Guarantee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Five digits of delta; the trailing zeros that they may have are not printed.
        let short: f64 = format!("{:.4e}", self.delta.get()).parse().expect("a printed number");
        if short == 0.0 {
            return write!(f, "({:.6}, 0)", self.epsilon.get());
        }
        write!(f, "({:.6}, {short:e})", self.epsilon.get())
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::Sound => "sound",
            Verdict::Loose => "loose",
            Verdict::SoundAndLoose => "sound, loose",
            Verdict::Unsound => "unsound",
            Verdict::ProofBroken => "proof broken",
            Verdict::NoClaim => "no claim",
        })
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::AtLeast => "at least",
            Side::AtMost => "at most",
            Side::Exact => "exactly",
        })
    }
}

/// All claims, in the order of the papers.
pub fn all() -> &'static [Claim] {
    static ALL: LazyLock<Vec<Claim>> = LazyLock::new(|| {
        let mut all = Vec::new();
        all.extend(gaussian::CLAIMS);
        all.extend(admm::CLAIMS);
        all.extend(quantised::CLAIMS);
        all.extend(fair::CLAIMS);
        all.extend(consensus::CLAIMS);
        all.extend(recycled::CLAIMS);
        all.extend(privsgp::CLAIMS);
        all.extend(dgd::CLAIMS);
        all
    });
    &ALL
}

/// The claim about `algorithm`.
pub fn find(algorithm: &str) -> Option<&'static Claim> {
    all().iter().find(|claim| claim.algorithm == algorithm)
}

/// The key most like a mistyped one.
pub fn nearest(algorithm: &str) -> &'static str {
    all()
        .iter()
        .map(|claim| claim.algorithm)
        .min_by_key(|key| edits(key, algorithm))
        .expect("there are claims")
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let swap = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = swap.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A comparison whose true side is the best bound of our accountants.
fn priced(
    instance: &'static str,
    claimed: Option<Guarantee>,
    event: &Event,
    adjacency: Adjacency,
) -> Comparison {
    let at = claimed.map_or_else(|| delta(1e-5), |claimed| claimed.delta);
    // Without a delta only pure parts have a price.
    let accountant = if at.get() == 0.0 { Accountant::Gdp } else { Accountant::Best };
    let bound = accountant.epsilon(event, adjacency, at).expect("the shipped event is priced");
    Comparison {
        instance,
        claimed,
        truth: Guarantee { epsilon: bound.epsilon, delta: at },
        // A sensitivity is a bound; whether some data attain it is not asked here.
        side: Side::AtMost,
        adjacency,
        theorem: bound.theorem,
    }
}

/// What is said of algorithms that send functions of the data.
fn unprotected() -> Comparison {
    let instance = "any: every message is a function of the data";
    let comparison = priced(instance, None, &Event::NonPrivate, Adjacency::AddRemove);
    Comparison { side: Side::Exact, ..comparison }
}

fn guarantee(epsilon: f64, delta: f64) -> Guarantee {
    Guarantee { epsilon: self::epsilon(epsilon), delta: self::delta(delta) }
}

// The parameters of examples and counterexamples are literals or follow from literals.

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("an example's epsilon is at least 0")
}

fn delta(value: f64) -> Delta {
    Delta::new(value).expect("an example's delta is between 0 and 1")
}

fn scale(value: f64) -> Scale {
    Scale::new(value).expect("an example's scale is positive")
}

fn clip(value: f64) -> ClipNorm {
    ClipNorm::new(value).expect("an example's clip norm is positive")
}

fn probability(value: f64) -> Probability {
    Probability::new(value).expect("an example's probability is between 0 and 1")
}

fn rho(value: f64) -> Rho {
    Rho::new(value).expect("an example's rho is at least 0")
}
