//! Noise and ledger of sums: what paper 000 takes, what it claims, and what is proved.

use undertone_model::fair::Statistics;
use undertone_privacy::accountant::Accountant;
use undertone_privacy::claims::fair::{
    adfc_claimed_sensitivity, adfc_claimed_sigma, lemma_21, lemma_22, lemma_23,
};
use undertone_privacy::claims::gaussian::tail_sigma;
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Budget, Filter};
use undertone_privacy::units::{Adjacency, Delta, Epsilon, OutOfRange, Scale};

use super::super::protection::{Asked, Claim, at};
use super::written::{Method, Written};
use crate::plan::{NodeBudget, NoisePlan, Plan, PlanError};
use crate::private::{SumNoise, sensitivity_of};

/// How the sums of one node are protected.
pub(super) struct Shield {
    pub(super) noise: SumNoise,
    pub(super) event: Event,
    pub(super) budget: Budget,
    pub(super) claim: Option<Claim>,
}

/// The number of records is public.
pub(super) const ADJACENCY: Adjacency = Adjacency::Replace;

/// One release, known in advance.
pub(super) fn filter(event: &Event) -> Filter {
    Filter::Planned { event: event.clone() }
}

impl Shield {
    /// By the common budget, or that of one node, which is at `key` in the plan.
    pub(super) fn new(
        plan: &Plan,
        written: &Written,
        statistics: &Statistics,
        own: Option<(&NodeBudget, &str)>,
    ) -> Result<Self, PlanError> {
        let moved = sensitivity_of(statistics).map_err(at("model"))?;
        let Some(privacy) = &plan.privacy else {
            let noise = SumNoise::Exposed;
            let delta = Delta::new(0.0).map_err(at("privacy"))?;
            let budget = Budget { epsilon: Epsilon::INFINITE, delta };
            return Ok(Self { noise, event: noise.event(moved), budget, claim: None });
        };
        let asked = Asked::new(privacy, own)?;
        let mut claim = None;
        let noise = match privacy.noise {
            NoisePlan::Sound => SumNoise::calibrated(statistics, asked.epsilon(), asked.delta)
                .map_err(at(EPSILON))?,
            NoisePlan::Paper if !written.printed => {
                let message = "the paper's noise is for its own coefficients; add printed = true \
                               to [model], or take \"sound\"";
                return Err(PlanError::new("privacy.noise", message));
            }
            NoisePlan::Paper => {
                let paper = Paper { written, features: statistics.features(), asked: &asked };
                claim = Some(paper.claim().map_err(at(EPSILON))?);
                paper.noise().map_err(at(EPSILON))?
            }
            NoisePlan::Fixed { sigma } => fixed(written.method, sigma)?,
        };
        let event = noise.event(moved);
        let epsilon = match asked.epsilon.filter(|_| privacy.noise == NoisePlan::Sound) {
            Some(epsilon) => epsilon,
            None if noise == SumNoise::Exposed => Epsilon::INFINITE,
            None => {
                let price = Accountant::Best.epsilon_upper(&event, ADJACENCY, asked.delta);
                price.map_err(|e| PlanError::new("privacy", e.to_string()))?.epsilon
            }
        };
        let budget = Budget { epsilon, delta: asked.delta };
        Ok(Self { noise, event, budget, claim })
    }
}

const EPSILON: &str = "privacy.epsilon";

/// Of the method, that scale or standard deviation; zero is none.
fn fixed(method: Method, sigma: f64) -> Result<SumNoise, PlanError> {
    if sigma == 0.0 {
        return Ok(SumNoise::Exposed);
    }
    let scale = Scale::new(sigma).map_err(at("privacy.noise"))?;
    Ok(match method {
        Method::Adfc | Method::Rfm => SumNoise::Gaussian(scale),
        Method::Fm | Method::Pdfc | Method::Pflr => SumNoise::Laplace(scale),
    })
}

/// What paper 000 says. The budget that is asked for is that of all attributes but the special
/// one: `(epsilon_n, delta_n)`, and `delta_s = delta_n`.
struct Paper<'a> {
    written: &'a Written,
    features: usize,
    asked: &'a Asked,
}

impl Paper<'_> {
    /// Of attributes that are not special.
    fn noise(&self) -> Result<SumNoise, OutOfRange> {
        let (d, epsilon, delta) = (self.d(), self.asked.epsilon(), self.asked.delta);
        let laplace = |moved: f64| Scale::new(moved / epsilon.get()).map(SumNoise::Laplace);
        match self.written.method {
            Method::Fm => laplace(lemma_21(d)),
            Method::Pdfc | Method::Pflr => laplace(lemma_22(d)),
            Method::Rfm => tail_sigma(epsilon, delta, lemma_23(d)).map(SumNoise::Gaussian),
            Method::Adfc => adfc_claimed_sigma(epsilon, delta, d).map(SumNoise::Gaussian),
        }
    }

    /// Theorems 18 and 20 are about one special attribute; each of several gets the same share.
    fn claim(&self) -> Result<Claim, OutOfRange> {
        let Asked { delta, .. } = *self.asked;
        let epsilon = self.asked.epsilon();
        let mixed = |special: f64| {
            let share = self.written.special.len() as f64 / self.features as f64;
            Epsilon::new(share * special + (1.0 - share) * epsilon.get())
        };
        let none = Delta::new(0.0)?;
        Ok(match self.written.method {
            Method::Fm => Claim { source: "000 Lemma 21", epsilon, delta: none },
            Method::Pflr => Claim { source: "baseline of 000", epsilon, delta: none },
            Method::Rfm => Claim { source: "000 Algorithm 7", epsilon, delta },
            Method::Pdfc => {
                let epsilon = mixed(epsilon.get() / self.written.special_noise)?;
                Claim { source: "000 Theorem 18", epsilon, delta: none }
            }
            Method::Adfc => {
                let both = 2.0 * delta.get() - delta.get() * delta.get();
                let epsilon = mixed(self.special_epsilon()?)?;
                Claim { source: "000 Theorem 20", epsilon, delta: Delta::new(both)? }
            }
        })
    }

    /// What the tail formula calls the noise of the special attribute: its inverse.
    fn special_epsilon(&self) -> Result<f64, OutOfRange> {
        let (epsilon, delta) = (self.asked.epsilon(), self.asked.delta);
        let sigma = adfc_claimed_sigma(epsilon, delta, self.d())?.get();
        let sigma = self.written.special_noise * sigma;
        let u = (std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2).ln()
            - delta.get().ln();
        let t = adfc_claimed_sensitivity(self.d()) * std::f64::consts::FRAC_1_SQRT_2 / sigma;
        Ok(t * t + 2.0 * t * u.sqrt())
    }

    fn d(&self) -> u64 {
        self.features as u64
    }
}
