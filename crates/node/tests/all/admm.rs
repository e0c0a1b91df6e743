//! Local minima: the numbers of theory 2 and 6, how far one record moves them, and what leaves.

use undertone_graph::{Graph, NodeId, Schedule};
use undertone_model::dataset::{Features, Targets};
use undertone_model::solve::{RecordBounds, Solver, Terms};
use undertone_model::{Dataset, Linear, Loss};
use undertone_privacy::claims::admm::Subproblem;
use undertone_privacy::release::Released;
use undertone_privacy::units::{Adjacency, ClipNorm, Scale};
use undertone_protocol::{
    Admm, Answer, Mail, Neighbourhood, Penalty, Question, RAdmm, Synchronous, Topology, Wiring,
};

const UNIT: RecordBounds = RecordBounds { features: 1.0, slope: f64::INFINITY };

/// Three records that theory uses throughout.
fn records() -> Dataset<f64> {
    let values = vec![0.6, 0.8, 1.0, 0.0, 0.0, 0.5];
    let features = Features::Dense { width: 2, values };
    Dataset::new(features, Targets::Sign(vec![1.0, -1.0, 1.0])).unwrap()
}

fn logistic(weight: f64) -> Solver {
    Solver::new(&Linear::new(2, false, Loss::Logistic), &records(), UNIT, weight)
}

/// The minimiser that a question asks for, with a ridge and a random linear term.
fn minimiser(question: &Question<f64>, weight: f64, ridge: f64, b: [f64; 2]) -> Vec<f64> {
    let Question::Primal { linear, quadratic, .. } = question else { panic!("{question:?}") };
    let linear: Vec<f64> = linear.get().iter().zip(b).map(|(l, b)| l + b).collect();
    let terms = Terms { quadratic: ridge + quadratic, linear: &linear };
    logistic(weight).minimise(&terms, 1e-12).unwrap().point
}

fn close(found: &[f64], expected: [f64; 2]) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near, "{found:?} is not {expected:?}");
}

/// Node 0 between two others.
fn wiring() -> Wiring {
    let graph = Graph::undirected(3, [(0, 1), (0, 2)]).unwrap();
    Topology::new(Schedule::Fixed(graph)).wiring_at(0).unwrap()
}

fn hear(node: &mut Admm<f64>, round: u64, around: &Neighbourhood<'_>, others: [[f64; 2]; 2]) {
    let mut mail = Mail::new(3, node.shape());
    node.send(round, around, &mut mail.slot(NodeId(0)));
    for (id, values) in (1..).zip(others) {
        mail.slot(NodeId(id)).send(&Released::public(values.to_vec()));
    }
    node.receive(round, around, mail.heard_by(around));
}

fn answer(node: &mut Admm<f64>, round: u64, value: [f64; 2]) {
    node.ask(round);
    node.answer(round, Answer::Released(Released::public(value.to_vec())));
}

const NEIGHBOURS: [NodeId; 2] = [NodeId(1), NodeId(2)];

/// A node at `(.1, -.2)` with neighbours at `(0, 0)` and `(.3, .1)` and a given dual variable,
/// two rounds after its start.
fn node(eta: f64, dual: [f64; 2]) -> (Admm<f64>, Wiring) {
    let mut node = Admm::new(&[0.0; 2], &NEIGHBOURS, Penalty::constant(eta), 9);
    let wiring = wiring();
    let around = wiring.around(NodeId(0));
    // The second round adds eta/2 times (-.1, -.5).
    let first = [(dual[0] + 0.05 * eta) / eta, (dual[1] + 0.25 * eta) / eta];
    answer(&mut node, 0, first);
    hear(&mut node, 0, &around, [[0.0; 2]; 2]);
    answer(&mut node, 1, [0.1, -0.2]);
    hear(&mut node, 1, &around, [[0.0, 0.0], [0.3, 0.1]]);
    close(node.dual(), dual);
    (node, wiring.clone())
}

/// Theory 2.1: the paper's alpha is twice the dual variable.
#[test]
fn one_step_of_pr_admm() {
    let (mut node, _) = node(0.5, [0.025, -0.01]);
    let question = node.ask(2).unwrap();
    close(&minimiser(&question, 1.0 / 3.0, 0.04, [0.0; 2]), [0.061180867576, 0.039836618201]);
}

/// Theory 2.2.
#[test]
fn one_step_of_pp_admm() {
    let (mut node, _) = node(0.5, [0.05, -0.02]);
    let question = node.ask(2).unwrap();
    let with = minimiser(&question, 1.0 / 3.0, 0.02, [0.03, -0.01]);
    close(&with, [0.023964440984, 0.05525313747]);
    let without = minimiser(&question, 1.0 / 3.0, 0.02, [0.0; 2]);
    close(&without, [0.03812177548, 0.050207676133]);
}

/// Theory 6.4: M-ADMM's noise is multiplied by `2 eta V`.
#[test]
fn one_step_of_m_admm() {
    let (mut node, _) = node(1.0, [0.05, -0.02]);
    let question = node.ask(2).unwrap();
    let found = minimiser(&question, 2.0 / 3.0, 0.044, [4.0 * 0.03, 4.0 * -0.01]);
    close(&found, [0.033402050861, 0.050249751346]);
}

/// Theory 6.2: an odd step, what is stored, the dual, and an even step.
#[test]
fn two_steps_of_private_r_admm() {
    let wiring = wiring();
    let around = wiring.around(NodeId(0));
    let start = [0.1, -0.2];
    let mut node = Admm::new(&start, &NEIGHBOURS, Penalty::constant(1.0), 9);
    node = node.recycling(RAdmm::new(0.5));
    // A refusal leaves the node where it is; what it hears makes the dual (.05, -.02).
    node.ask(0);
    node.answer(0, Answer::Refused);
    hear(&mut node, 0, &around, [[0.05, -0.18]; 2]);
    assert!(node.ask(1).is_none());
    hear(&mut node, 1, &around, [[0.0, 0.0], [0.3, 0.1]]);
    close(node.dual(), [0.05, -0.02]);
    let question = node.ask(2).unwrap();
    let odd = minimiser(&question, 2.0 / 3.0, 0.044, [0.03, -0.01]);
    close(&odd, [0.054618238636, 0.042689179568]);
    node.answer(2, Answer::Released(Released::public(odd)));
    hear(&mut node, 2, &around, [[0.02, 0.01], [0.25, 0.05]]);
    close(node.dual(), [-0.030381761364, -0.007310820432]);
    assert!(node.ask(3).is_none());
    hear(&mut node, 3, &around, [[0.0; 2]; 2]);
    let mut even = [0.0; 2];
    node.estimate(&mut even);
    close(&even, [0.063507127525, 0.136022512901]);
}

/// Numbers that look random and are not.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
    }

    fn record(&mut self, width: usize) -> (Vec<f64>, f64) {
        let z: Vec<f64> = (0..width).map(|_| 2.0 * self.next()).collect();
        (z, self.next().signum())
    }
}

fn dataset(records: &[(Vec<f64>, f64)]) -> Dataset<f64> {
    let width = records[0].0.len();
    let values = records.iter().flat_map(|(z, _)| z.clone()).collect();
    let signs = records.iter().map(|(_, y)| *y).collect();
    Dataset::new(Features::Dense { width, values }, Targets::Sign(signs)).unwrap()
}

/// Theory A1, attacked: how far the minimiser moves, as a share of the bound.
fn share(loss: Loss, ours: &[(Vec<f64>, f64)], theirs: &[(Vec<f64>, f64)], push: &[f64]) -> f64 {
    let (n, tolerance, quadratic) = (ours.len().max(theirs.len()), 1e-9, 0.7);
    let solve = |records| {
        let (data, model) = (dataset(records), Linear::new(push.len(), false, loss));
        let mut solver = Solver::new(&model, &data, UNIT, 1.0 / n as f64);
        solver.minimise(&Terms { quadratic, linear: push }, tolerance).unwrap().point
    };
    let (a, b) = (solve(ours), solve(theirs));
    let moved = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let problem = Subproblem {
        records: n as u64,
        lipschitz: ClipNorm::new(1.0).unwrap(),
        convexity: Scale::new(quadratic).unwrap(),
        tolerance,
    };
    let same = ours.len() == theirs.len();
    let adjacency = if same { Adjacency::Replace } else { Adjacency::AddRemove };
    moved / problem.sensitivity().unwrap().under(adjacency).unwrap()
}

#[test]
fn no_neighbour_moves_a_minimiser_further_than_its_sensitivity() {
    let mut numbers = Numbers(1);
    let mut most = [0.0_f64; 2];
    for loss in [Loss::Logistic, Loss::SmoothedHinge { width: 0.5 }] {
        for trial in 0..60 {
            let width = 1 + trial % 4;
            let ours: Vec<_> = (0..3 + trial % 9).map(|_| numbers.record(width)).collect();
            let push: Vec<f64> = (0..width).map(|_| 30.0 * numbers.next().powi(3)).collect();
            let mut theirs = ours.clone();
            theirs[0] = numbers.record(width);
            most[0] = most[0].max(share(loss, &ours, &theirs, &push));
            most[1] = most[1].max(share(loss, &ours, &ours[1..], &push));
            // The opposite record, as far as it may go.
            theirs[0] = (ours[0].0.iter().map(|z| -9.0 * z).collect(), ours[0].1);
            most[0] = most[0].max(share(loss, &ours, &theirs, &push));
        }
        // Saturated losses: all slopes are one, and the data has no curvature to resist with.
        let (c, s) = (0.1_f64.cos(), 0.1_f64.sin());
        let flat: Vec<_> = (0..20).map(|_| (vec![0.0, 1.0], 1.0)).collect();
        let [mut ours, mut theirs] = [flat.clone(), flat];
        ours[0] = (vec![c, s], 1.0);
        theirs[0] = (vec![-c, s], 1.0);
        let push = [0.0, 70.0];
        let adversarial = share(loss, &ours, &theirs, &push);
        assert!(adversarial > 0.9, "{loss:?}: {adversarial}");
        most[0] = most[0].max(adversarial);
        most[1] = most[1].max(share(loss, &ours, &ours[1..], &push));
    }
    // Never beyond the bound, and within a factor of two of it somewhere.
    assert!(most.iter().all(|share| *share <= 1.0 && *share > 0.5), "{most:?}");
}

/// Squares beyond a slope are straight lines, so that the bound holds for them, too.
#[test]
fn regression_needs_a_slope_and_keeps_it() {
    let solve = |target: f64| {
        let features = Features::Dense { width: 1, values: vec![1.0, -0.5, 0.3] };
        let data = Dataset::new(features, Targets::Real(vec![target, 1.0, 0.2])).unwrap();
        let bounds = RecordBounds { features: 1.0, slope: 0.5 };
        let model = Linear::new(1, false, Loss::Squared);
        let mut solver = Solver::new(&model, &data, bounds, 1.0 / 3.0);
        solver.minimise(&Terms { quadratic: 0.2, linear: &[0.0] }, 1e-10).unwrap().point[0]
    };
    let moved = (solve(1e6) - solve(-1e6)).abs();
    assert!(moved <= 2.0 * 0.5 / 3.0 / 0.2 + 1e-8 && moved > 0.5, "{moved}");
}
