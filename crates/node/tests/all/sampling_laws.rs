//! The sampling law of a run is in the event that it debits, and in no other.

use std::sync::Arc;

use serde_json::{Value, json};
use undertone_model::dataset::{Features, Targets};
use undertone_model::{Dataset, Linear, Loss};
use undertone_node::plan::Plan;
use undertone_node::{Experiment, Noise, Oracle, Private, PrivateGradients};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
use undertone_privacy::noise::Key;
use undertone_privacy::release::Released;
use undertone_privacy::sampler::{FixedSizeSampler, PoissonSampler, Sampler};
use undertone_privacy::units::{Adjacency, ClipNorm, Delta, Epsilon, Probability, Scale, Unit};
use undertone_protocol::{Answer, Question};

/// The events that the ledger of node 0 takes, as plain data.
fn planned(algorithm: &Value, network: Value) -> Value {
    let mut plan = json!({
        "name": "test", "seed": 1, "network": network,
        "data": {"source": "census", "records": 400},
        "model": {"kind": "logistic"},
        "algorithm": algorithm,
        "privacy": {"delta": 1e-5, "clip": 1.0, "noise": {"sigma": 0.5}},
        "run": {"rounds": 12, "precision": "f64"},
        "evaluate": {"metrics": ["loss"]},
    });
    plan["network"]["nodes"] = json!(4);
    let plan: Plan = serde_json::from_value(plan).unwrap();
    let experiment = Experiment::new(&plan, None).unwrap();
    let learner = experiment.learners::<f64>(1).unwrap().remove(0);
    let Filter::Planned { event } = &learner.oracle.ledger().header().filter else {
        panic!("learners plan")
    };
    serde_json::to_value(event).unwrap()
}

fn ring(weights: bool) -> Value {
    let ring = json!({"schedule": "fixed", "topology": {"family": "ring"}});
    let with = json!({"schedule": "fixed", "topology": {"family": "ring"},
                      "weights": "metropolis"});
    if weights { with } else { ring }
}

#[test]
fn the_law_of_a_run_is_in_its_event() {
    let merged = |one: Value, other: &Value| {
        let mut all = one;
        let more = other.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(more);
        all
    };
    let poisson = json!({"step": 0.1, "sampling": "poisson", "batch": 25});
    let fixed = json!({"step": 0.1, "sampling": "fixed-size", "batch": 25});
    let lattice = json!({"bits": 8, "lattice": 0.01});
    for (name, more, network) in [
        ("q-dpsgd-1", lattice.clone(), ring(true)),
        ("dp2-sgd", json!({}), ring(true)),
        ("adp2-sgd", json!({}), ring(false)),
        ("surplus-gradient", json!({"sparsity": 0.5, "gamma": 0.1}), ring(false)),
    ] {
        let algorithm = merged(json!({"name": name}), &more);
        let event = planned(&merged(algorithm.clone(), &poisson), network.clone());
        let sampled = &event["repeated"]["event"]["poisson_sampled"];
        assert_eq!(
            (&sampled["probability"], &event["repeated"]["times"]),
            (&json!(0.25), &json!(12))
        );
        // The noise of the mean, times the divisor.
        assert_eq!(sampled["event"]["gaussian"]["sigma"], json!(12.5), "{name}");
        // One of them will do: to price a fixed size takes seconds.
        if name == "q-dpsgd-1" {
            let event = planned(&merged(algorithm, &fixed), network);
            let sampled = &event["repeated"]["event"]["fixed_size_sampled"];
            assert_eq!(sampled["probability"], json!(0.25), "{name}: {event}");
        }
    }
    let masked = merged(json!({"name": "sdm", "transmit": 0.5}), &poisson);
    let event = planned(&masked, ring(true));
    let mask = &event["repeated"]["event"]["sdm_mask"];
    assert_eq!(mask["transmit"], json!(0.5));
    assert_eq!(mask["event"]["poisson_sampled"]["probability"], json!(0.25));
    let points = merged(merged(json!({"name": "q-dpsgd-2"}), &poisson), &lattice);
    let event = planned(&points, ring(true));
    let sampled = &event["repeated"]["event"]["poisson_sampled"];
    let noise = &sampled["event"]["imprecise"]["event"]["discrete_gaussian"];
    // Of the point, which a record moves by pace step / 25.
    assert_eq!((&noise["sigma"], &noise["step"]), (&json!(0.5), &json!(0.01)));
    assert!((noise["sensitivity"]["add_remove"].as_f64().unwrap() - 0.1 / 25.0).abs() < 1e-15);
    let steps = json!({"name": "two-stage", "steps": 3, "step": {"first": 2.0, "power": 1.0}});
    let event = planned(&steps, ring(true));
    // Twice the clip norm times 2/(100 t).
    let part = |t: usize| &event["composed"][t]["repeated"]["event"]["gaussian"]["sensitivity"];
    let moved = |t: usize| part(t)["replace"].as_f64();
    assert_eq!((moved(0), moved(1)), (Some(0.04), Some(0.02)));
}

fn data() -> Dataset<f64> {
    let values = (0..80).map(|k| f64::from(k % 7) / 7.0).collect();
    let signs = (0..40).map(|k| if k % 3 == 0 { -1.0 } else { 1.0 }).collect();
    Dataset::new(Features::Dense { width: 2, values }, Targets::Sign(signs)).unwrap()
}

fn laws() -> [Sampler; 3] {
    let probability = |q| Probability::new(q).unwrap();
    [
        Sampler::Poisson(PoissonSampler { probability: probability(0.25) }),
        Sampler::Poisson(PoissonSampler { probability: probability(0.5) }),
        Sampler::FixedSize(FixedSizeSampler::new(10, 40).unwrap()),
    ]
}

fn gradients(sampler: Sampler) -> PrivateGradients<f64> {
    let (clip, noise) = (ClipNorm::new(1.0).unwrap(), Noise::Gaussian(Scale::new(9.0).unwrap()));
    PrivateGradients::new(
        Arc::new(Linear::new(2, false, Loss::Logistic)),
        data(),
        sampler,
        clip,
        noise,
    )
}

fn points(sampler: Sampler) -> Private<f64> {
    let (clip, noise) = (ClipNorm::new(1.0).unwrap(), Noise::Gaussian(Scale::new(9.0).unwrap()));
    let objective = Arc::new(Linear::new(2, false, Loss::Logistic));
    let lattice = Scale::new(0.01).unwrap();
    Private::points(objective, data(), vec![Some(sampler)], clip, noise, lattice)
}

/// A ledger that was planned for an event; pricing it takes longest.
fn ledger(event: Event) -> Ledger {
    let budget = Budget { epsilon: Epsilon::INFINITE, delta: Delta::new(1e-5).unwrap() };
    let (adjacency, unit) = (Adjacency::Replace, Unit::Record);
    let filter = Filter::Planned { event: event.repeated(5) };
    Ledger::open(Header { node: 0, budget, adjacency, unit, filter }, Vec::new()).unwrap()
}

/// What an oracle that draws by one law answers with such a ledger, and what it debits.
fn answer(private: Private<f64>, ledger: &Ledger, asked: Question<f64>) -> (bool, u64) {
    let own = ledger.open_alike(0, Vec::new()).unwrap();
    let mut oracle = Oracle::new(private, own, Key::from_seed(1));
    let answer = oracle.answer(asked).unwrap();
    (answer != Answer::Refused, oracle.ledger().len())
}

/// Whoever plans for one law and draws by another is refused, and nothing is debited.
#[test]
fn another_law_than_the_planned_one_is_refused() {
    let at = || Released::public(vec![0.1, 0.2]);
    let transmit = Probability::new(0.5).unwrap();
    for planned in laws() {
        let known = ledger(Event::clone(gradients(planned).event()));
        for drawn in laws() {
            let same = planned == drawn;
            let private = Private::Gradients(gradients(drawn));
            let found = answer(private, &known, Question::Gradient { round: 0, at: at() });
            assert_eq!(found, (same, u64::from(same)));
            // A mask is another event, too.
            let private = Private::Gradients(gradients(drawn).masked(transmit));
            let found = answer(private, &known, Question::Masked { round: 0, at: at() });
            assert_eq!(found, (false, 0));
        }
    }
    let [planned, other, _] = laws();
    let ask = |step| Question::Point { round: 0, at: at(), from: at(), step, keep: 0.0 };
    let Private::Points(mut private) = points(planned) else { panic!("points") };
    let known = ledger(private.event_of(0, 0.1).unwrap().unwrap());
    assert_eq!(answer(points(planned), &known, ask(0.1)), (true, 1));
    assert_eq!(answer(points(other), &known, ask(0.1)), (false, 0));
    // A longer step, which moves a point by more, is another event.
    assert_eq!(answer(points(planned), &known, ask(0.2)), (false, 0));
}
