//! Convex sets to stay in.

use serde::{Deserialize, Serialize};
use undertone_real::Real;

/// A convex set with an easy projection. Projecting brings no two points further apart, so it
/// never raises a sensitivity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "set")]
pub enum Domain {
    /// Everywhere.
    Whole,
    /// Every coordinate within `[-radius, radius]`.
    Box {
        /// Half the side.
        radius: f64,
    },
    /// Euclidean norm at most `radius`.
    Ball {
        /// The radius.
        radius: f64,
    },
}

impl Domain {
    /// Moves `x` to the nearest point of the set.
    pub fn project<R: Real>(&self, x: &mut [R]) {
        match *self {
            Self::Whole => {}
            Self::Box { radius } => {
                let (low, high) = (R::from_f64(-radius), R::from_f64(radius));
                for v in x {
                    *v = if *v < low {
                        low
                    } else if *v > high {
                        high
                    } else {
                        *v
                    };
                }
            }
            Self::Ball { radius } => {
                let norm = x.iter().map(|v| v.to_f64().powi(2)).sum::<f64>().sqrt();
                if norm > radius {
                    // Smaller by more than the roundings of norm, factor and products.
                    let unit =
                        if size_of::<R>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
                    let slack = 1.0 - (x.len() as f64 + 8.0) * f64::EPSILON - 2.0 * unit;
                    let factor = R::from_f64(radius / norm * slack);
                    x.iter_mut().for_each(|v| *v *= factor);
                }
            }
        }
    }

    /// The largest distance of two points, in `dimension` dimensions.
    pub fn diameter(&self, dimension: usize) -> f64 {
        match *self {
            Self::Whole => f64::INFINITY,
            Self::Box { radius } => 2.0 * radius * (dimension as f64).sqrt(),
            Self::Ball { radius } => 2.0 * radius,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn projections_are_the_nearest_points() {
        let mut x = [3.0, -0.5, -7.0];
        Domain::Box { radius: 1.0 }.project(&mut x);
        assert_eq!(x, [1.0, -0.5, -1.0]);
        let mut x = [3.0_f64, 4.0];
        Domain::Ball { radius: 1.0 }.project(&mut x);
        assert!((x[0] - 0.6).abs() < 4e-15 && (x[1] - 0.8).abs() < 4e-15);
        assert_eq!(Domain::Box { radius: 0.5 }.diameter(4), 2.0);
    }

    proptest! {
        #[test]
        fn no_two_points_are_brought_further_apart(
            a in prop::collection::vec(-9.0..9.0_f64, 3),
            b in prop::collection::vec(-9.0..9.0_f64, 3),
            radius in 0.1..5.0_f64,
        ) {
            let distance = |a: &[f64], b: &[f64]| {
                a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
            };
            let before = distance(&a, &b);
            for domain in [Domain::Whole, Domain::Box { radius }, Domain::Ball { radius }] {
                let (mut a, mut b) = (a.clone(), b.clone());
                domain.project(&mut a);
                domain.project(&mut b);
                let norm = a.iter().map(|v| v * v).sum::<f64>().sqrt();
                let outside = domain == Domain::Ball { radius } && norm > radius;
                prop_assert!(!outside);
                prop_assert!(distance(&a, &b) <= before * (1.0 + 1e-12));
            }
        }
    }
}
