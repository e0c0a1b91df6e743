//! Virtual time.

use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// A point of virtual time or a span of it, in whole nanoseconds; seconds in plan files. Integers
/// add up without rounding, so that the order of events is the same on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Time(u64);

/// A number that is no time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0} seconds are no time: give a finite number from 0 to 1e9")]
pub struct BadTime(pub f64);

const NANOS: f64 = 1e9;

impl Time {
    /// The beginning, or no time at all.
    pub const ZERO: Self = Self(0);

    /// From whole nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// To the nearest nanosecond.
    pub fn from_seconds(seconds: f64) -> Result<Self, BadTime> {
        // Written so that NaN is refused, too.
        if !(0.0..=1e9).contains(&seconds) {
            return Err(BadTime(seconds));
        }
        Ok(Self((seconds * NANOS).round() as u64))
    }

    /// In nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// So many times as long, to the nearest nanosecond; never less than nothing.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

impl Add for Time {
    type Output = Self;

    /// The end of time instead of an overflow: nothing happens after it.
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl TryFrom<f64> for Time {
    type Error = BadTime;

    fn try_from(seconds: f64) -> Result<Self, BadTime> {
        Self::from_seconds(seconds)
    }
}

impl From<Time> for f64 {
    fn from(time: Time) -> f64 {
        time.seconds()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_nanoseconds_and_come_back() {
        assert_eq!(Time::from_seconds(0.05), Ok(Time::from_millis(50)));
        assert_eq!(serde_json::to_string(&Time::from_millis(1500)).unwrap(), "1.5");
        assert_eq!(serde_json::from_str::<Time>("0.25").unwrap(), Time::from_millis(250));
        assert_eq!(Time::from_millis(250).to_string(), "0.25 s");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY, 2e9] {
            assert!(Time::from_seconds(bad).is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<Time>("-0.5").is_err());
    }

    #[test]
    fn time_ends_rather_than_wrapping_around() {
        let end = Time::from_nanos(u64::MAX);
        assert_eq!(end + Time::from_millis(1), end);
    }
}
