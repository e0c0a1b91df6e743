use super::*;
use crate::dataset::{Features, Targets};
use crate::laws;
use crate::loss::Loss;
use crate::objective::{Batch, Objective, Scratch};

const WHOLE: RecordBounds = RecordBounds { features: f64::INFINITY, slope: f64::INFINITY };

fn solver(
    loss: Loss,
    sparse: bool,
    records: usize,
    width: usize,
) -> (Solver, Linear, Dataset<f64>) {
    let features = match sparse {
        false => laws::features(records, width, 3),
        true => laws::sparse_features(records, width, 3),
    };
    let targets = match loss {
        Loss::Squared => laws::numbers(records, 5),
        _ => laws::signs(records, 5),
    };
    let (model, data) = (Linear::new(width, true, loss), Dataset::new(features, targets).unwrap());
    (Solver::new(&model, &data, WHOLE, 1.0 / records as f64), model, data)
}

/// By the objective itself, which shares no code with the solver.
fn gradient_norm(model: &Linear, data: &Dataset<f64>, x: &[f64], terms: &Terms<'_>) -> f64 {
    let mut g = vec![0.0; x.len()];
    model.gradient(x, Batch::all(data), &mut Scratch::default(), &mut g);
    let n = data.records() as f64;
    let parts = g.iter().zip(x).zip(terms.linear);
    parts.map(|((g, x), l)| (g / n + terms.quadratic * x + l).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn minima_are_certified_and_true_for_all_losses() {
    for loss in [Loss::Squared, Loss::Logistic, Loss::SmoothedHinge { width: 0.5 }] {
        for (sparse, width) in [(false, 6), (true, 6), (false, 33)] {
            let (mut solver, model, data) = solver(loss, sparse, 700, width);
            let linear: Vec<f64> = (0..=width).map(|k| 0.1 * (k as f64).cos()).collect();
            for (quadratic, tolerance) in [(0.05, 1e-10), (0.05, 1e-12), (3.0, 1e-12)] {
                let terms = Terms { quadratic, linear: &linear };
                let found = solver.minimise(&terms, tolerance).unwrap();
                let norm = gradient_norm(&model, &data, &found.point, &terms);
                assert!(found.gradient <= tolerance && norm <= found.gradient, "{norm:e}");
            }
        }
    }
}

/// Above the limit there is no factor, but the same minimum.
#[test]
fn without_a_factor_it_is_the_same_minimum() {
    let (mut solver, ..) = solver(Loss::Logistic, false, 300, 20);
    let linear = vec![0.05; 21];
    let terms = Terms { quadratic: 0.1, linear: &linear };
    let factored = solver.minimise(&terms, 1e-11).unwrap();
    let mut plain = self::solver(Loss::Logistic, false, 300, 20).0;
    plain.curvature = Curvature::unfactored(21);
    let found = plain.minimise(&terms, 1e-11).unwrap();
    let far = found.point.iter().zip(&factored.point).map(|(a, b)| (a - b).abs());
    assert!(far.fold(0.0, f64::max) < 1e-9);
}

#[test]
fn a_tolerance_beyond_the_numbers_gives_no_point() {
    let (mut solver, ..) = solver(Loss::Logistic, false, 50, 4);
    let terms = Terms { quadratic: 1.0, linear: &[1.0; 5] };
    let error = solver.minimise(&terms, 1e-18).unwrap_err();
    assert!(matches!(error, SolveError::Tolerance { reached, .. } if reached > 1e-18));
    assert!(solver.minimise(&terms, 1e-12).is_ok());
    let terms = Terms { quadratic: 0.0, linear: &[1.0; 5] };
    assert_eq!(solver.minimise(&terms, 1.0), Err(SolveError::Quadratic(0.0)));
}

/// Far starts, steep losses, records that do not matter.
#[test]
fn hard_problems_are_solved() {
    let values = vec![1.0, 0.0, 0.6, 0.8, -1.0, 0.0, f64::NAN, 2.0];
    let features = Features::Dense { width: 2, values };
    let data = Dataset::new(features, Targets::Sign(vec![1.0, -1.0, -1.0, 1.0])).unwrap();
    let model = Linear::new(2, false, Loss::Logistic);
    let bounds = RecordBounds { features: 1.0, slope: f64::INFINITY };
    let mut solver = Solver::new(&model, &data, bounds, 1750.0 / 4.0);
    for push in [0.0, 1e3, -1e3, 3.0, 30.0, -3.0] {
        let terms = Terms { quadratic: 0.04, linear: &[push, -push] };
        let found = solver.minimise(&terms, 1e-5).unwrap();
        assert!(found.evaluations < 250, "{push}: {}", found.evaluations);
    }
}

/// The derivative of one record is at most the bound, also for squares.
#[test]
fn squares_with_a_slope_are_hubers() {
    let features = Features::Dense { width: 1, values: vec![1.0, 1.0, 5.0] };
    let data = Dataset::new(features, Targets::Real(vec![0.0, 100.0, 0.0])).unwrap();
    let model = Linear::new(1, false, Loss::Squared);
    let bounds = RecordBounds { features: 1.0, slope: 0.5 };
    let mut solver = Solver::new(&model, &data, bounds, 1.0);
    let found = solver.minimise(&Terms { quadratic: 1.0, linear: &[0.0] }, 1e-12).unwrap();
    // x + x + x - 1/2 = 0 with a shortened third record.
    assert!((found.point[0] - 1.0 / 6.0).abs() < 1e-11, "{:?}", found.point);
    assert!((solver.loss(&[0.0]) - 0.5 * (100.0 - 0.25)).abs() < 1e-12);
}

/// Theory 2.3: the query of IPP-ADMM.
#[test]
fn improvements_are_of_clipped_losses() {
    let features = Features::Dense { width: 2, values: vec![0.6, 0.8, 1.0, 0.0, 0.0, 0.5] };
    let data = Dataset::new(features, Targets::Sign(vec![1.0, -1.0, 1.0])).unwrap();
    let solver = Solver::new(&Linear::new(2, false, Loss::Logistic), &data, WHOLE, 1.0 / 3.0);
    let (from, to) = ([0.1, -0.2], [0.023964440984, 0.05525313747]);
    assert!((solver.improvement(&from, &to, 2.0) - 0.0614246654).abs() < 1e-9);
    assert!(solver.improvement(&from, &to, 0.6).abs() < 1e-9);
}
