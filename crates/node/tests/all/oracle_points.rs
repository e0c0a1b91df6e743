//! Steps and points through the door: what an oracle answers to algorithms that send where they go.
use std::sync::Arc;

use undertone_graph::{Family, NodeId, Schedule, Weights};
use undertone_model::dataset::{Features, Targets};
use undertone_model::{Batch, Dataset, Linear, Loss, MeanEstimation, Objective, Scratch};
use undertone_node::{Noise, Oracle, Private, PrivateSteps};
use undertone_privacy::accountant::{Accountant, renyi};
use undertone_privacy::event::Event;
use undertone_privacy::release::Released;
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{Adjacency, Order, Scale};
use undertone_protocol::{Answer, Domain, Mail, Question, Synchronous, Topology, TwoStage};

use crate::oracle_gradients::{
    clip, dataset, distances, epsilon, exposed, gaussian, open, poisson,
};

/// Theory 8 for any objective: the vector of mean estimation, with a wide clip norm.
#[test]
fn a_projected_step_of_any_objective_has_the_value_of_the_theory() {
    let ask = |domain: Domain, norm: f64| {
        let objective = Arc::new(MeanEstimation::new(2));
        let steps =
            PrivateSteps::of_objective(objective, dataset(2, &[0.7, 0.7, 0.5, 0.9]), clip(norm));
        let moved = steps.sensitivity(0.1).unwrap().under(Adjacency::Replace).unwrap();
        assert!((moved - 0.2 * norm).abs() < 1e-15);
        assert_eq!(steps.records(), 2);
        let private = Private::Steps(steps.within(domain), Arc::new([Noise::Exposed]));
        let mut oracle = exposed(private, Event::NonPrivate, 1);
        let at = Released::public(vec![0.125, -0.075]);
        let answer = oracle.answer(Question::Step { t: 1, at, step: 0.1 }).unwrap();
        answer.released().unwrap().into_inner()
    };
    let free = ask(Domain::Whole, 5.0);
    assert!((free[0] - 0.22).abs() < 1e-14 && (free[1] - 0.1).abs() < 1e-14, "{free:?}");
    let boxed = ask(Domain::Box { radius: 0.2 }, 5.0);
    assert!((boxed[0] - 0.2).abs() < 1e-14 && (boxed[1] - 0.1).abs() < 1e-14, "{boxed:?}");
    let clipped = ask(Domain::Whole, 0.01);
    let far = ((clipped[0] - 0.125).powi(2) + (clipped[1] + 0.075).powi(2)).sqrt();
    assert!(far <= 0.002 && far > 0.001_9, "{far}");
}

/// Theory 3.2, re-anchored: what leaves is on the lattice, and is priced by coupled rounding.
#[test]
fn points_end_on_the_lattice_and_are_priced() {
    let points = |noise, sampler| {
        let data = dataset(2, &[0.5; 40]);
        let lattice = Scale::new(0.125).unwrap();
        Private::points(distances(2), data, vec![Some(sampler), None], clip(1.0), noise, lattice)
    };
    let event = |private: &mut Private<f64>, round| {
        let Private::Points(points) = private else { panic!("it has points") };
        points.event_of(round, 0.01).unwrap()
    };
    let ask = |round| {
        let at = || Released::public(vec![1.5, 0.5]);
        let from = Released::public(vec![1.0, 0.25]);
        Question::Point { round, at: at(), from, step: 0.01, keep: 0.0 }
    };
    // Without noise: from - step (20 clipped gradients of length one).
    let mut private = points(Noise::Exposed, Sampler::Full);
    let plan = event(&mut private, 0).unwrap();
    let mut oracle = exposed(private, plan, 1);
    let point = oracle.answer(ask(0)).unwrap().released().unwrap().into_inner();
    assert!((point[0] - 0.8).abs() < 1e-9 && (point[1] - 0.25).abs() < 1e-9, "{point:?}");

    let mut private = points(gaussian(0.5), poisson(0.25));
    assert_eq!(event(&mut private, 1), None);
    let plan = event(&mut private, 0).unwrap().repeated(3);
    let found = epsilon(Accountant::Rdp, &plan, Adjacency::AddRemove, 1e-5);
    assert!(found > 0.0 && found < 2.0, "{found}");
    let mut oracle = open(private, plan, 2.0, Adjacency::AddRemove, 1);
    for round in [0, 2, 4] {
        let point = oracle.answer(ask(round)).unwrap().released().unwrap().into_inner();
        assert!(point.iter().all(|v| (v / 0.125).fract() == 0.0), "{point:?}");
    }
    assert_eq!(oracle.answer(ask(1)), Ok(Answer::Refused));
    assert_eq!(oracle.answer(ask(6)), Ok(Answer::Refused));
    assert_eq!(oracle.ledger().len(), 3);
}

/// Theory 3.2: rounding in p = 1000 dimensions, du = .01, eta = .05, noise .5.
#[test]
fn points_have_the_divergence_of_the_theory() {
    let lattice = Scale::new(0.05).unwrap();
    let (data, full) = (dataset(1000, &[0.0; 1000]), vec![Some(Sampler::Full)]);
    let mut private =
        Private::points(distances(1000), data, full, clip(0.5), gaussian(0.5), lattice);
    let Private::Points(points) = &mut private else { panic!("it has points") };
    // A step of .02 moves the point by .01, as no gradient is longer than .5.
    let event = points.event_of(0, 0.02).unwrap().unwrap();
    let Event::Imprecise(imprecise) = event else { panic!("the sampler's error is charged") };
    for (order, expected) in
        [(2.0, 0.063_560_817_67), (4.0, 0.130_337_401_4), (8.0, 0.291_652_422_4)]
    {
        let order = Order::new(order).unwrap();
        let found = renyi(&imprecise.event, Adjacency::AddRemove, order).unwrap();
        assert!((found - expected).abs() < 1e-9, "{found}");
    }
}

/// Paper 000, algorithm 5 as printed: the node's own point is kept without noise, and there is no
/// guarantee though noise is added. By hand: x = 1 - .1 (0 - 3), then 2 + .5 (x - 1) - .1 (x - 3).
#[test]
fn printed_points_keep_a_point_of_their_own_and_have_no_guarantee() {
    let oracle = |noise| {
        let lattice = Scale::new(0.125).unwrap();
        let samplers = vec![Some(Sampler::Full), Some(Sampler::Full), None];
        let data = dataset(1, &[3.0]);
        let private =
            Private::printed_points(distances(1), data, samplers, clip(9.0), noise, lattice);
        exposed(private, Event::NonPrivate.repeated(3), 1)
    };
    let ask = |round, at: f64, from: f64, keep| Question::Point {
        round,
        at: Released::public(vec![at]),
        from: Released::public(vec![from]),
        step: 0.1,
        keep,
    };
    let questions = [ask(0, 0.0, 1.0, 0.0), ask(1, 1.0, 2.0, 0.5), ask(2, 2.0, 2.0, 0.5)];
    let mut exact = oracle(Noise::Exposed);
    for (question, expected) in questions.clone().into_iter().zip([1.3, 2.32, 2.16]) {
        let point = exact.answer(question).unwrap().released().unwrap().into_inner();
        assert!((point[0] - expected).abs() < 1e-12, "{point:?}");
    }
    let mut noisy = oracle(gaussian(2.0));
    for question in questions {
        let point = noisy.answer(question).unwrap().released().unwrap().into_inner();
        assert!((point[0] / 0.125).fract() == 0.0, "{point:?}");
    }
    assert!(noisy.guarantee().epsilon.get().is_infinite());
}

/// Two stages on a logistic regression without noise, with steps that decay as one over t: at the
/// result the gradients of all nodes sum to less and less (none is long enough to be clipped).
#[test]
fn two_stages_reach_the_optimum_of_any_smooth_objective() {
    let (few, many) = (slope_after(300), slope_after(9000));
    assert!(few < 0.5 && many < 0.2 * few && many < 0.02, "{few} {many}");
}

/// The norm of the sum of all gradients where two stages of so many steps end.
fn slope_after(steps: u64) -> f64 {
    let (n_nodes, each) = (4_u32, 10_usize);
    let objective = Arc::new(Linear::new(2, false, Loss::Logistic));
    let data = |node: u32| {
        let x = |k: usize| ((node as usize * 31 + k * 7) as f64).sin();
        let values: Vec<f64> = (0..2 * each).map(x).collect();
        let sign = |k: usize| if k.is_multiple_of(3) { -1.0 } else { 1.0 };
        let signs = (0..each).map(sign).collect();
        Dataset::new(Features::Dense { width: 2, values }, Targets::Sign(signs)).unwrap()
    };
    let mut oracles: Vec<Oracle<f64>> = (0..n_nodes)
        .map(|node| {
            let private = PrivateSteps::of_objective(objective.clone(), data(node), clip(5.0))
                .within(Domain::Ball { radius: 20.0 });
            let noise = vec![Noise::Exposed; steps as usize].into();
            exposed(Private::Steps(private, noise), Event::NonPrivate.repeated(steps), 1)
        })
        .collect();
    let domain = Domain::Ball { radius: 20.0 };
    // The step has to be at least one over the strong convexity, which is about a third.
    let mut nodes = vec![TwoStage::<f64>::new(2, domain, steps, 4.0); n_nodes as usize];
    let ring = Schedule::Fixed(Family::Ring { nodes: n_nodes }.build(0).unwrap());
    let wiring = Topology::new(ring).with_pull(Weights::Metropolis, 0.0).wiring_at(0).unwrap();
    let mut mail = Mail::new(nodes.len(), nodes[0].shape());
    for round in 0..steps + 60 {
        for (i, node) in nodes.iter_mut().enumerate() {
            if let Some(question) = node.ask(round) {
                node.answer(round, oracles[i].answer(question).unwrap());
            }
            let id = NodeId(i as u32);
            node.send(round, &wiring.around(id), &mut mail.slot(id));
        }
        for (i, node) in nodes.iter_mut().enumerate() {
            let around = wiring.around(NodeId(i as u32));
            node.receive(round, &around, mail.heard_by(&around));
        }
    }
    let (mut x, mut sum, mut one) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    nodes[0].estimate(&mut x);
    for node in 0..n_nodes {
        let data = data(node);
        objective.gradient(&x, Batch::all(&data), &mut Scratch::default(), &mut one);
        sum.iter_mut().zip(one).for_each(|(sum, g)| *sum += g);
    }
    sum[0].hypot(sum[1])
}
