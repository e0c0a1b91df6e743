//! Privacy parameters as types that cannot be built out of range and cannot be added by accident.

use serde::{Deserialize, Serialize};

/// A number that is outside the range of the unit it was meant for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{unit} must be {range}, got {value}")]
pub struct OutOfRange {
    /// The unit's name in lower case.
    pub unit: &'static str,
    /// The range in words.
    pub range: &'static str,
    /// What was given.
    pub value: f64,
}

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident, $word:literal, $range:literal, |$v:ident| $ok:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            #[doc = concat!("Checks that the value is ", $range, ".")]
            pub fn new($v: f64) -> Result<Self, OutOfRange> {
                if $ok {
                    Ok(Self($v))
                } else {
                    Err(OutOfRange { unit: $word, range: $range, value: $v })
                }
            }

            /// The plain number.
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = OutOfRange;
            fn try_from(value: f64) -> Result<Self, OutOfRange> {
                Self::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

unit!(
    /// The epsilon of an (epsilon, delta) guarantee. Infinite means "no guarantee".
    ///
    /// Epsilons are not added: composition belongs to an accountant.
    ///
    /// ```compile_fail
    /// use undertone_privacy::units::Epsilon;
    /// let round = Epsilon::new(0.1).unwrap();
    /// let total = round + round;
    /// ```
    ///
    /// ```
    /// use undertone_privacy::units::Epsilon;
    /// let round = Epsilon::new(0.1).unwrap();
    /// let twice = round.get() + round.get(); // a plain number: says nothing about privacy
    /// # assert_eq!(twice, 0.2);
    /// ```
    Epsilon, "epsilon", "at least 0", |v| v >= 0.0
);
unit!(
    /// The delta of an (epsilon, delta) guarantee.
    Delta, "delta", "between 0 and 1", |v| (0.0..=1.0).contains(&v)
);
unit!(
    /// Zero-concentrated differential privacy (zCDP).
    Rho, "rho", "at least 0", |v| v >= 0.0
);
unit!(
    /// Gaussian differential privacy: a test between N(0, 1) and N(mu, 1).
    Mu, "mu", "at least 0", |v| v >= 0.0
);
unit!(
    /// Noise standard deviation over sensitivity, `z` in the papers.
    NoiseMultiplier, "noise multiplier", "positive and finite", |v| v > 0.0 && v.is_finite()
);
unit!(
    /// The norm bound that a record's contribution is clipped to.
    ClipNorm, "clip norm", "positive and finite", |v| v > 0.0 && v.is_finite()
);
unit!(
    /// Standard deviation, scale or rate of a noise, in the units of what it is added to.
    Scale, "scale", "positive and finite", |v| v > 0.0 && v.is_finite()
);
unit!(
    /// A probability, such as a sampling rate.
    Probability, "probability", "between 0 and 1", |v| (0.0..=1.0).contains(&v)
);
unit!(
    /// Order of a Renyi divergence, `a` or `alpha` in the papers.
    Order, "order", "above 1 and finite", |v| v > 1.0 && v.is_finite()
);

impl Epsilon {
    /// No guarantee at all.
    pub const INFINITE: Epsilon = Epsilon(f64::INFINITY);
    /// Perfect privacy.
    pub const ZERO: Epsilon = Epsilon(0.0);
}

/// Which pairs of data sets must look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// One record more or less; sizes used as divisors are public constants.
    AddRemove,
    /// One record replaced by another; the number of records is public.
    Replace,
}

impl std::fmt::Display for Adjacency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Adjacency::AddRemove => "add-remove",
            Adjacency::Replace => "replace",
        })
    }
}

/// What one "record" is: the thing whose presence or value is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// The whole vector or data set of a node.
    Node,
    /// One record of one node.
    Record,
}

/// Who is assumed to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observer {
    /// Sees every message of every node for the whole run.
    Everyone,
    /// A set of nodes that share what they saw.
    Coalition,
    /// One neighbour, which sees only what it is sent.
    Neighbour,
}

/// How far one record moves a query, under each adjacency that is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawSensitivity", into = "RawSensitivity")]
pub struct Sensitivity {
    add_remove: Option<f64>,
    replace: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSensitivity {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    add_remove: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replace: Option<f64>,
}

impl Sensitivity {
    /// A sum of contributions, each of norm at most `clip`: adding one moves it by `clip`,
    /// replacing one by twice that.
    pub fn contribution(clip: ClipNorm) -> Self {
        Self { add_remove: Some(clip.get()), replace: Some(2.0 * clip.get()) }
    }

    /// Known under one adjacency only.
    pub fn under_only(adjacency: Adjacency, value: f64) -> Result<Self, OutOfRange> {
        match adjacency {
            Adjacency::AddRemove => Self::checked(Some(value), None),
            Adjacency::Replace => Self::checked(None, Some(value)),
        }
    }

    /// Known under both adjacencies.
    pub fn both(add_remove: f64, replace: f64) -> Result<Self, OutOfRange> {
        Self::checked(Some(add_remove), Some(replace))
    }

    /// The bound under `adjacency`. A replacement is a removal and an addition, so it is at most
    /// twice the add-remove value; nothing follows in the other direction.
    pub fn under(&self, adjacency: Adjacency) -> Option<f64> {
        match adjacency {
            Adjacency::AddRemove => self.add_remove,
            Adjacency::Replace => match (self.replace, self.add_remove) {
                (Some(replace), Some(one)) => Some(replace.min(2.0 * one)),
                (Some(replace), None) => Some(replace),
                (None, one) => one.map(|v| 2.0 * v),
            },
        }
    }

    /// Whether this bound is at most `other` wherever `other` is known.
    pub fn within(&self, other: &Sensitivity) -> bool {
        let fits = |mine: Option<f64>, theirs: Option<f64>| match (mine, theirs) {
            (_, None) => true,
            (Some(mine), Some(theirs)) => mine <= theirs,
            (None, Some(_)) => false,
        };
        fits(self.under(Adjacency::AddRemove), other.add_remove)
            && fits(self.under(Adjacency::Replace), other.replace)
    }

    fn checked(add_remove: Option<f64>, replace: Option<f64>) -> Result<Self, OutOfRange> {
        let out = |value| OutOfRange {
            unit: "sensitivity",
            range: "at least 0 and finite, and given for add_remove, replace or both",
            value,
        };
        for value in [add_remove, replace].into_iter().flatten() {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(out(value));
            }
        }
        if add_remove.is_none() && replace.is_none() {
            return Err(out(f64::NAN));
        }
        Ok(Self { add_remove, replace })
    }
}

impl TryFrom<RawSensitivity> for Sensitivity {
    type Error = OutOfRange;
    fn try_from(raw: RawSensitivity) -> Result<Self, OutOfRange> {
        Self::checked(raw.add_remove, raw.replace)
    }
}

impl From<Sensitivity> for RawSensitivity {
    fn from(value: Sensitivity) -> Self {
        Self { add_remove: value.add_remove, replace: value.replace }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_refuse_what_is_out_of_range_and_say_so() {
        assert!(Epsilon::new(-0.1).is_err());
        assert!(Epsilon::new(f64::NAN).is_err());
        assert!(Epsilon::new(f64::INFINITY).is_ok());
        assert!(Probability::new(1.0).is_ok());
        assert!(NoiseMultiplier::new(0.0).is_err());
        let error = Delta::new(1.5).unwrap_err();
        assert_eq!(error.to_string(), "delta must be between 0 and 1, got 1.5");
        assert!(serde_json::from_str::<Probability>("1.1").is_err());
    }

    #[test]
    fn replacing_costs_at_most_twice_adding() {
        let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
        assert_eq!(one.under(Adjacency::Replace), Some(2.0));
        let swap = Sensitivity::under_only(Adjacency::Replace, 1.0).unwrap();
        assert_eq!(swap.under(Adjacency::AddRemove), None);
        assert_eq!(Sensitivity::both(0.5, 3.0).unwrap().under(Adjacency::Replace), Some(1.0));
        assert!(serde_json::from_str::<Sensitivity>("{}").is_err());
        assert!(serde_json::from_str::<Sensitivity>("{\"replace\":-1}").is_err());
    }

    #[test]
    fn within_compares_only_what_the_other_side_promises() {
        let promise = Sensitivity::both(1.0, 2.0).unwrap();
        assert!(Sensitivity::contribution(ClipNorm::new(1.0).unwrap()).within(&promise));
        assert!(!Sensitivity::contribution(ClipNorm::new(1.1).unwrap()).within(&promise));
        let swap = Sensitivity::under_only(Adjacency::Replace, 1.0).unwrap();
        assert!(!swap.within(&promise));
    }
}
