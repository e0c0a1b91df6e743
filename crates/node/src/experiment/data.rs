//! What the nodes have.

use undertone_model::synthetic::Source;

use crate::plan::{NumbersPlan, PlanError, SourceWord};

/// More numbers than this are refused: some 8 GB.
pub(super) const MAX_NUMBERS: f64 = 1e9;

pub(super) fn check(data: &NumbersPlan, nodes: u32) -> Result<(), PlanError> {
    let error = |key: &str, message: String| Err(PlanError::new(format!("data.{key}"), message));
    if data.dimension == 0 {
        return error("dimension", "must be at least 1".into());
    }
    if data.records == 0 {
        return error("records", "must be at least 1".into());
    }
    let numbers = f64::from(nodes) * data.dimension as f64 * data.records as f64;
    if numbers > MAX_NUMBERS {
        return error("records", format!("{numbers:e} numbers in all are too many; take fewer"));
    }
    let uniform = data.source == Some(SourceWord::Uniform);
    let truncated = data.source == Some(SourceWord::TruncatedGaussian);
    for (key, value, taken) in [
        ("low", data.low, uniform),
        ("high", data.high, uniform),
        ("mean", data.mean, truncated),
        ("radius", data.radius, truncated),
    ] {
        match value {
            Some(_) if !taken => return error(key, "this source does not take it".into()),
            None if taken => return error(key, "this source needs it".into()),
            Some(value) if !value.is_finite() => return error(key, "must be finite".into()),
            _ => {}
        }
    }
    if let (Some(low), Some(high)) = (data.low, data.high)
        && low >= high
    {
        return error("low", format!("must be below high ({high}), got {low}"));
    }
    if let (Some(mean), Some(radius)) = (data.mean, data.radius) {
        if radius <= 0.0 {
            return error("radius", format!("must be positive, got {radius}"));
        }
        if mean.abs() > radius + 3.0 {
            let message =
                format!("is more than 3 outside of the radius {radius}: nothing is drawn");
            return error("mean", message);
        }
    }
    match (&data.values, data.source) {
        (None, None) => error("source", "needs a source, or values".into()),
        (Some(_), Some(_)) => error("values", "there is a source already; leave one out".into()),
        (Some(values), None) => check_values(data, values, nodes),
        (None, Some(_)) => Ok(()),
    }
}

fn check_values(data: &NumbersPlan, values: &[Vec<f64>], nodes: u32) -> Result<(), PlanError> {
    let error = |message: String| Err(PlanError::new("data.values", message));
    if values.len() != nodes as usize {
        return error(format!("has {} rows, but there are {nodes} nodes", values.len()));
    }
    let wanted = data.dimension as u64 * data.records;
    for (node, row) in values.iter().enumerate() {
        if row.len() as u64 != wanted {
            return error(format!(
                "row {node} has {} numbers, but {} records of {} are {wanted}",
                row.len(),
                data.records,
                data.dimension
            ));
        }
        if row.iter().any(|v| !v.is_finite()) {
            return error(format!("row {node} has a number that is not finite"));
        }
    }
    Ok(())
}

/// A node's records, one after the other.
pub(super) fn of(data: &NumbersPlan, seed: u64, node: u32) -> Vec<f64> {
    if let Some(values) = &data.values {
        return values[node as usize].clone();
    }
    let count = data.dimension * data.records as usize;
    let (first, second) = match data.source {
        Some(SourceWord::TruncatedGaussian) => (data.mean, data.radius),
        _ => (data.low, data.high),
    };
    let mut source = Source::new(seed, node);
    let parameter = |value: Option<f64>| value.expect("checked with the source");
    match data.source {
        Some(SourceWord::TruncatedGaussian) => {
            source.truncated_normal(parameter(first), parameter(second), count)
        }
        _ => source.uniform(parameter(first), parameter(second), count),
    }
}

/// The largest number that there can be, by what is written.
pub(super) fn largest(data: &NumbersPlan) -> f64 {
    let values = data.values.iter().flatten().flatten();
    let written = values.copied().fold(0.0, |most: f64, v| most.max(v.abs()));
    let drawn = match data.source {
        Some(SourceWord::TruncatedGaussian) => data.radius,
        _ => data.low.zip(data.high).map(|(low, high)| low.abs().max(high.abs())),
    };
    written.max(drawn.unwrap_or(0.0)).max(1.0)
}
