//! Golden values made with other tools; see `xtask/peers/golden.py` for how.

use serde::Deserialize;
use serde_json::Value;
use undertone_privacy::accountant::Accountant;
use undertone_privacy::event::{Event, Laplace, from_dp_event, to_dp_event};
use undertone_privacy::units::{Adjacency, Delta, Probability, Scale, Sensitivity};

#[derive(Deserialize)]
struct Golden {
    tool: String,
    version: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    kind: String,
    #[serde(default)]
    q: f64,
    #[serde(default)]
    sigma: f64,
    #[serde(default)]
    scale: f64,
    times: u64,
    delta: f64,
    pld_upper: Option<f64>,
    pld_lower: Option<f64>,
    rdp: Option<f64>,
}

fn golden() -> Golden {
    let golden: Golden = serde_json::from_str(include_str!("golden/dp_accounting.json")).unwrap();
    assert_eq!((golden.tool.as_str(), golden.version.as_str()), ("dp_accounting", "0.6.0"));
    assert!(golden.cases.len() >= 200);
    golden
}

impl Case {
    fn event(&self) -> (Event, Adjacency) {
        let unit = |adjacency| Sensitivity::under_only(adjacency, 1.0).unwrap();
        let scale = |value| Scale::new(value).unwrap();
        let q = Probability::new(self.q).unwrap();
        let one = Adjacency::AddRemove;
        let (round, adjacency) = match self.kind.as_str() {
            "poisson_gaussian" => {
                (Event::gaussian(unit(one), scale(self.sigma)).poisson_sampled(q), one)
            }
            "laplace" => {
                let noise = Laplace { sensitivity: unit(one), scale: scale(self.scale) };
                (Event::Laplace(noise), one)
            }
            "fixed_size_gaussian" => {
                let noise = Event::gaussian(unit(Adjacency::Replace), scale(self.sigma));
                (noise.fixed_size_sampled(q), Adjacency::Replace)
            }
            other => panic!("unknown kind {other}"),
        };
        (round.repeated(self.times), adjacency)
    }

    fn name(&self) -> String {
        let Case { kind, q, sigma, scale, times, delta, .. } = self;
        format!("{kind} q={q} sigma={sigma} scale={scale} T={times} delta={delta}")
    }
}

/// Their pessimistic value is an upper bound, so our lower end must not exceed it; their
/// optimistic value is a lower bound, so our upper end must not fall below it. And we are at
/// least as tight: our upper end exceeds theirs by at most a thousandth.
#[test]
fn pld_agrees_with_dp_accounting() {
    for case in golden().cases.iter().filter(|case| case.pld_upper.is_some()) {
        let (event, adjacency) = case.event();
        let delta = Delta::new(case.delta).unwrap();
        let bound = Accountant::Pld.epsilon(&event, adjacency, delta).unwrap();
        let (low, high) = (bound.epsilon_lower.unwrap().get(), bound.epsilon.get());
        let theirs = case.pld_upper.unwrap();
        assert!(low <= high, "{}: {low} > {high}", case.name());
        assert!(low <= theirs + 1e-9, "{}: our lower {low}, their upper {theirs}", case.name());
        let slack = 1e-3 * theirs + 1e-6;
        assert!(high <= theirs + slack, "{}: ours {high}, theirs {theirs}", case.name());
        if let Some(lower) = case.pld_lower {
            assert!(high >= lower - 1e-9, "{}: our upper {high}, their lower {lower}", case.name());
        }
    }
}

/// Same orders and more, same formula: ours is never larger. How much smaller it may be is known
/// from the certified lower end.
#[test]
fn rdp_agrees_with_dp_accounting() {
    for case in golden().cases.iter().filter(|case| case.rdp.is_some()) {
        let (event, adjacency) = case.event();
        let delta = Delta::new(case.delta).unwrap();
        let ours = Accountant::Rdp.epsilon(&event, adjacency, delta).unwrap().epsilon.get();
        let theirs = case.rdp.unwrap();
        assert!(ours <= theirs * (1.0 + 1e-9) + 1e-9, "{}: {ours} {theirs}", case.name());
        let pld = Accountant::Pld.epsilon(&event, adjacency, delta).unwrap();
        if let Some(lower) = pld.epsilon_lower {
            assert!(ours >= lower.get() * (1.0 - 1e-9), "{}: {ours} below {lower}", case.name());
        }
    }
}

/// `Best` is the least of all and never below what is certain.
#[test]
fn best_is_the_least_bound() {
    for case in golden().cases.iter().step_by(7) {
        let (event, adjacency) = case.event();
        let delta = Delta::new(case.delta).unwrap();
        let best = Accountant::Best.epsilon(&event, adjacency, delta).unwrap();
        for accountant in Accountant::ALL {
            if let Ok(bound) = accountant.epsilon(&event, adjacency, delta) {
                assert!(best.epsilon <= bound.epsilon, "{}: {accountant}", case.name());
            }
        }
    }
}

#[derive(Deserialize)]
struct Foreign {
    name: String,
    json: Value,
}

#[test]
fn dp_events_are_read_and_written_as_dp_accounting_does() {
    let golden: Vec<Foreign> = serde_json::from_str(include_str!("golden/dp_event.json")).unwrap();
    let mut known = 0;
    for foreign in &golden {
        let adjacency = Adjacency::AddRemove;
        let Ok(event) = from_dp_event(&foreign.json, adjacency) else {
            assert!(foreign.json.to_string().contains("ZCDpEvent"), "{} is refused", foreign.name);
            continue;
        };
        known += 1;
        let back = to_dp_event(&event, adjacency).unwrap();
        if foreign.json.to_string().contains("WithoutReplacement") {
            // Sizes are kept as a ratio, rounded up to a fraction of 2^32.
            let again = from_dp_event(&back, adjacency).unwrap();
            let (Event::FixedSizeSampled(a), Event::FixedSizeSampled(b)) = (again, event) else {
                panic!("{} has another shape", foreign.name)
            };
            assert_eq!(a.event, b.event);
            let (a, b) = (a.probability.get(), b.probability.get());
            assert!(a >= b && a < b + 2.4e-10, "{a} {b}");
        } else {
            assert_eq!(back, foreign.json, "{}", foreign.name);
        }
    }
    assert!(known >= 9, "{known}");
}

#[test]
fn broken_dp_events_say_what_is_wrong() {
    let read = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        from_dp_event(&value, Adjacency::AddRemove).unwrap_err().to_string()
    };
    assert_eq!(
        read(r#"{"class_name":"GaussianDpEvent"}"#),
        "GaussianDpEvent: field `noise_multiplier` is missing or not a number"
    );
    assert_eq!(
        read(r#"{"class_name":"GaussianDpEvent","noise_multiplier":-1}"#),
        "GaussianDpEvent: scale must be positive and finite, got -1"
    );
    assert_eq!(read("3"), "no event of ours for dp_accounting's value without class_name");
}

/// The JSON of every variant, byte for byte as it was first published (`events.md`). A change
/// here breaks ledgers that people have.
#[test]
fn our_events_keep_their_json() {
    let golden: Vec<Value> = serde_json::from_str(include_str!("golden/events.json")).unwrap();
    let mut names: Vec<String> = Vec::new();
    for value in &golden {
        let event: Event = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(&serde_json::to_value(&event).unwrap(), value);
        names.push(event.name());
    }
    names.sort();
    names.dedup();
    let documented = include_str!("../../../../docs/book/src/events.md");
    for name in &names {
        assert!(documented.contains(&format!("`{name}`")), "{name} is not in events.md");
    }
    assert_eq!(names.len(), 18, "{names:?}");
}

#[test]
fn events_with_unknown_or_missing_fields_are_refused() {
    for wrong in [
        r#"{"gaussian":{"sensitivity":{"add_remove":1.0}}}"#,
        r#"{"gaussian":{"sensitivity":{"add_remove":1.0},"sigma":1.0,"sigm":1.0}}"#,
        r#"{"gaussian":{"sensitivity":{},"sigma":1.0}}"#,
        r#"{"gaussian":{"sensitivity":{"add_remove":1.0},"sigma":0.0}}"#,
        r#"{"profile":{"adjacency":"replace","points":[[1.0,0.1],[0.5,0.2]]}}"#,
        r#"{"poisson_sampled":{"probability":1.5,"event":"no_op"}}"#,
        r#"{"unheard_of":{}}"#,
    ] {
        assert!(serde_json::from_str::<Event>(wrong).is_err(), "{wrong}");
    }
}
