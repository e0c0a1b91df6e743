//! Invariant I8 at the edge: no record contributes more than the clip, whatever its size.

use proptest::prelude::*;
use undertone_model::dataset::{Features, Targets};
use undertone_model::{Batch, Dataset, Model, Scratch};
use undertone_real::Real;

const WIDTH: usize = 5;

fn models() -> [(Model, Targets<f64>); 6] {
    let features = WIDTH;
    let sign = Targets::Sign(vec![-1.0]);
    [
        (Model::Mean { features }, Targets::None),
        (Model::Linear { features, intercept: true }, Targets::Real(vec![0.3])),
        (Model::Logistic { features, intercept: true }, sign.clone()),
        (Model::SmoothedHinge { features, intercept: false, width: 0.5 }, sign),
        (
            Model::Softmax { features, classes: 3, intercept: true },
            Targets::Class { classes: 3, of: vec![1] },
        ),
        (
            Model::Tags { features, tags: 3, intercept: true },
            Targets::Tags { tags: 3, starts: vec![0, 1], of: vec![2] },
        ),
    ]
}

fn targets<R: Real>(targets: &Targets<f64>) -> Targets<R> {
    let narrow = |values: &Vec<f64>| values.iter().map(|v| R::from_f64(*v)).collect();
    match targets {
        Targets::None => Targets::None,
        Targets::Real(values) => Targets::Real(narrow(values)),
        Targets::Sign(values) => Targets::Sign(narrow(values)),
        Targets::Class { classes, of } => Targets::Class { classes: *classes, of: of.clone() },
        Targets::Tags { tags, starts, of } => {
            Targets::Tags { tags: *tags, starts: starts.clone(), of: of.clone() }
        }
    }
}

/// One record at parameters, dense and sparse.
fn check<R: Real>(row: &[f64], x: &[f64], clip: f64) -> Result<(), TestCaseError> {
    let values: Vec<R> = row.iter().map(|v| R::from_f64(*v)).collect();
    let sparse = Features::Sparse {
        width: WIDTH,
        starts: vec![0, WIDTH],
        columns: (0..WIDTH as u32).collect(),
        values: values.clone(),
    };
    for features in [Features::Dense { width: WIDTH, values }, sparse] {
        for (model, target) in models() {
            let data = Dataset::new(features.clone(), targets::<R>(&target)).unwrap();
            let x: Vec<R> = x[..model.dimension()].iter().map(|v| R::from_f64(*v)).collect();
            let mut out = vec![R::ZERO; x.len()];
            let objective = model.objective::<R>();
            let scratch = &mut Scratch::default();
            let clipped = objective.clipped_sum(&x, Batch::all(&data), clip, scratch, &mut out);
            prop_assert!(out.iter().all(|v| v.is_finite()), "{model:?}: {out:?}");
            let norm = out.iter().map(|v| v.to_f64().powi(2)).sum::<f64>().sqrt();
            prop_assert!(norm <= clip, "{model:?}: {norm:e} > {clip:e}, {clipped:?}");
            if clipped.dropped > 0 {
                prop_assert_eq!(norm, 0.0);
            }
        }
    }
    Ok(())
}

/// Of any size.
fn number(powers: std::ops::Range<i32>) -> impl Strategy<Value = f64> {
    (-1.0..1.0, powers).prop_map(|(v, power): (f64, i32)| v * 10_f64.powi(power))
}

fn numbers(count: usize, powers: std::ops::Range<i32>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![8 => number(powers), 1 => Just(0.0)], count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_record_is_longer_than_the_clip_in_single_precision(
        row in numbers(WIDTH, -45..39),
        x in numbers(3 * (WIDTH + 1), -45..39),
        clip in -25..38,
    ) {
        check::<f32>(&row, &x, 10_f64.powi(clip))?;
    }

    #[test]
    fn no_record_is_longer_than_the_clip_in_double_precision(
        row in numbers(WIDTH, -320..308),
        x in numbers(3 * (WIDTH + 1), -320..308),
        clip in -100..150,
    ) {
        check::<f64>(&row, &x, 10_f64.powi(clip))?;
    }

    /// Where rounding decides.
    #[test]
    fn a_clip_near_the_norm_is_kept(
        row in numbers(WIDTH, -1..1),
        x in numbers(3 * (WIDTH + 1), -1..1),
        near in -2e-7..2e-7,
    ) {
        let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        check::<f32>(&row, &x, norm * (1.0 + near))?;
        check::<f64>(&row, &x, norm * (1.0 + near))?;
    }
}
