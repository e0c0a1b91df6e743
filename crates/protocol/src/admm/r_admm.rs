//! R-ADMM and MR-ADMM (paper 002): every second step recycles what is known.

use undertone_privacy::release::Released;
use undertone_real::Real;

use super::local::Local;
use crate::carried::Carried;

/// After every minimum a step that needs no data: `x - (g + 2 dual + eta sum_j (x_i - x_j)) /
/// (2 eta V + gamma)`, where the gradient `g` of the local objective (with its noise, if there is
/// any) follows from the minimum that was sent, as the whole gradient vanishes there.
///
/// # Guarantee
///
/// The step is a function of what was sent, so it costs nothing, also if the minimum is not exact.
/// As printed it would use a stored gradient, which is another thing unless the solver is exact
/// (CE-13).
///
/// # References
///
/// Paper 002, algorithms 1 to 3 and equation 19; theory 6.1 and 6.2.
#[derive(Clone, Debug, PartialEq)]
pub struct RAdmm<R> {
    gamma: f64,
    /// The linear and the quadratic term of the last question; then minus the gradient.
    terms: Option<(Released<Vec<R>>, f64)>,
    /// Whether the last question was answered.
    settled: bool,
}

impl<R: Real> RAdmm<R> {
    /// With what is added to the divisor of a step; at least zero.
    pub fn new(gamma: f64) -> Self {
        Self { gamma, terms: None, settled: false }
    }

    pub(super) fn carry(&mut self, carried: &mut Carried<'_>) {
        let (mut linear, mut quadratic) = self.terms.take().unzip();
        carried.maybe(&mut linear);
        carried.number(quadratic.get_or_insert(0.0));
        self.terms = linear.zip(quadratic);
        carried.flag(&mut self.settled);
    }

    pub(super) fn remember(&mut self, linear: &Released<Vec<R>>, quadratic: f64) {
        self.terms = Some((linear.clone(), quadratic));
        self.settled = false;
    }

    /// At the minimum `g = -(linear + quadratic x)`.
    pub(super) fn settle(&mut self, point: &Released<Vec<R>>) {
        let Some((linear, quadratic)) = &mut self.terms else { return };
        let quadratic = R::from_f64(*quadratic);
        linear.update(|linear| {
            linear.iter_mut().zip(point.get()).for_each(|(l, x)| *l += quadratic * *x);
        });
        self.settled = true;
    }

    /// Takes the step; not if there is no minimum to start from.
    pub(super) fn step(&mut self, local: &mut Local<R>, eta: f64) -> bool {
        let (Some((minus_gradient, quadratic)), true) = (self.terms.take(), self.settled) else {
            return false;
        };
        self.settled = false;
        let mut direction = minus_gradient;
        let (eta, two) = (R::from_f64(eta), R::from_f64(2.0));
        let share = R::from_f64(1.0 / (quadratic + self.gamma));
        direction.update(|direction| {
            for (v, dual) in direction.iter_mut().zip(local.dual.get()) {
                *v = two * *dual - *v;
            }
            for other in local.heard() {
                for ((v, own), other) in direction.iter_mut().zip(local.point.get()).zip(other) {
                    *v += eta * (*own - *other);
                }
            }
        });
        local.point.update(|point| {
            point.iter_mut().zip(direction.get()).for_each(|(x, v)| *x -= share * *v);
        });
        true
    }
}
