//! Which node holds which record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use undertone_real::Real;

use crate::dataset::{Dataset, Features, Targets};
use crate::synthetic::{Source, Stream};

/// How records are dealt to nodes. Every record goes to exactly one node, every node gets at least
/// one, and a node's records are in the order of the data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partition {
    /// At random; sizes differ by one at most.
    Even,
    /// At random, so many to each node.
    Sizes(Vec<usize>),
    /// The records of each class in shares that follow a symmetric Dirichlet distribution: the
    /// smaller `alpha`, the more nodes differ. A node that would be empty takes a record from the
    /// largest.
    Dirichlet {
        /// Positive.
        alpha: f64,
    },
    /// All records of a group to the same node: the k-th group, by number, to node k modulo the
    /// number of nodes.
    Group,
    /// As `Group`, by the value of a feature.
    Column {
        /// The number of the feature.
        column: usize,
    },
}

/// Why records cannot be dealt.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PartitionError {
    /// There would be a node without records.
    #[error("{records} records are not enough for {nodes} nodes: each needs one at least")]
    TooFewRecords {
        /// What there is.
        records: usize,
        /// What there is to serve.
        nodes: usize,
    },
    /// No node at all.
    #[error("there must be at least one node")]
    NoNodes,
    /// Sizes do not describe these records and nodes.
    #[error("{0}")]
    Sizes(String),
    /// A parameter out of range.
    #[error("alpha of a Dirichlet partition is positive and finite, not {0}")]
    Alpha(f64),
    /// The targets are neither signs nor classes.
    #[error("a Dirichlet partition deals by class, and these records have none")]
    NoClasses,
    /// The data set has no groups.
    #[error("these records have no groups to be dealt by; name a protected attribute")]
    NoGroups,
    /// Groups are dealt as a whole.
    #[error("{groups} groups or values are not enough for {nodes} nodes: each needs one at least")]
    TooFewGroups {
        /// What there is.
        groups: usize,
        /// What there is to serve.
        nodes: usize,
    },
    /// There is no such feature.
    #[error("column {column} does not exist: there are {width}, numbered from 0")]
    NoColumn {
        /// What was asked for.
        column: usize,
        /// What there is.
        width: usize,
    },
    /// A value that has no order.
    #[error("record {0} has no number in the column that records are dealt by")]
    NotANumber(usize),
}

impl Partition {
    /// The numbers of the records of every node. Follows from its arguments alone.
    pub fn split<R: Real>(
        &self,
        data: &Dataset<R>,
        nodes: usize,
        seed: u64,
    ) -> Result<Vec<Vec<usize>>, PartitionError> {
        let records = data.records();
        if nodes == 0 {
            return Err(PartitionError::NoNodes);
        }
        if records < nodes {
            return Err(PartitionError::TooFewRecords { records, nodes });
        }
        let mut source = Source::named(seed, Stream::Partition);
        let mut parts = match self {
            Self::Even => {
                let sizes: Vec<usize> = (0..nodes)
                    .map(|k| records / nodes + usize::from(k < records % nodes))
                    .collect();
                by_size(&sizes, records, &mut source)
            }
            Self::Sizes(sizes) => {
                check_sizes(sizes, records, nodes)?;
                by_size(sizes, records, &mut source)
            }
            Self::Dirichlet { alpha } => by_class(*alpha, data, nodes, &mut source)?,
            Self::Group => {
                let groups = data.groups().ok_or(PartitionError::NoGroups)?;
                by_key(groups.iter().copied().enumerate(), nodes)?
            }
            Self::Column { column } => {
                by_key(column_values(data, *column)?.into_iter().enumerate(), nodes)?
            }
        };
        parts.iter_mut().for_each(|part| part.sort_unstable());
        Ok(parts)
    }
}

fn check_sizes(sizes: &[usize], records: usize, nodes: usize) -> Result<(), PartitionError> {
    let wrong = |message: String| Err(PartitionError::Sizes(message));
    if sizes.len() != nodes {
        return wrong(format!("there are {} sizes for {nodes} nodes", sizes.len()));
    }
    if let Some(node) = sizes.iter().position(|size| *size == 0) {
        return wrong(format!("node {node} would have no records"));
    }
    let total = sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size));
    if total != Some(records) {
        let total = total.map_or("too many".to_owned(), |total| total.to_string());
        return wrong(format!("sizes add up to {total}, but there are {records} records"));
    }
    Ok(())
}

fn by_size(sizes: &[usize], records: usize, source: &mut Source) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..records).collect();
    source.shuffle(&mut order);
    let mut rest = order.as_slice();
    let mut parts = Vec::with_capacity(sizes.len());
    for size in sizes {
        let (part, others) = rest.split_at(*size);
        parts.push(part.to_vec());
        rest = others;
    }
    parts
}

fn by_class<R: Real>(
    alpha: f64,
    data: &Dataset<R>,
    nodes: usize,
    source: &mut Source,
) -> Result<Vec<Vec<usize>>, PartitionError> {
    if !(alpha > 0.0 && alpha.is_finite()) {
        return Err(PartitionError::Alpha(alpha));
    }
    let mut classes: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    match data.targets() {
        Targets::Sign(signs) => signs.iter().enumerate().for_each(|(record, y)| {
            classes.entry(u32::from(*y > R::ZERO)).or_default().push(record);
        }),
        Targets::Class { of, .. } => of.iter().enumerate().for_each(|(record, class)| {
            classes.entry(*class).or_default().push(record);
        }),
        _ => return Err(PartitionError::NoClasses),
    }
    let mut parts = vec![Vec::new(); nodes];
    for records in classes.values_mut() {
        source.shuffle(records);
        let shares = dirichlet(alpha, nodes, source);
        let (mut share, mut first) = (0.0, 0);
        for (k, part) in parts.iter_mut().enumerate() {
            share += shares[k];
            // The last node takes what rounding left.
            let end = (share * records.len() as f64).round() as usize;
            let end = if k + 1 == nodes { records.len() } else { end.clamp(first, records.len()) };
            part.extend_from_slice(&records[first..end]);
            first = end;
        }
    }
    fill_empty(&mut parts);
    Ok(parts)
}

fn dirichlet(alpha: f64, nodes: usize, source: &mut Source) -> Vec<f64> {
    let logarithms: Vec<f64> = (0..nodes).map(|_| source.ln_gamma(alpha)).collect();
    let top = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logarithms.iter().map(|l| libm::exp(l - top)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// There are at least as many records as nodes, so the largest part has two while one is empty.
fn fill_empty(parts: &mut [Vec<usize>]) {
    for node in 0..parts.len() {
        if !parts[node].is_empty() {
            continue;
        }
        let mut largest = 0;
        for k in 1..parts.len() {
            if parts[k].len() > parts[largest].len() {
                largest = k;
            }
        }
        let record = parts[largest].pop().expect("there are at least as many records as nodes");
        parts[node].push(record);
    }
}

fn by_key<K: Ord>(
    keys: impl Iterator<Item = (usize, K)>,
    nodes: usize,
) -> Result<Vec<Vec<usize>>, PartitionError> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (record, key) in keys {
        groups.entry(key).or_default().push(record);
    }
    if groups.len() < nodes {
        return Err(PartitionError::TooFewGroups { groups: groups.len(), nodes });
    }
    let mut parts = vec![Vec::new(); nodes];
    for (k, records) in groups.into_values().enumerate() {
        parts[k % nodes].extend(records);
    }
    Ok(parts)
}

/// The values of a feature, as whole numbers in the same order.
fn column_values<R: Real>(data: &Dataset<R>, column: usize) -> Result<Vec<i64>, PartitionError> {
    if column >= data.width() {
        return Err(PartitionError::NoColumn { column, width: data.width() });
    }
    let value = |record: usize| match data.features() {
        Features::Dense { width, values } => values[record * width + column],
        Features::Sparse { starts, columns, values, .. } => {
            let range = starts[record]..starts[record + 1];
            let found = columns[range.clone()].binary_search(&(column as u32));
            found.map_or(R::ZERO, |k| values[range.start + k])
        }
    };
    let key = |record: usize| {
        let value = value(record).to_f64();
        if value.is_nan() {
            return Err(PartitionError::NotANumber(record));
        }
        // Adding zero makes one of the two zeros; negative numbers order backwards by their bits.
        let bits = (value + 0.0).to_bits() as i64;
        Ok(if bits < 0 { i64::MIN - bits } else { bits })
    };
    (0..data.records()).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(records: usize, classes: u32) -> Dataset<f64> {
        let values = (0..records).map(|r| (r % 7) as f64 - 3.0).collect();
        let of = (0..records).map(|r| r as u32 % classes).collect();
        let groups = (0..records).map(|r| r as u32 % 5 * 10).collect();
        let features = Features::Dense { width: 1, values };
        let data = Dataset::new(features, Targets::Class { classes, of }).unwrap();
        data.with_groups(groups).unwrap()
    }

    fn sorted_union(parts: &[Vec<usize>]) -> Vec<usize> {
        let mut all: Vec<usize> = parts.iter().flatten().copied().collect();
        all.sort_unstable();
        all
    }

    proptest! {
        #[test]
        fn every_record_is_dealt_once_and_no_node_is_empty(
            records in 1_usize..300,
            classes in 1_u32..12,
            nodes in 1_usize..20,
            seed: u64,
            alpha in prop_oneof![Just(1e-6), 1e-3..100.0],
            kind in 0..4,
        ) {
            let data = data(records, classes);
            let partition = match kind {
                0 => Partition::Even,
                1 => Partition::Dirichlet { alpha },
                2 => Partition::Group,
                _ => Partition::Column { column: 0 },
            };
            match partition.split(&data, nodes, seed) {
                Ok(parts) => {
                    prop_assert_eq!(parts.len(), nodes);
                    prop_assert!(parts.iter().all(|part| !part.is_empty()));
                    prop_assert!(parts.iter().all(|part| part.is_sorted()));
                    prop_assert_eq!(sorted_union(&parts), (0..records).collect::<Vec<_>>());
                    prop_assert_eq!(parts, partition.split(&data, nodes, seed).unwrap());
                }
                Err(PartitionError::TooFewRecords { .. }) => prop_assert!(records < nodes),
                Err(PartitionError::TooFewGroups { groups, .. }) => {
                    prop_assert!(groups < nodes && kind >= 2);
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn sizes_are_kept() {
        let parts = Partition::Sizes(vec![1, 5, 4]).split(&data(10, 2), 3, 1).unwrap();
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1, 5, 4]);
        assert_eq!(sorted_union(&parts), (0..10).collect::<Vec<_>>());
        for (sizes, message) in [
            (vec![1, 9], "there are 2 sizes for 3 nodes"),
            (vec![1, 2, 3], "sizes add up to 6, but there are 10 records"),
            (vec![10, 0, 0], "node 1 would have no records"),
            (vec![usize::MAX, 1, 10], "sizes add up to too many, but there are 10 records"),
        ] {
            let error = Partition::Sizes(sizes).split(&data(10, 2), 3, 1).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_small_alpha_separates_classes_and_a_large_one_does_not() {
        let data = data(10_000, 10);
        let largest_share = |alpha: f64| {
            let parts = Partition::Dirichlet { alpha }.split(&data, 10, 3).unwrap();
            let share = |part: &Vec<usize>| {
                let mut counts = [0.0; 10];
                part.iter().for_each(|record| counts[record % 10] += 1.0);
                counts.iter().copied().fold(0.0, f64::max) / part.len() as f64
            };
            parts.iter().map(share).sum::<f64>() / 10.0
        };
        assert!(largest_share(0.05) > 0.5, "{}", largest_share(0.05));
        assert!(largest_share(1000.0) < 0.15, "{}", largest_share(1000.0));
    }

    #[test]
    fn columns_order_by_value() {
        let values = vec![-2.0, 0.0, 3.0, -0.0, -5.0];
        let features = Features::Dense { width: 1, values };
        let data = Dataset::new(features, Targets::None).unwrap();
        let parts = Partition::Column { column: 0 }.split(&data, 4, 0).unwrap();
        assert_eq!(parts, [vec![4], vec![0], vec![1, 3], vec![2]]);
    }

    #[test]
    fn what_cannot_be_dealt_is_said() {
        let none =
            |partition: Partition, nodes| partition.split(&data(10, 2), nodes, 0).unwrap_err();
        assert_eq!(none(Partition::Even, 0), PartitionError::NoNodes);
        let alpha = Partition::Dirichlet { alpha: 0.0 };
        assert_eq!(none(alpha, 2), PartitionError::Alpha(0.0));
        let message = none(Partition::Column { column: 3 }, 2).to_string();
        assert_eq!(message, "column 3 does not exist: there are 1, numbered from 0");
    }

    #[test]
    fn it_is_written_in_kebab_case() {
        let read = |text| serde_json::from_str::<Partition>(text).unwrap();
        assert_eq!(read("\"even\""), Partition::Even);
        assert_eq!(read(r#"{"dirichlet": {"alpha": 0.5}}"#), Partition::Dirichlet { alpha: 0.5 });
        assert_eq!(read(r#"{"sizes": [1, 2]}"#), Partition::Sizes(vec![1, 2]));
    }
}
