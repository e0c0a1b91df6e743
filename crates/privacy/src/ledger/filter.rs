//! Filters: rules that stop a run of adaptively chosen events before it exceeds its budget.

mod planned;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Budget, DebitError, OpenError};
use crate::accountant::{Accountant, Bound, gaussian_size, gdp, rdp, renyi};
use crate::event::{Event, flatten};
use crate::units::{Adjacency, Delta, Epsilon, Order};

use planned::{all_of, list, open_plan, unpack};

/// The rule by which a ledger accepts events, and with it the theorem that makes its budget true.
///
/// All but `Planned` accept events that are chosen while the run goes on, each with any parameters,
/// in view of everything released before. What they promise is the budget: a sum so far says
/// nothing about a run that may stop when it likes what it sees.
///
/// # Guarantee
///
/// Whatever is asked for and whenever the run stops, all accepted events together are
/// (epsilon, delta)-private for the budget's epsilon and delta, under the ledger's adjacency.
/// Interactive events (above-threshold) may be interleaved with others: filters for Gaussian and
/// Renyi privacy hold for concurrent composition (Haney and others 2023).
///
/// `reserve` is the part of delta kept for samplers that are not quite ideal
/// ([`Event::Imprecise`]). A run whose total-variation slacks sum to `tau` is coupled to an ideal
/// run except with probability `tau`, whatever was chosen on the way, so an ideal
/// (epsilon, delta - reserve) becomes (epsilon, delta - reserve + (1 + e^epsilon) tau); the filter
/// keeps `tau` at most `reserve / (1 + e^epsilon)`. The split is fixed at opening because trading
/// the two against each other during the run is not covered by the theorems. Zero if no imprecise
/// sampler is used; a millionth of delta is plenty for the exact samplers of this crate.
///
/// Every charge is rounded up to a multiple of 2^-96 of the budget and added as an integer, so the
/// total does not depend on the order of debits. A total may exceed the budget by a relative 2^-48,
/// so that noise calibrated to the last bit is not refused for a rounding of its last round; other
/// budgets than that of `Pure`, which is a plain sum, are rounded down by more than that.
///
/// # References
///
/// - Gaussian: Smith and Thakurta 2022, "Fully adaptive composition for Gaussian differential
///   privacy"; Koskela, Tobaben, Honkela 2022.
/// - Pure: Rogers, Roth, Ullman, Vadhan 2016, "Privacy odometers and filters" (basic composition).
/// - Renyi: Feldman and Zrnic 2021, "Individual privacy accounting via a Renyi filter";
///   Lecuyer 2021, "Practical privacy filters and odometers with Renyi differential privacy".
/// - RenyiAny: the supermartingale exp((a-1)(loss - sum r(a))) of the above, Ville's inequality and
///   a union bound over orders.
/// - Planned: Zhu, Dong, Wang 2022, theorem 10, by induction over what is left of the plan.
/// - Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang 2023, "Concurrent composition for interactive
///   differential privacy with adaptive privacy-loss parameters".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Filter {
    /// Gaussian events only: the squares of their mus may sum to the budget's mu squared.
    Gaussian {
        /// The part of delta kept for imprecise samplers.
        reserve: Delta,
    },
    /// The list of events is fixed in advance and priced as a whole by the best accountant.
    /// Debits come from the list, in any order; stopping early is post-processing.
    Planned {
        /// All events, as `Composed` and `Repeated`; a debit is one or several of its leaves.
        event: Event,
    },
    /// Events of pure privacy only: their epsilons may sum to the budget's. All of delta, which may
    /// be zero, is kept for imprecise samplers.
    Pure,
    /// Renyi divergences at one order, fixed in advance.
    Renyi {
        /// The order.
        order: Order,
        /// The part of delta kept for imprecise samplers.
        reserve: Delta,
    },
    /// Renyi divergences at several orders, of which the best may turn out later. Costs
    /// `ln(number of orders)` and the weaker conversion `r + ln(m / delta) / (a - 1)`.
    RenyiAny {
        /// The orders.
        orders: Vec<Order>,
        /// The part of delta kept for imprecise samplers.
        reserve: Delta,
    },
}

impl Filter {
    /// Why the budget holds.
    pub fn theorem(&self) -> &'static str {
        match self {
            Filter::Gaussian { .. } => {
                "Smith and Thakurta 2022, fully adaptive composition of Gaussian privacy (filter)"
            }
            Filter::Planned { .. } => {
                "Zhu, Dong, Wang 2022, adaptive composition of a list fixed in advance"
            }
            Filter::Pure => {
                "Rogers, Roth, Ullman, Vadhan 2016, basic composition with adaptive parameters"
            }
            Filter::Renyi { .. } => {
                "Feldman and Zrnic 2021; Lecuyer 2021, Renyi filter at one order, theory E2"
            }
            Filter::RenyiAny { .. } => {
                "Feldman and Zrnic 2021; Lecuyer 2021, Renyi filters at several orders, union bound"
            }
        }
    }
}

/// The whole budget in units of a charge.
const WHOLE: u128 = 1 << 96;
/// How far a sum may go; see [`Filter`].
const LIMIT: u128 = WHOLE + (WHOLE >> 48);

/// A filter at work: what is allowed and what is spent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Gate {
    Adaptive {
        meters: Vec<Meter>,
        slack: Meter,
    },
    /// What is planned, by its JSON, how much of that, and how much of it is left.
    Planned {
        plan: Arc<BTreeMap<String, (usize, u64)>>,
        left: Vec<u64>,
        price: Bound,
    },
}

/// One sum and its limit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meter {
    quantity: Quantity,
    budget: f64,
    spent: u128,
}

/// What a meter adds up.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    /// Squares of Gaussian mus.
    Gaussian,
    /// Epsilons of pure privacy.
    Pure,
    /// Renyi divergences.
    Renyi(Order),
    /// Total-variation distances.
    Slack,
}

/// What an event takes from a gate; a function of the event alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Charge {
    Shares {
        meters: Vec<u128>,
        slack: u128,
    },
    /// Places in the plan, and how many are taken from there.
    Planned(Vec<(usize, u64)>),
    /// The JSON of something that is not in the plan.
    Unplanned(String),
}

impl Meter {
    fn new(quantity: Quantity, budget: f64) -> Self {
        Self { quantity, budget, spent: 0 }
    }

    /// What `event` adds, as a share of the budget.
    fn price(&self, event: &Event, adjacency: Adjacency) -> Result<u128, DebitError> {
        let cost = match self.quantity {
            Quantity::Gaussian => match gaussian_size(event, adjacency) {
                Some(mu) => mu.get() * mu.get(),
                None => return Err(DebitError::NotGaussian { event: event.name(), adjacency }),
            },
            Quantity::Pure => pure_epsilon(event, adjacency)?,
            Quantity::Renyi(order) => renyi(event, adjacency, order)?,
            Quantity::Slack => flatten(event)?.slack,
        };
        Ok(self.share(cost))
    }

    /// Rounded up; anything above the whole budget counts as twice the budget.
    fn share(&self, cost: f64) -> u128 {
        if cost == 0.0 || self.budget == f64::INFINITY {
            return 0;
        }
        let share = cost / self.budget;
        if share.is_nan() || share > 1.0 + 1e-12 {
            return 2 * WHOLE;
        }
        (share.next_up() * WHOLE as f64) as u128 + 1
    }

    fn fits(&self, share: u128) -> bool {
        self.spent.saturating_add(share) <= LIMIT
    }
}

impl Gate {
    pub fn open(filter: &Filter, budget: &Budget, adjacency: Adjacency) -> Result<Self, OpenError> {
        let ideal = |reserve: &Delta| {
            let rest = budget.delta.get() - reserve.get();
            Delta::new(rest).map_err(|_| OpenError::Reserve { reserve: *reserve })
        };
        let (meters, reserve) = match filter {
            Filter::Planned { event } => return open_plan(event, budget, adjacency),
            Filter::Gaussian { reserve } => {
                let mu = gdp::mu(budget.epsilon, ideal(reserve)?).get();
                (vec![Meter::new(Quantity::Gaussian, mu * mu)], reserve)
            }
            Filter::Pure => {
                let rest = budget.epsilon.get() * (1.0 - 1e-15);
                (vec![Meter::new(Quantity::Pure, rest)], &budget.delta)
            }
            Filter::Renyi { order, reserve } => {
                let budget = renyi_budget(*order, budget.epsilon, ideal(reserve)?);
                (vec![Meter::new(Quantity::Renyi(*order), budget)], reserve)
            }
            Filter::RenyiAny { orders, reserve } => {
                let share = ideal(reserve)?.get() / orders.len() as f64;
                let meter = |order: &Order| {
                    let rest = budget.epsilon.get() + share.ln() / (order.get() - 1.0);
                    Meter::new(Quantity::Renyi(*order), rest.max(0.0) * (1.0 - 1e-12))
                };
                (orders.iter().map(meter).collect(), reserve)
            }
        };
        if !meters.iter().any(|meter| meter.budget > 0.0) {
            return Err(OpenError::Empty);
        }
        let tau = match budget.epsilon.get() {
            // Nothing is promised, so nothing has to be kept.
            f64::INFINITY => f64::INFINITY,
            epsilon => reserve.get() / (1.0 + epsilon.exp()) * (1.0 - 1e-12),
        };
        Ok(Gate::Adaptive { meters, slack: Meter::new(Quantity::Slack, tau) })
    }

    /// What `event` would take. Depends on the event and the opening, not on what was spent.
    pub fn price(&self, event: &Event, adjacency: Adjacency) -> Result<Charge, DebitError> {
        let Gate::Adaptive { meters, slack } = self else {
            return self.price_planned(event);
        };
        let price = |meter: &Meter| meter.price(event, adjacency);
        let meters = meters.iter().map(price).collect::<Result<_, DebitError>>()?;
        Ok(Charge::Shares { meters, slack: slack.price(event, adjacency)? })
    }

    fn price_planned(&self, event: &Event) -> Result<Charge, DebitError> {
        let Gate::Planned { plan, .. } = self else { unreachable!("asked of plans only") };
        let mut counts = BTreeMap::new();
        unpack(event, 1, &mut counts)?;
        let mut places = Vec::new();
        for (key, count) in counts {
            match plan.get(&key) {
                Some((place, _)) => places.push((*place, count)),
                None => return Ok(Charge::Unplanned(key)),
            }
        }
        Ok(Charge::Planned(places))
    }

    /// The same gate before anything was spent.
    pub fn fresh(&self) -> Self {
        match self {
            Gate::Adaptive { meters, slack } => {
                let unspent = |meter: &Meter| Meter { spent: 0, ..meter.clone() };
                Gate::Adaptive {
                    meters: meters.iter().map(unspent).collect(),
                    slack: unspent(slack),
                }
            }
            Gate::Planned { plan, price, .. } => {
                let left = all_of(plan);
                Gate::Planned { plan: Arc::clone(plan), left, price: *price }
            }
        }
    }

    /// Whether `charge` fits.
    #[inline]
    pub fn fits(&self, charge: &Charge) -> bool {
        match (self, charge) {
            (Gate::Adaptive { meters, slack }, Charge::Shares { meters: shares, slack: tau }) => {
                let any = meters.iter().zip(shares).any(|(meter, share)| meter.fits(*share));
                slack.fits(*tau) && any
            }
            (Gate::Planned { left, .. }, Charge::Planned(counts)) => {
                counts.iter().all(|(place, n)| left[*place] >= *n)
            }
            (Gate::Planned { .. }, Charge::Unplanned(_)) => false,
            _ => unreachable!("a gate makes charges of its own kind"),
        }
    }

    /// Why a charge does not fit.
    #[cold]
    pub fn refusal(&self, charge: &Charge, event: &Event, node: u32) -> DebitError {
        match (self, charge) {
            (Gate::Adaptive { slack, .. }, Charge::Shares { meters: shares, slack: tau }) => {
                if !slack.fits(*tau) {
                    return DebitError::Imprecise { node, event: event.name() };
                }
                let least = shares.iter().min().copied().unwrap_or(2 * WHOLE);
                let cost = if least > LIMIT { f64::INFINITY } else { share_of_whole(least) };
                let left = 1.0 - self.spent();
                DebitError::Exhausted { node, event: event.name(), cost, left }
            }
            (Gate::Planned { plan, left, .. }, Charge::Planned(counts)) => {
                let short = counts.iter().find(|(place, n)| left[*place] < *n);
                let key = plan.iter().find(|(_, (place, _))| short.is_some_and(|s| s.0 == *place));
                let event = key.map(|(key, _)| key.clone()).unwrap_or_default();
                DebitError::NotPlanned { node, event, left: list(plan, left) }
            }
            (Gate::Planned { plan, left, .. }, Charge::Unplanned(event)) => {
                let event = event.clone();
                DebitError::NotPlanned { node, event, left: list(plan, left) }
            }
            _ => unreachable!("a gate makes charges of its own kind"),
        }
    }

    /// Takes a charge that fits.
    #[inline]
    pub fn apply(&mut self, charge: &Charge) {
        match (self, charge) {
            (Gate::Adaptive { meters, slack }, Charge::Shares { meters: shares, slack: tau }) => {
                for (meter, share) in meters.iter_mut().zip(shares) {
                    meter.spent = meter.spent.saturating_add(*share);
                }
                slack.spent += tau;
            }
            (Gate::Planned { left, .. }, Charge::Planned(counts)) => {
                counts.iter().for_each(|(place, count)| left[*place] -= count);
            }
            _ => unreachable!("a gate makes charges of its own kind"),
        }
    }

    /// The share of the budget that is spent, between 0 and 1.
    pub fn spent(&self) -> f64 {
        match self {
            Gate::Adaptive { meters, .. } => {
                let least = meters.iter().filter(|m| m.budget > 0.0).map(|m| m.spent).min();
                share_of_whole(least.unwrap_or(WHOLE)).min(1.0)
            }
            Gate::Planned { plan, left, .. } => {
                let total: u128 = plan.values().map(|(_, n)| u128::from(*n)).sum();
                let rest: u128 = left.iter().map(|n| u128::from(*n)).sum();
                if total == 0 { 0.0 } else { (total - rest) as f64 / total as f64 }
            }
        }
    }
}

/// The sum of the epsilons of an event's parts; infinite if one has no pure privacy.
fn pure_epsilon(event: &Event, adjacency: Adjacency) -> Result<f64, DebitError> {
    let mut total = 0.0;
    for (part, times) in flatten(event)?.parts {
        let zero = Delta::new(0.0).expect("zero is a delta");
        // Exact for pure parts; at delta = 0 it finds nothing finite for others.
        let one = Accountant::Gdp.epsilon_upper(part, adjacency, zero)?;
        total += times as f64 * one.epsilon.get();
    }
    Ok(total)
}

/// The largest divergence at `order` that is worth at most `epsilon`: theory E2 solved for r.
fn renyi_budget(order: Order, epsilon: Epsilon, delta: Delta) -> f64 {
    let a = order.get();
    let rest = epsilon.get() - (-1.0 / a).ln_1p() + (delta.get().ln() + a.ln()) / (a - 1.0);
    let mut budget = rest.max(0.0) * (1.0 - 1e-12);
    while budget > 0.0 && rdp::to_epsilon(order, budget * (1.0 + 1e-13), delta) > epsilon {
        budget *= 1.0 - 1e-12;
    }
    budget
}

fn share_of_whole(share: u128) -> f64 {
    share as f64 / WHOLE as f64
}
