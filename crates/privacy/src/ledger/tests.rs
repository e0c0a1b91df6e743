use proptest::prelude::*;

use super::*;
use crate::accountant::gdp;
use crate::event::{Imprecise, Pure};
use crate::testing::{cheap_event, event};
use crate::units::{Delta, Epsilon, Order, Probability, Scale, Sensitivity};

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap() }
}

fn header(filter: Filter) -> Header {
    Header {
        node: 7,
        budget: budget(1.0, 1e-5),
        adjacency: Adjacency::AddRemove,
        unit: Unit::Record,
        filter,
    }
}

fn no_reserve() -> Delta {
    Delta::new(0.0).unwrap()
}

fn gaussian_filter() -> Filter {
    Filter::Gaussian { reserve: no_reserve() }
}

fn renyi_filter() -> Filter {
    Filter::Renyi { order: Order::new(16.0).unwrap(), reserve: Delta::new(1e-8).unwrap() }
}

fn any_filter() -> Filter {
    let orders = [4.0, 16.0, 64.0].map(|a| Order::new(a).unwrap()).to_vec();
    Filter::RenyiAny { orders, reserve: Delta::new(1e-8).unwrap() }
}

fn gaussian(sigma: f64) -> Event {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
    Event::gaussian(one, Scale::new(sigma).unwrap())
}

fn imprecise(tau: f64) -> Event {
    let total_variation = Probability::new(tau).unwrap();
    Event::Imprecise(Imprecise { total_variation, event: Box::new(gaussian(20.0)) })
}

#[test]
fn a_chain_made_afterwards_is_the_one_that_was_stored() {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
    let event = Event::gaussian(one, Scale::new(20.0).unwrap());
    let other = Event::gaussian(one, Scale::new(30.0).unwrap());
    let header = header(gaussian_filter());
    let mut kept = Ledger::open(header.clone(), Vec::new()).unwrap();
    let mut counted = Ledger::open(header.clone(), Tally::default()).unwrap();
    for event in [&event, &event, &other, &event] {
        let _ = kept.debit(event.clone()).unwrap();
        let _ = counted.debit(event.clone()).unwrap();
    }
    assert_eq!(crate::ledger::chain(&header, &counted.store().debited()), kept.entries());
    let again = kept.entries().to_vec().debited();
    assert_eq!(crate::ledger::chain(&header, &again), kept.entries());
}

#[test]
fn gaussian_filter_stops_where_exact_accounting_does() {
    let mu = gdp::mu(Epsilon::new(1.0).unwrap(), Delta::new(1e-5).unwrap()).get();
    for rounds in [1_u64, 3, 30, 1000] {
        let mut ledger = Ledger::open(header(gaussian_filter()), vec![]).unwrap();
        let event = gaussian((rounds as f64).sqrt() / mu);
        for serial in 0..rounds {
            assert_eq!(ledger.debit(event.clone()).unwrap().serial(), serial);
        }
        assert!(ledger.would_exceed(&event));
        let error = ledger.debit(gaussian(1e6)).unwrap_err();
        assert!(matches!(error, DebitError::Exhausted { node: 7, .. }), "{error}");
        assert_eq!(ledger.len(), rounds);
        assert_eq!(ledger.spent(), 1.0);
    }
}

#[test]
fn gaussian_filter_refuses_other_events_and_says_what_to_do() {
    let mut ledger = Ledger::open(header(gaussian_filter()), vec![]).unwrap();
    let sampled = gaussian(10.0).poisson_sampled(Probability::new(0.1).unwrap());
    let error = ledger.debit(sampled).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a gaussian filter takes only gaussian events with a sensitivity under the add-remove \
         adjacency, not a poisson_sampled event; open the ledger with a renyi or planned filter"
    );
    assert!(ledger.is_empty());
}

#[test]
fn renyi_filter_never_exceeds_the_conversion_of_its_order() {
    let mut ledger = Ledger::open(header(renyi_filter()), vec![]).unwrap();
    let event = gaussian(20.0).poisson_sampled(Probability::new(0.5).unwrap());
    while ledger.debit(event.clone()).is_ok() {}
    assert!(ledger.len() > 3);
    let price = ledger.price_if_fixed_in_advance().unwrap();
    assert!(price.epsilon.get() <= 1.0, "{price:?}");
    assert!(price.epsilon.get() > 0.5, "the filter wastes most of the budget: {price:?}");
    let guarantee = ledger.guarantee();
    assert_eq!(guarantee.epsilon.get(), 1.0);
    assert_eq!(guarantee.accountant, Accountant::Rdp);
}

#[test]
fn several_orders_cost_a_little_more_than_the_best_one() {
    let count = |filter| {
        let mut ledger = Ledger::open(header(filter), vec![]).unwrap();
        while ledger.debit(gaussian(30.0)).is_ok() {}
        ledger.len()
    };
    let (several, one) = (count(any_filter()), count(renyi_filter()));
    assert!(0 < several && several <= one, "{several} {one}");
}

#[test]
fn pure_budgets_need_no_delta() {
    let pure = |epsilon: f64| {
        let epsilon = Epsilon::new(epsilon).unwrap();
        Event::Pure(Pure { epsilon, adjacency: Adjacency::AddRemove })
    };
    let mut header = header(Filter::Pure);
    header.budget = budget(1.0, 0.0);
    let mut ledger = Ledger::open(header, vec![]).unwrap();
    for _ in 0..10 {
        let _ = ledger.debit(pure(0.1)).unwrap();
    }
    assert!(matches!(ledger.debit(pure(1e-9)), Err(DebitError::Exhausted { .. })));
    assert!(matches!(ledger.debit(gaussian(1e9)), Err(DebitError::Exhausted { .. })));
    let _ = ledger.debit(Event::NoOp).unwrap();
    assert!(ledger.guarantee().theorem.starts_with("Rogers, Roth, Ullman, Vadhan 2016"));
}

#[test]
fn slack_is_charged_to_the_reserve() {
    let limit = 1e-8 / (1.0 + 1f64.exp());
    let mut ledger = Ledger::open(header(renyi_filter()), vec![]).unwrap();
    let _ = ledger.debit(imprecise(0.6 * limit)).unwrap();
    let error = ledger.debit(imprecise(0.6 * limit)).unwrap_err();
    assert!(matches!(error, DebitError::Imprecise { .. }), "{error}");
    let _ = ledger.debit(imprecise(0.3 * limit)).unwrap();
    let mut without = Ledger::open(header(gaussian_filter()), vec![]).unwrap();
    assert!(without.debit(imprecise(1e-30)).is_err());
    let _ = without.debit(imprecise(0.0)).unwrap();
    let too_much = Filter::Gaussian { reserve: Delta::new(0.1).unwrap() };
    assert!(matches!(Ledger::open(header(too_much), ()), Err(OpenError::Reserve { .. })));
}

#[test]
fn a_plan_allows_what_it_lists_and_nothing_else() {
    let (a, b) = (gaussian(20.0), gaussian(30.0).poisson_sampled(Probability::new(0.1).unwrap()));
    let plan = Event::Composed(vec![a.clone().repeated(2), b.clone()]);
    let mut ledger = Ledger::open(header(Filter::Planned { event: plan }), vec![]).unwrap();
    let _ = ledger.debit(b.clone()).unwrap();
    let error = ledger.debit(b.clone()).unwrap_err();
    assert!(error.to_string().contains("it has 2 times {\"gaussian\""), "{error}");
    assert!(ledger.debit(a.clone().repeated(3)).is_err());
    let _ = ledger.debit(a.clone().repeated(2)).unwrap();
    assert!(ledger.debit(a).unwrap_err().to_string().ends_with("it has nothing"));
    assert_eq!((ledger.len(), ledger.spent()), (2, 1.0));
    let (whole, entries) = (ledger.guarantee(), ledger.price_if_fixed_in_advance().unwrap());
    assert!((whole.epsilon.get() / entries.epsilon.get() - 1.0).abs() < 1e-2);
    assert!(whole.epsilon.get() <= 1.0);
}

#[test]
fn a_plan_that_is_too_dear_is_refused_with_what_fits() {
    let run = gaussian(10.0).repeated(100);
    let error = Ledger::open(header(Filter::Planned { event: run }), ()).unwrap_err();
    let OpenError::PlanTooDear { remedy, .. } = &error else { panic!("{error}") };
    assert_eq!(remedy, "7 repetitions fit, not 100");
    let fits = gaussian(10.0).repeated(7);
    assert!(Ledger::open(header(Filter::Planned { event: fits }), ()).is_ok());
}

#[test]
fn an_infinite_budget_takes_everything_and_survives_json() {
    let mut header = header(renyi_filter());
    header.budget.epsilon = Epsilon::INFINITE;
    let mut ledger = Ledger::open(header.clone(), vec![]).unwrap();
    let _ = ledger.debit(Event::NonPrivate).unwrap();
    let json = serde_json::to_string(&header).unwrap();
    assert!(json.contains("\"epsilon\":\"infinite\""), "{json}");
    assert_eq!(serde_json::from_str::<Header>(&json).unwrap(), header);
    assert!(serde_json::to_string(&ledger.guarantee()).unwrap().contains("infinite"));
}

#[test]
fn budgets_that_allow_nothing_are_refused() {
    let low = Filter::Renyi { order: Order::new(1.5).unwrap(), reserve: no_reserve() };
    assert_eq!(Ledger::open(header(low), ()).unwrap_err(), OpenError::Empty);
    let none = Filter::RenyiAny { orders: vec![], reserve: no_reserve() };
    assert_eq!(Ledger::open(header(none), ()).unwrap_err(), OpenError::Empty);
    let mut far = header(gaussian_filter());
    far.node = 1 << 24;
    assert_eq!(Ledger::open(far, ()).unwrap_err(), OpenError::Node(1 << 24));
}

struct Failing;

impl Store for Failing {
    fn append(&mut self, _: &Debit<'_>) -> Result<Hash, StoreError> {
        Err(StoreError("disk full".into()))
    }
}

#[test]
fn a_store_that_fails_changes_nothing() {
    let mut ledger = Ledger::open(header(gaussian_filter()), Failing).unwrap();
    let before = format!("{:?} {:?} {:?}", ledger.gate, ledger.head, ledger.last);
    let error = ledger.debit(gaussian(10.0)).unwrap_err();
    assert_eq!(error.to_string(), "the ledger's store did not take the entry: disk full");
    assert_eq!(before, format!("{:?} {:?} {:?}", ledger.gate, ledger.head, ledger.last));
    assert!(ledger.is_empty());
}

/// A ledger of three entries.
fn sample() -> Ledger {
    let mut ledger = Ledger::open(header(gaussian_filter()), vec![]).unwrap();
    for sigma in [10.0, 11.0, 12.0] {
        let _ = ledger.debit(gaussian(sigma)).unwrap();
    }
    ledger
}

#[test]
fn replay_names_the_entry_that_is_wrong() {
    let replay = |change: &dyn Fn(&mut Vec<Entry>)| {
        let mut entries = sample().entries().to_vec();
        change(&mut entries);
        Ledger::replay(header(gaussian_filter()), entries).unwrap_err()
    };
    let tampered = replay(&|entries| entries[1].event = gaussian(100.0));
    assert_eq!(tampered, ReplayError::Tampered { serial: 1 });
    let swapped = replay(&|entries| entries.swap(1, 2));
    assert_eq!(swapped, ReplayError::Order { expected: 1, found: 2 });
    let missing = replay(&|entries| drop(entries.remove(0)));
    assert_eq!(missing, ReplayError::Order { expected: 0, found: 1 });
    let resealed = replay(&|entries| {
        entries[1] = link(7, 1, gaussian(100.0), entries[1].previous);
    });
    assert_eq!(resealed, ReplayError::Broken { serial: 2 });
    let overspent = replay(&|entries| {
        let last = entries.last().unwrap().hash;
        entries.push(link(7, 3, gaussian(1.0), last));
    });
    assert!(matches!(overspent, ReplayError::Overspent { serial: 3, .. }), "{overspent}");
    let mut other = header(gaussian_filter());
    other.budget = budget(2.0, 1e-5);
    let error = Ledger::replay(other, sample().entries().to_vec()).unwrap_err();
    assert_eq!(error, ReplayError::Broken { serial: 0 });
}

#[test]
fn hashes_are_stable() {
    let ledger = sample();
    let json = serde_json::to_string(&ledger.entries()[0]).unwrap();
    assert!(json.starts_with("{\"serial\":0,\"event\":{\"gaussian\":"), "{json}");
    assert_eq!(serde_json::from_str::<Entry>(&json).unwrap(), ledger.entries()[0]);
    assert_eq!(
        ledger.head().to_string(),
        "4f36db60ab3465961232789f320372531f2fb8d55f55e2c8c18ba6ba96f64f9e"
    );
    assert!(serde_json::from_str::<Hash>("\"00\"").is_err());
}

#[test]
fn a_printed_guarantee_is_complete() {
    let text = sample().guarantee().to_string();
    for part in [
        "node 7",
        "(1, 0.00001)",
        "one record",
        "add-remove",
        "every message",
        "budget (1, 0.00001)",
        "3 debits",
        "gdp accountant",
        "Smith and Thakurta 2022",
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

fn filters() -> impl Strategy<Value = Filter> {
    prop_oneof![Just(renyi_filter()), Just(any_filter())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn events_survive_json(event in event()) {
        let json = serde_json::to_string(&event).unwrap();
        prop_assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
    }

    #[test]
    fn entries_survive_json_and_stay_sealed(event in event(), serial in any::<u32>()) {
        let genesis = Hash::genesis(&header(gaussian_filter()));
        let entry = link(7, serial.into(), event, genesis);
        let json = serde_json::to_string(&entry).unwrap();
        let back: Entry = serde_json::from_str(&json).unwrap();
        prop_assert!(back.is_sealed(7) && !back.is_sealed(8));
        prop_assert_eq!(back, entry);
    }

    /// Invariant I2: as many entries as receipts; a refused debit leaves no trace; and what is
    /// spent only grows.
    #[test]
    fn failed_debits_change_nothing(
        filter in filters(), events in proptest::collection::vec(cheap_event(), 1..40),
    ) {
        let mut ledger = Ledger::open(header(filter.clone()), vec![]).unwrap();
        let mut receipts = 0;
        for event in events {
            let (before, spent) = (format!("{ledger:?}"), ledger.spent());
            let refused = ledger.would_exceed(&event);
            match ledger.debit(event) {
                Ok(receipt) => {
                    prop_assert!(!refused);
                    prop_assert_eq!(receipt.serial(), receipts);
                    receipts += 1;
                }
                Err(_) => {
                    prop_assert!(refused);
                    prop_assert_eq!(before, format!("{ledger:?}"));
                }
            }
            prop_assert!(ledger.spent() >= spent);
        }
        prop_assert_eq!(ledger.len(), receipts);
        prop_assert_eq!(ledger.entries().len() as u64, receipts);
        let replayed = Ledger::replay(header(filter), ledger.entries().to_vec()).unwrap();
        prop_assert_eq!(replayed, ledger);
    }

    /// What was accepted, one way or another, is worth at most the budget.
    #[test]
    fn accepted_runs_are_within_the_budget(
        filter in prop_oneof![filters(), Just(gaussian_filter()), Just(Filter::Pure)],
        events in proptest::collection::vec(cheap_event(), 1..60),
    ) {
        let accountant = match filter {
            Filter::Gaussian { .. } | Filter::Pure => Accountant::Gdp,
            _ => Accountant::Rdp,
        };
        let mut ledger = Ledger::open(header(filter), vec![]).unwrap();
        let accepted = events.into_iter().filter(|e| ledger.debit(e.clone()).is_ok()).collect();
        let (delta, run) = (ledger.header().budget.delta, Event::Composed(accepted));
        let price = accountant.epsilon(&run, Adjacency::AddRemove, delta).unwrap();
        prop_assert!(price.epsilon.get() <= 1.0 + 1e-14, "{price:?}");
    }

    #[test]
    fn the_order_of_debits_does_not_matter(
        filter in filters(),
        events in proptest::collection::vec(cheap_event(), 1..20).prop_shuffle(),
        seed in any::<u64>(),
    ) {
        let mut shuffled = events.clone();
        let n = shuffled.len();
        for i in (1..n).rev() {
            shuffled.swap(i, (seed >> (i % 32)) as usize % (i + 1));
        }
        let mut header = header(filter);
        header.budget = budget(1000.0, 1e-5);
        let run = |events: Vec<Event>| {
            let mut ledger = Ledger::open(header.clone(), vec![]).unwrap();
            for event in events {
                let _ = ledger.debit(event).unwrap();
            }
            ledger.gate
        };
        prop_assert_eq!(run(events), run(shuffled));
    }

    /// Invariant I3: whether a debit goes through is a function of events, which are public; two
    /// nodes with different data and the same events get the same answers.
    #[test]
    fn a_debit_depends_only_on_public_values(
        events in proptest::collection::vec(cheap_event(), 1..20),
    ) {
        let run = || {
            let mut ledger = Ledger::open(header(renyi_filter()), vec![]).unwrap();
            let ok: Vec<bool> = events.iter().map(|e| ledger.debit(e.clone()).is_ok()).collect();
            (ok, ledger.head())
        };
        prop_assert_eq!(run(), run());
    }
}

fn link(node: u32, serial: u64, event: Event, previous: Hash) -> Entry {
    Debit { node, serial, event: &event.into(), previous }.seal()
}

#[test]
fn ledgers_alike_share_their_terms_and_nothing_else() {
    let plan = Filter::Planned { event: gaussian(10.0).repeated(3) };
    let mut first = Ledger::open(header(plan), vec![]).unwrap();
    let _ = first.debit(gaussian(10.0)).unwrap();
    let mut second = first.open_alike(8, Tally::default()).unwrap();
    let event = Arc::new(gaussian(10.0));
    for serial in 0..3 {
        let receipt = second.debit(Arc::clone(&event)).unwrap();
        assert_eq!((receipt.node(), receipt.serial()), (8, serial));
    }
    let refused = second.debit(Arc::clone(&event));
    assert!(matches!(refused, Err(DebitError::NotPlanned { node: 8, .. })), "{refused:?}");
    assert_eq!(second.store().debited(), [(event, 3)]);
    assert_eq!((first.len(), second.len(), second.spent()), (1, 3, 1.0));
    assert_eq!(first.guarantee().epsilon, second.guarantee().epsilon);
    assert!(matches!(first.open_alike(1 << 24, Tally::default()), Err(OpenError::Node(_))));
}

#[test]
fn what_is_not_planned_is_named() {
    let plan = Filter::Planned { event: gaussian(10.0) };
    let mut ledger = Ledger::open(header(plan), vec![]).unwrap();
    let refused = ledger.debit(gaussian(11.0)).unwrap_err().to_string();
    assert!(refused.contains("11") && refused.contains("1 times"), "{refused}");
}
