//! What has been spent on the way, for whoever watches a run.

use super::filter::Gate;
use super::{Filter, Ledger};
use crate::accountant::{Accountant, gdp};
use crate::event::Event;
use crate::units::{Epsilon, Mu};

/// The accountants that take no time; their least bound is taken.
const CHEAP: [Accountant; 3] = [Accountant::Gdp, Accountant::Rdp, Accountant::Zcdp];

impl<S> Ledger<S> {
    /// A bound on what all releases so far cost, at the budget's delta. It is made for pictures of
    /// a run that goes on: cheap accountants only, and never more than [`Ledger::guarantee`].
    ///
    /// # Guarantee
    ///
    /// An upper bound at a moment that was fixed in advance (as "after 100 rounds"), for debits
    /// whose order was. Comparisons that stop when they like (above-threshold) leave it to the data
    /// what is debited when, so a plan that has them costs all of its price from the first debit
    /// on; so does every filter but the Gaussian, the pure and the planned.
    pub fn so_far(&self) -> Epsilon {
        let whole = self.guarantee().epsilon;
        if self.is_empty() {
            return Epsilon::ZERO;
        }
        let spent = match &self.gate {
            Gate::Planned { plan, left, .. } => {
                let taken = plan.iter().filter(|(_, (place, n))| left[*place] < *n);
                let events: Vec<Event> = taken
                    .map(|(key, (place, n))| {
                        let event: Event =
                            serde_json::from_str(key).expect("a plan's keys are events in JSON");
                        event.repeated(n - left[*place])
                    })
                    .collect();
                let interactive = plan.keys().any(|key| key.contains("above_threshold"));
                (!interactive && left.iter().any(|left| *left > 0))
                    .then(|| self.cheapest(Event::Composed(events)))
                    .flatten()
            }
            Gate::Adaptive { .. } => self.filtered(),
        };
        spent.map_or(whole, |spent| if spent < whole { spent } else { whole })
    }

    /// Whether another ledger is on the same terms, and has spent the same.
    pub fn is_level_with<T>(&self, other: &Ledger<T>) -> bool {
        (self.header.budget, self.header.adjacency, self.header.unit)
            == (other.header.budget, other.header.adjacency, other.header.unit)
            && self.gate == other.gate
    }

    fn cheapest(&self, events: Event) -> Option<Epsilon> {
        let (adjacency, delta) = (self.header.adjacency, self.header.budget.delta);
        let prices = CHEAP.iter().filter_map(|accountant| {
            accountant.epsilon_upper(&events, adjacency, delta).ok().map(|bound| bound.epsilon)
        });
        prices.min_by(|a, b| a.get().total_cmp(&b.get()))
    }

    /// The meters of filters whose sum so far has a price.
    fn filtered(&self) -> Option<Epsilon> {
        let (share, budget) = (self.spent(), self.header.budget);
        let above = |value: f64| value * (1.0 + 1e-12);
        match self.header.filter {
            Filter::Gaussian { reserve } if reserve.get() == 0.0 => {
                let mu = gdp::mu(budget.epsilon, budget.delta).get();
                // Shares are of the square of this very number, each rounded up.
                let spent = Mu::new(above(mu * share.sqrt())).ok()?;
                Some(gdp::epsilon(budget.delta, spent))
            }
            Filter::Pure if budget.delta.get() == 0.0 => {
                Epsilon::new(above(share * budget.epsilon.get())).ok()
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Budget, Header};
    use crate::units::{Adjacency, Delta, Probability, Scale, Sensitivity, Unit};

    fn ledger(epsilon: f64, delta: f64, filter: Filter) -> Ledger {
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        let budget = Budget { epsilon, delta };
        let (adjacency, unit) = (Adjacency::AddRemove, Unit::Record);
        Ledger::open(Header { node: 0, budget, adjacency, unit, filter }, Vec::new()).unwrap()
    }

    fn gaussian(sigma: f64) -> Event {
        let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
        Event::gaussian(one, Scale::new(sigma).unwrap())
    }

    #[test]
    fn a_gaussian_filter_has_spent_what_exact_accounting_says() {
        let zero = Delta::new(0.0).unwrap();
        let mut ledger = ledger(1.0, 1e-5, Filter::Gaussian { reserve: zero });
        assert_eq!(ledger.so_far(), Epsilon::ZERO);
        for debits in 1..=2 {
            let _receipt = ledger.debit(gaussian(6.0)).unwrap();
            let mu = Mu::new(f64::from(debits).sqrt() / 6.0).unwrap();
            let exact = gdp::epsilon(Delta::new(1e-5).unwrap(), mu).get();
            let so_far = ledger.so_far().get();
            assert!(so_far >= exact && so_far < exact * (1.0 + 1e-9), "{so_far} {exact}");
        }
    }

    #[test]
    fn a_plan_costs_more_with_every_debit_and_no_less_than_is_certain() {
        let event = gaussian(1.2).poisson_sampled(Probability::new(0.05).unwrap());
        let filter = Filter::Planned { event: event.clone().repeated(40) };
        let mut ledger = ledger(8.0, 1e-5, filter);
        let whole = ledger.guarantee().epsilon;
        let (mut before, delta) = (Epsilon::ZERO, Delta::new(1e-5).unwrap());
        for debits in 1..=40 {
            let _receipt = ledger.debit(event.clone()).unwrap();
            let so_far = ledger.so_far();
            assert!(so_far >= before && so_far <= whole, "{debits}");
            if debits % 13 == 0 {
                let run = event.clone().repeated(debits);
                let price = Accountant::Pld.epsilon(&run, Adjacency::AddRemove, delta).unwrap();
                assert!(so_far >= price.epsilon_lower.unwrap(), "{debits}");
            }
            before = so_far;
        }
        assert_eq!(before, whole);
    }

    #[test]
    fn what_the_data_may_stop_costs_all_of_its_price_at_once() {
        use crate::event::AboveThreshold;
        let test = Event::AboveThreshold(AboveThreshold {
            sensitivity: Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap(),
            threshold_scale: Scale::new(8.0).unwrap(),
            query_scale: Scale::new(16.0).unwrap(),
            cutoff: 1,
        });
        let event = Event::Composed(vec![test.clone(), gaussian(10.0), gaussian(10.0)]);
        let mut ledger = ledger(8.0, 1e-5, Filter::Planned { event });
        let _receipt = ledger.debit(test).unwrap();
        assert_eq!(ledger.so_far(), ledger.guarantee().epsilon);
    }
}
