//! Which pictures a report has.

mod asked;

use crate::bars::{Bars, Group, MOST_GROUPS};
use crate::chart::{Chart, Series};
use crate::drawing::{Drawing, Picture};
use crate::network::Net;
use crate::numbers::{bytes, number, short_above};
use crate::report::{Metric, Network, Report, Variant};
use crate::scatter::{Dot, Scatter, front};

/// More lines than this cannot be told apart.
const MOST_SERIES: usize = 16;

/// More networks than this say nothing new.
const MOST_NETWORKS: usize = 4;

impl Report {
    /// All pictures, in the order of the page.
    pub fn pictures(&self) -> Vec<Picture> {
        let mut pictures: Vec<Picture> = self.asked().into_iter().collect();
        pictures.extend(self.curves());
        pictures.extend(self.spending());
        pictures.extend(self.claims());
        pictures.extend(self.front());
        pictures.extend(self.fairness());
        pictures.extend(self.network_pictures());
        pictures.extend(self.traffic());
        pictures
    }

    /// Every metric over rounds, with spread.
    pub(crate) fn curves(&self) -> Vec<Picture> {
        let curve = |metric: &Metric| {
            let shown = self.variants.iter().take(MOST_SERIES);
            let series: Vec<Series> =
                shown.map(|variant| self.curve(variant, &metric.name)).collect();
            if series.iter().all(|series| series.points.len() < 2) {
                return None;
            }
            let chart = Chart {
                title: metric.name.clone(),
                x: "round".into(),
                y: metric.name.clone(),
                log_x: false,
                log_y: is_logarithmic(metric, &series),
                series,
            };
            let repeats = self.variants.iter().map(|variant| variant.traces.len()).max();
            let band = match repeats {
                Some(n) if n > 1 => {
                    format!("Lines are means of {n} repetitions, bands the least and the most. ")
                }
                _ => String::new(),
            };
            let cut = cut(self.variants.len(), MOST_SERIES, "variants");
            Some(Picture {
                name: format!("metric-{}", metric.name),
                title: format!("{} by round", metric.name),
                caption: format!("{band}{}{cut}", axis_word(chart.log_y)),
                drawing: Drawing::Lines(chart),
            })
        };
        self.metrics.iter().filter(|metric| !metric.fairness).filter_map(curve).collect()
    }

    fn curve(&self, variant: &Variant, metric: &str) -> Series {
        let seen = variant.points.iter().filter_map(|p| Some((p.round, *p.metrics.get(metric)?)));
        let (points, band): (Vec<_>, Vec<_>) = seen
            .map(|(round, spread)| ((round as f64, spread.mean), (spread.least, spread.most)))
            .unzip();
        let spreads = variant.traces.len() > 1;
        let band = if spreads { band } else { Vec::new() };
        Series { name: self.title_of(variant).into(), points, band }
    }

    /// What nodes had spent on the way. Of many variants, only the weakest promise of each.
    pub(crate) fn spending(&self) -> Option<Picture> {
        let many: usize = self.variants.iter().map(|variant| variant.spending.len()).sum();
        let mut series: Vec<Series> = Vec::new();
        for variant in &self.variants {
            let last = |k: usize| variant.spending[k].points.last().and_then(|spent| spent.epsilon);
            let finite = (0..variant.spending.len()).filter(|k| last(*k).is_some());
            let mut chosen: Vec<usize> = finite.collect();
            if many > MOST_SERIES {
                chosen.sort_by(|a, b| last(*b).partial_cmp(&last(*a)).expect("they are finite"));
                chosen.truncate(1);
            }
            for k in chosen {
                let spending = &variant.spending[k];
                let name = match (self.variants.len(), variant.spending.len()) {
                    (1, _) => spending.nodes.to_string(),
                    (_, 1) => self.title_of(variant).into(),
                    _ => format!("{}, {}", self.title_of(variant), spending.nodes),
                };
                let at = |s: &crate::report::Spent| Some((s.round as f64, s.epsilon?));
                let points = spending.points.iter().filter_map(at).collect();
                series.push(Series { name, points, band: Vec::new() });
            }
        }
        let cut = cut(series.len(), MOST_SERIES, "lines");
        series.truncate(MOST_SERIES);
        // What is released at once needs no picture.
        let is_flat = |series: &Series| series.points.windows(2).all(|w| w[0].1 == w[1].1);
        if series.iter().all(is_flat) {
            return None;
        }
        let last: Vec<f64> = series.iter().filter_map(|s| s.points.last().map(|p| p.1)).collect();
        let none = self.variants.iter().filter(|variant| variant.epsilon.is_none()).count();
        let bare = match none {
            0 => String::new(),
            1 => " One variant has no guarantee and is not drawn.".into(),
            n => format!(" {n} variants have no guarantee and are not drawn."),
        };
        let chart = Chart {
            title: "epsilon spent by round".into(),
            x: "round".into(),
            y: "ε spent, at most".into(),
            log_x: false,
            log_y: spans_decades(last.iter().copied()),
            series,
        };
        Some(Picture {
            name: "spending".into(),
            title: "Privacy spent on the way".into(),
            caption: format!(
                "An upper bound on what each node had released by then, by quick accountants and \
                 capped by the guarantee of the whole run, which is tighter.{bare}{cut}"
            ),
            drawing: Drawing::Lines(chart),
        })
    }

    /// What papers claim beside what is true.
    pub(crate) fn claims(&self) -> Option<Picture> {
        let claimed =
            self.variants.iter().filter_map(|variant| Some((variant, variant.claim.as_ref()?)));
        let groups: Vec<Group> = claimed
            .map(|(variant, claim)| Group {
                name: format!("{}: {}", self.title_of(variant), claim.source),
                bars: vec![
                    (claim.epsilon, number(claim.epsilon)),
                    match variant.epsilon {
                        Some(epsilon) => (epsilon, short_above(epsilon)),
                        None => (f64::INFINITY, "no guarantee".into()),
                    },
                ],
            })
            .collect();
        if groups.is_empty() {
            return None;
        }
        let cut = cut(groups.len(), MOST_GROUPS, "variants");
        let names = vec!["claimed by the paper".into(), "proved, at most".into()];
        let bars = Bars { x: "ε (logarithmic)".into(), log: true, names, groups };
        Some(Picture {
            name: "claims".into(),
            title: "Epsilon as claimed and as proved".into(),
            caption: format!(
                "For the noise that was added: the epsilon of the paper, and what is proved for \
                 what ran, for the node with the weakest promise.{cut}"
            ),
            drawing: Drawing::Bars(bars),
        })
    }

    /// Epsilon against the most important metric, over variants.
    pub(crate) fn front(&self) -> Option<Picture> {
        let accuracy = self.metrics.iter().find(|metric| metric.name == "accuracy");
        let metric = accuracy.or(self.metrics.first())?;
        let first = self.variants.iter().find_map(Variant::weakest)?;
        let comparable = |variant: &&Variant| {
            variant.weakest().is_some_and(|promise| {
                let (a, b) = (&promise.guarantee, &first.guarantee);
                a.epsilon.get().is_infinite()
                    || (a.adjacency, a.unit, a.observer) == (b.adjacency, b.unit, b.observer)
                        && a.delta == b.delta
            })
        };
        let chosen: Vec<&Variant> = self.variants.iter().filter(comparable).collect();
        let dots: Vec<Dot> = chosen
            .iter()
            .filter_map(|variant| {
                let spread = variant.metrics.get(&metric.name)?;
                let name = self.title_of(variant).to_string();
                let (y, low, high) = (spread.mean, spread.least, spread.most);
                Some(Dot { name, x: variant.epsilon, y, low, high })
            })
            .collect();
        let mut levels: Vec<f64> = dots.iter().filter_map(|dot| dot.x).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let bare = dots.iter().any(|dot| dot.x.is_none());
        let (least, most) = (*levels.first()?, *levels.last()?);
        if levels.len() + usize::from(bare) < 2 {
            return None;
        }
        let places: Vec<_> = dots.iter().map(|dot| (dot.x.unwrap_or(f64::NAN), dot.y)).collect();
        let front = front(&places, metric.higher_is_better);
        let series: Vec<Series> = dots
            .iter()
            .map(|dot| Series { points: vec![(0.0, dot.y)], ..Series::default() })
            .collect();
        let scatter = Scatter {
            x: "ε of the weakest promise".into(),
            y: metric.name.clone(),
            log_x: least > 0.0 && most / least > 5.0,
            log_y: is_logarithmic(metric, &series),
            points: dots,
            front,
        };
        let left = self.variants.len() - chosen.len();
        let left = match left {
            0 => String::new(),
            n => format!(
                " {n} variants with another delta, adjacency, unit or observer are left out."
            ),
        };
        Some(Picture {
            name: "front".into(),
            title: format!("Privacy and {}", metric.name),
            caption: format!(
                "Every point is a variant; upright lines are the spread over repetitions. The \
                 dashed line goes through those that no other beats.{left}"
            ),
            drawing: Drawing::Scatter(scatter),
        })
    }

    /// What fairness costs: accuracy over the first measure of fairness.
    pub(crate) fn fairness(&self) -> Option<Picture> {
        let measure = self.metrics.iter().find(|metric| metric.fairness)?;
        let metric = self.metrics.iter().find(|metric| metric.name == "accuracy")?;
        let dot = |variant: &Variant| {
            let (x, y) =
                variant.metrics.get(&measure.name).zip(variant.metrics.get(&metric.name))?;
            let name = self.title_of(variant).to_string();
            Some(Dot { name, x: Some(x.mean), y: y.mean, low: y.least, high: y.most })
        };
        let points: Vec<Dot> = self.variants.iter().filter_map(dot).collect();
        if points.len() < 2 {
            return None;
        }
        let scatter = Scatter {
            x: measure.name.clone(),
            y: metric.name.clone(),
            log_x: false,
            log_y: false,
            points,
            front: Vec::new(),
        };
        Some(Picture {
            name: "fairness".into(),
            title: format!("{} and {}", metric.name, measure.name),
            caption: "Of held-out records, by the mean of all nodes' models. Measures without an \
                      interval: differences of a few parts in a hundred may be chance."
                .into(),
            drawing: Drawing::Scatter(scatter),
        })
    }

    pub(crate) fn network_pictures(&self) -> Vec<Picture> {
        // Where all nodes promise the same, another epsilon is no reason for another picture.
        let is_even = |network: &Network| {
            network.shown.windows(2).all(|pair| pair[0].epsilon == pair[1].epsilon)
        };
        let mut shown: Vec<&Network> = Vec::new();
        for network in self.networks.iter().filter(|network| network.nodes > 1) {
            let alike = |known: &&Network| known.lines == network.lines;
            if !is_even(network) || !shown.iter().any(alike) {
                shown.push(network);
            }
        }
        let shown = shown.into_iter().take(MOST_NETWORKS).enumerate();
        shown.map(|(index, network)| self.network_picture(index, network)).collect()
    }

    fn network_picture(&self, index: usize, network: &Network) -> Picture {
        let labels: Vec<&str> = network
            .variants
            .iter()
            .filter_map(|k| self.variants.get(*k))
            .map(|variant| self.title_of(variant))
            .collect();
        let whose = match labels.len() {
            n if n == self.variants.len() => String::new(),
            n if n > 4 => format!(" Of {} and {} more variants.", labels[0], n - 1),
            _ => format!(" Of {}.", labels.join(", ")),
        };
        let (nodes, drawn) = (network.nodes as usize, network.shown.len());
        let sample = match drawn < nodes {
            true => format!(" {drawn} of {nodes} nodes are drawn, near node 0."),
            false => String::new(),
        };
        let lines = if network.directed { "directed lines" } else { "lines" };
        Picture {
            name: format!("network-{}", index + 1),
            title: format!("{nodes} nodes, {} {lines}", network.edges),
            caption: format!(
                "{}. Colours are the epsilon of each node's guarantee; point at a node for its \
                 budget.{sample}{whose}",
                network.what
            ),
            drawing: Drawing::Net(Net::new(network)),
        }
    }

    /// What was sent.
    pub(crate) fn traffic(&self) -> Option<Picture> {
        if self.variants.len() < 2 || self.variants.iter().all(|variant| variant.bytes == 0.0) {
            return None;
        }
        let group = |variant: &Variant| Group {
            name: self.title_of(variant).into(),
            bars: vec![(
                variant.bytes,
                format!("{} in {} messages", bytes(variant.bytes), number(variant.messages)),
            )],
        };
        let groups: Vec<Group> = self.variants.iter().map(group).collect();
        let cut = cut(groups.len(), MOST_GROUPS, "variants");
        let bars = Bars { x: "bytes".into(), log: false, names: Vec::new(), groups };
        Some(Picture {
            name: "bytes".into(),
            title: "Bytes sent".into(),
            caption: format!("By all nodes together, on average over repetitions.{cut}"),
            drawing: Drawing::Bars(bars),
        })
    }
}

/// Shares are drawn as they are; what falls over decades by its logarithm.
pub(crate) fn is_logarithmic(metric: &Metric, series: &[Series]) -> bool {
    if metric.higher_is_better || metric.fairness {
        return false;
    }
    let values = || series.iter().flat_map(|series| &series.points).map(|point| point.1);
    spans_decades(values()) && !values().any(|value| value < 0.0)
}

fn spans_decades(values: impl Iterator<Item = f64>) -> bool {
    let positive = values.filter(|v| *v > 0.0 && v.is_finite());
    let (low, high) = positive.fold((f64::INFINITY, 0f64), |(a, b), v| (a.min(v), b.max(v)));
    low < high && high / low > 20.0
}

fn axis_word(log: bool) -> &'static str {
    if log { "The vertical axis is logarithmic." } else { "" }
}

fn cut(count: usize, most: usize, what: &str) -> String {
    match count > most {
        true => format!(" Only the first {most} of {count} {what} are drawn."),
        false => String::new(),
    }
}
