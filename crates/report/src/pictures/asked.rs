//! The chart that a plan asks for.

use crate::chart::{Chart, Series};
use crate::drawing::{Drawing, Picture};
use crate::report::{ChartAsked, Point, Report, Variant};

impl Report {
    pub(crate) fn asked(&self) -> Option<Picture> {
        let asked = self.chart.as_ref()?;
        let chart = self.chart_of(asked);
        if chart.series.iter().all(|series| series.points.is_empty()) {
            return None;
        }
        Some(Picture {
            name: "chart".into(),
            title: self.name.clone(),
            caption: "The chart that the plan asks for.".into(),
            drawing: Drawing::Lines(chart),
        })
    }

    fn chart_of(&self, asked: &ChartAsked) -> Chart {
        let ChartAsked { x, y, log_x, log_y } = asked.clone();
        let mut series: Vec<Series> = Vec::new();
        for variant in &self.variants {
            if x == "round" || x == "time" {
                series.push(along(self.title_of(variant), variant, &x, &y));
                continue;
            }
            let value = match y.as_str() {
                "rounds-run" => Some(variant.rounds),
                metric => variant.metrics.get(metric).map(|spread| spread.mean),
            };
            let mut others: Vec<_> =
                self.varied.iter().filter_map(|key| variant.settings.get_key_value(key)).collect();
            if let Some(metric) = variant.metrics.get(&x) {
                // One metric over another: a line along the key that runs fastest.
                others.pop();
                add(&mut series, name(&others), value.map(|value| (metric.mean, value)));
                continue;
            }
            let place = others.iter().position(|(key, _)| **key == x);
            let at = place.map(|k| others.remove(k)).and_then(|(_, value)| value.as_f64());
            let Some(at) = at else { continue };
            add(&mut series, name(&others), value.map(|value| (at, value)));
        }
        Chart { title: self.name.clone(), x, y, log_x, log_y, series }
    }
}

fn along(name: &str, variant: &Variant, x: &str, y: &str) -> Series {
    let at = |point: &Point| {
        let across = if x == "time" { point.time? } else { point.round as f64 };
        let spread = point.metrics.get(y)?;
        Some(((across, spread.mean), (spread.least, spread.most)))
    };
    let (points, band) = variant.points.iter().filter_map(at).unzip();
    let band = if variant.traces.len() > 1 { band } else { Vec::new() };
    Series { name: name.into(), points, band }
}

/// Settings in words, as `noise sound, nodes 8`.
fn name(settings: &[(&String, &serde_json::Value)]) -> String {
    let part = |(key, value): &(&String, &serde_json::Value)| {
        let key = key.rsplit('.').next().unwrap_or(key);
        match value.as_str() {
            Some(word) => format!("{key} {word}"),
            None => format!("{key} {value}"),
        }
    };
    settings.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Puts a point, if there is one, at the end of the series of that name.
fn add(series: &mut Vec<Series>, name: String, point: Option<(f64, f64)>) {
    match (point, series.iter_mut().find(|series| series.name == name)) {
        (None, _) => {}
        (Some(point), Some(series)) => series.points.push(point),
        (Some(point), None) => {
            series.push(Series { name, points: vec![point], band: Vec::new() });
        }
    }
}
