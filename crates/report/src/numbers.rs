//! Numbers for people. What is a bound stays one.

use undertone_privacy::units::Epsilon;

/// An epsilon, rounded up; "no guarantee" if it is infinite.
pub fn epsilon(epsilon: Epsilon) -> String {
    let value = epsilon.get();
    if value.is_infinite() { "no guarantee".into() } else { significant(value) }
}

/// Seven significant digits, rounded up: a printed bound stays a bound.
pub fn significant(value: f64) -> String {
    digits(value, 7, f64::ceil)
}

/// Seven significant digits, rounded down.
pub fn significant_below(value: f64) -> String {
    digits(value, 7, f64::floor)
}

/// Four significant digits, rounded up: for pages, where the whole number is beside it.
pub fn short_above(value: f64) -> String {
    digits(value, 4, f64::ceil)
}

/// So many decimals, rounded up: a printed noise keeps its budget.
pub fn decimals_above(value: f64, places: usize) -> String {
    let factor = 10f64.powi(places as i32);
    let rounded = (value * factor).ceil() / factor;
    format!("{:.*}", places, if rounded.is_finite() { rounded } else { value })
}

/// A measured number, to the nearest in five significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v.fract() == 0.0 && v < 1e12 => format!("{value}"),
        v if (1e-3..1e6).contains(&v) => {
            let places = (4 - v.log10().floor() as i32).max(0) as usize;
            let text = format!("{value:.places$}");
            let short = if text.contains('.') { text.trim_end_matches('0') } else { &text };
            short.trim_end_matches('.').into()
        }
        _ => format!("{value:.3e}"),
    }
}

/// A deviation, to the nearest in two significant digits.
pub(crate) fn rough(value: f64) -> String {
    digits(value, 2, f64::round)
}

/// A number of bytes, in the unit that suits it.
pub fn bytes(value: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let power = (value.max(1.0).log10() / 3.0 + 1e-12).floor().min(4.0) as usize;
    let scaled = value / 1000f64.powi(power as i32);
    let places = if power == 0 || scaled >= 100.0 { 0 } else { 1 };
    format!("{scaled:.places$} {}", units[power])
}

fn digits(value: f64, count: i32, round: fn(f64) -> f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let places = count - 1 - value.abs().log10().floor() as i32;
    let factor = 10f64.powi(places);
    if !factor.is_finite() || factor == 0.0 {
        return format!("{value:e}");
    }
    // A value that has so many digits already must not be pushed up by its own representation.
    let scaled = value * factor;
    let near = scaled.round();
    let exact = (scaled - near).abs() < 1e-7;
    let rounded = if exact { near } else { round(scaled) } / factor;
    if (1e-4..1e7).contains(&rounded.abs()) {
        let text = format!("{rounded:.*}", places.max(0) as usize);
        let text = if text.contains('.') { text.trim_end_matches('0') } else { &text };
        text.trim_end_matches('.').to_string()
    } else {
        format!("{rounded:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_bounds_are_rounded_against_us() {
        assert_eq!(significant(0.164_602_191_5), "0.1646022");
        assert_eq!(significant_below(0.164_602_191_5), "0.1646021");
        assert_eq!(significant(3.0), "3");
        assert_eq!(significant(1234.56789), "1234.568");
        assert_eq!(significant(1.23e-9), "1.23e-9");
        assert_eq!(significant(0.0), "0");
        assert_eq!(short_above(0.164_602_191_5), "0.1647");
        assert_eq!(short_above(12.0), "12");
        assert_eq!(epsilon(Epsilon::INFINITE), "no guarantee");
        assert_eq!(decimals_above(3.730_631_635_3, 9), "3.730631636");
    }

    #[test]
    fn measures_are_rounded_to_the_nearest_and_bytes_have_units() {
        assert_eq!(number(0.812_349_9), "0.81235");
        assert_eq!(number(1e-5), "1.000e-5");
        assert_eq!(number(4200.0), "4200");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(1000.0), "1.0 kB");
        assert_eq!(bytes(123_456_789.0), "123 MB");
    }
}
