//! What a data set looks like: shape, norms and classes.

use serde::Serialize;
use undertone_model::dataset::{Dataset, Features, Targets};
use undertone_real::Real;

use crate::rows::norm;

/// What can be said of records without looking at one. It is computed from private data: for the
/// eyes of those who hold it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Looks {
    /// How many.
    pub records: usize,
    /// How many numbers each has.
    pub features: usize,
    /// Channels, height and width.
    pub image: Option<[usize; 3]>,
    /// Whether only what is not zero is kept.
    pub sparse: bool,
    /// The share of numbers that are not zero.
    pub density: f64,
    /// L2 norms: least, lower quartile, median, upper quartile, largest.
    pub norms: [f64; 5],
    /// How many norms are in each of some equal steps from zero to the largest.
    pub histogram: Vec<u64>,
    /// What is to be predicted.
    pub targets: Balance,
    /// How many records are in each group.
    pub groups: Option<Vec<u64>>,
}

/// How often what occurs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Balance {
    /// Nothing is to be predicted.
    None,
    /// Records of -1 and of 1.
    Sign {
        /// Two.
        counts: Vec<u64>,
    },
    /// Records of each class.
    Class {
        /// One for each.
        counts: Vec<u64>,
    },
    /// Records with each tag.
    Tags {
        /// One for each.
        counts: Vec<u64>,
    },
    /// Numbers.
    Real {
        /// The least.
        low: f64,
        /// Their mean.
        mean: f64,
        /// The largest.
        high: f64,
    },
}

/// Steps of a histogram.
const STEPS: usize = 40;

impl Looks {
    /// Looks at every record once.
    pub fn of<R: Real>(data: &Dataset<R>) -> Self {
        let norms = sorted_norms(data);
        let records = norms.len();
        let at = |share: f64| norms.get((share * (records.max(1) - 1) as f64).round() as usize);
        let largest = norms.last().copied().unwrap_or(0.0);
        let mut histogram = vec![0; STEPS];
        for norm in &norms {
            let step = if largest > 0.0 { norm / largest * STEPS as f64 } else { 0.0 };
            histogram[(step as usize).min(STEPS - 1)] += 1;
        }
        let filled = match data.features() {
            Features::Dense { values, .. } | Features::Sparse { values, .. } => {
                values.iter().filter(|value| **value != R::ZERO).count()
            }
        };
        let numbers = (records * data.width()).max(1);
        Self {
            records,
            features: data.width(),
            image: data.image(),
            sparse: matches!(data.features(), Features::Sparse { .. }),
            density: filled as f64 / numbers as f64,
            norms: [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| at(share).copied().unwrap_or(0.0)),
            histogram,
            targets: Balance::of(data.targets()),
            groups: data.groups().map(|groups| {
                let most = groups.iter().max().map_or(0, |group| group + 1);
                count(groups.iter().copied(), most)
            }),
        }
    }
}

/// The norm of every record, in order of size.
pub fn sorted_norms<R: Real>(data: &Dataset<R>) -> Vec<f64> {
    let row = |record: usize| match data.features() {
        Features::Dense { width, values } => norm(&values[record * width..][..*width]),
        Features::Sparse { starts, values, .. } => {
            norm(&values[starts[record]..starts[record + 1]])
        }
    };
    let mut norms: Vec<f64> = (0..data.records()).map(row).collect();
    norms.sort_by(f64::total_cmp);
    norms
}

impl Balance {
    /// Counts targets.
    pub fn of<R: Real>(targets: &Targets<R>) -> Self {
        match targets {
            Targets::None => Self::None,
            Targets::Sign(signs) => {
                let counts = count(signs.iter().map(|sign| u32::from(*sign == R::ONE)), 2);
                Self::Sign { counts }
            }
            Targets::Class { classes, of } => {
                Self::Class { counts: count(of.iter().copied(), *classes) }
            }
            Targets::Tags { tags, of, .. } => {
                Self::Tags { counts: count(of.iter().copied(), *tags) }
            }
            Targets::Real(values) => {
                let values = || values.iter().map(|value| value.to_f64());
                let number = values().count().max(1) as f64;
                Self::Real {
                    low: values().fold(f64::INFINITY, f64::min),
                    mean: values().sum::<f64>() / number,
                    high: values().fold(f64::NEG_INFINITY, f64::max),
                }
            }
        }
    }

    /// How often each sign, class or tag occurs.
    pub fn counts(&self) -> &[u64] {
        match self {
            Self::None | Self::Real { .. } => &[],
            Self::Sign { counts } | Self::Class { counts } | Self::Tags { counts } => counts,
        }
    }
}

fn count(numbers: impl Iterator<Item = u32>, below: u32) -> Vec<u64> {
    let mut counts = vec![0; below as usize];
    numbers.for_each(|number| counts[number as usize] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_set_looks_as_it_should() {
        let features = Features::Dense { width: 2, values: vec![3.0_f64, 4.0, 0.0, 1.0] };
        let data = Dataset::new(features, Targets::Sign(vec![1.0, -1.0])).expect("a data set");
        let looks = Looks::of(&data);
        assert_eq!((looks.records, looks.features, looks.density), (2, 2, 0.75));
        assert_eq!((looks.norms[0], looks.norms[4]), (1.0, 5.0));
        assert_eq!(looks.histogram.iter().sum::<u64>(), 2);
        assert_eq!(looks.targets.counts(), [1, 1]);
    }
}
