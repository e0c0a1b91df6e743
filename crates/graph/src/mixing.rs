//! Mixing weights: how much of what it hears a node takes over.

mod apply;

use serde::{Deserialize, Serialize};

use crate::graph::{Graph, NodeId};
use crate::spectrum::{SpectrumError, laplacian_max};

/// A rule that turns a graph into weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// A node takes the same share of everybody it hears and of itself: row-stochastic.
    In,
    /// `I - L / kappa`, with `kappa` at least the largest degree. Needs a symmetric graph.
    Laplacian {
        /// The divisor.
        kappa: f64,
    },
    /// `I - 2 L / (3 lambda_max(L))`: the weights of document 004. Needs a symmetric graph.
    LaplacianMax,
    /// Metropolis and Hastings: `1 / (1 + max(degrees))`. Needs a symmetric graph.
    Metropolis,
    /// A node splits what it has evenly among its hearers and itself: column-stochastic.
    Out,
}

/// What is known of a matrix of weights; found out once, when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Rows sum to one: an agreement, once reached, stays.
    pub row_stochastic: bool,
    /// Columns sum to one: the sum over the nodes stays.
    pub column_stochastic: bool,
    /// The weight of `a` at `b` is that of `b` at `a`, to the last bit.
    pub symmetric: bool,
    /// No weight is below zero.
    pub nonnegative: bool,
}

impl Properties {
    /// Rows and columns sum to one: the mean stays, and all tend to it.
    pub fn doubly_stochastic(&self) -> bool {
        self.row_stochastic && self.column_stochastic
    }
}

/// Why there are no such weights.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MixingError {
    /// The rule is for graphs in which whoever is heard hears.
    #[error("these weights need a symmetric graph; take in- or out-weights for a directed one")]
    NotSymmetric,
    /// The divisor would make weights negative.
    #[error("kappa is {kappa}, but has to be finite and at least the largest degree, {degree}")]
    Kappa {
        /// The divisor.
        kappa: f64,
        /// The largest degree.
        degree: usize,
    },
    /// The largest eigenvalue of the Laplacian is not known.
    #[error("the largest eigenvalue of the Laplacian: {0}")]
    Spectrum(#[from] SpectrumError),
    /// A lazy matrix keeps a share below one.
    #[error("the share kept is {0}, but has to be at least 0 and below 1")]
    Share(f64),
    /// A weight is not a number, or its node does not exist.
    #[error("weight {weight} of node {sender} at node {receiver} is not finite or out of range")]
    Entry {
        /// Who takes it in.
        receiver: u32,
        /// Whose value it multiplies.
        sender: u32,
        /// The weight.
        weight: f64,
    },
    /// A weight was given twice.
    #[error("the weight of node {sender} at node {receiver} is given twice")]
    Twice {
        /// Who takes it in.
        receiver: u32,
        /// Whose value it multiplies.
        sender: u32,
    },
    /// Neither rows nor columns sum to one.
    #[error(
        "neither rows nor columns sum to one: row {row} sums to {row_sum}, column {column} to \
         {column_sum}"
    )]
    NotStochastic {
        /// The row that is farthest off.
        row: u32,
        /// Its sum.
        row_sum: f64,
        /// The column that is farthest off.
        column: u32,
        /// Its sum.
        column_sum: f64,
    },
}

/// A sparse matrix of weights by receiver; `W[i][j]` is what node `i` takes of node `j`'s value.
/// Rows or columns (or both) sum to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixing {
    starts: Vec<usize>,
    senders: Vec<NodeId>,
    weights: Vec<f64>,
    properties: Properties,
}

impl Mixing {
    /// The weights that a rule gives to a graph.
    pub fn new(graph: &Graph, rule: Weights) -> Result<Self, MixingError> {
        let share = |degree: usize| 1.0 / (degree + 1) as f64;
        match rule {
            Weights::In => Self::of(graph, |i, _| share(graph.in_degree(i)), Own::Rest),
            Weights::Out => {
                let weight = |_, j| share(graph.out_degree(j));
                Self::of(graph, weight, Own::Weight)
            }
            _ if !graph.is_symmetric() => Err(MixingError::NotSymmetric),
            Weights::Laplacian { kappa } => {
                let degree = graph.max_in_degree();
                if !(kappa.is_finite() && kappa > 0.0 && kappa >= degree as f64) {
                    return Err(MixingError::Kappa { kappa, degree });
                }
                Self::of(graph, |_, _| 1.0 / kappa, Own::Rest)
            }
            Weights::LaplacianMax => {
                // Without an edge there is nothing to divide: everybody keeps its own.
                let lambda = laplacian_max(graph)?.estimate.max(1.0);
                Self::of(graph, |_, _| 2.0 / (3.0 * lambda), Own::Rest)
            }
            Weights::Metropolis => {
                let weight = |i, j| share(graph.in_degree(i).max(graph.in_degree(j)));
                Self::of(graph, weight, Own::Rest)
            }
        }
    }

    /// Weights given one by one, `(receiver, sender, weight)`, in any order; what is not given
    /// is zero. Rows or columns have to sum to one; weights may be negative
    /// ([`Properties::nonnegative`] tells).
    pub fn custom<E>(n_nodes: u32, entries: E) -> Result<Self, MixingError>
    where
        E: IntoIterator<Item = (NodeId, NodeId, f64)>,
    {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_unstable_by_key(|&(i, j, _)| (i, j));
        for &(i, j, weight) in &entries {
            if i.0 >= n_nodes || j.0 >= n_nodes || !weight.is_finite() {
                return Err(MixingError::Entry { receiver: i.0, sender: j.0, weight });
            }
        }
        if let Some(pair) = entries.windows(2).find(|p| (p[0].0, p[0].1) == (p[1].0, p[1].1)) {
            return Err(MixingError::Twice { receiver: pair[0].0.0, sender: pair[0].1.0 });
        }
        let mut rows = entries.chunk_by(|a, b| a.0 == b.0).peekable();
        Self::collect(n_nodes, |i, row| {
            row.push((i, 0.0));
            if let Some(given) = rows.next_if(|given| given[0].0 == i) {
                row.extend(given.iter().filter(|e| e.1 != i).map(|e| (e.1, e.2)));
                row[0].1 = given.iter().find(|e| e.1 == i).map_or(0.0, |e| e.2);
            }
        })
    }

    /// `share I + (1 - share) W`: everybody keeps a share of its own, so that no eigenvalue is
    /// close to -1. A half makes a symmetric matrix positive semidefinite.
    pub fn lazy(&self, share: f64) -> Result<Self, MixingError> {
        if !(0.0..1.0).contains(&share) {
            return Err(MixingError::Share(share));
        }
        Self::collect(self.n_nodes(), |i, row| {
            row.extend(self.row(i).map(|(j, weight)| {
                (j, if i == j { share + (1.0 - share) * weight } else { (1.0 - share) * weight })
            }));
        })
    }

    /// How many nodes there are.
    pub fn n_nodes(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// What was checked when the matrix was made.
    pub fn properties(&self) -> Properties {
        self.properties
    }

    /// What a node takes of whom, in order of the senders, itself always among them.
    pub fn row(&self, receiver: NodeId) -> impl ExactSizeIterator<Item = (NodeId, f64)> + '_ {
        let range = self.starts[receiver.idx()]..self.starts[receiver.idx() + 1];
        range.map(|k| (self.senders[k], self.weights[k]))
    }

    /// `W[receiver][sender]`.
    pub fn weight(&self, receiver: NodeId, sender: NodeId) -> f64 {
        let start = self.starts[receiver.idx()];
        let row = &self.senders[start..self.starts[receiver.idx() + 1]];
        row.binary_search(&sender).map_or(0.0, |k| self.weights[start + k])
    }

    fn of<F>(graph: &Graph, weight: F, own: Own) -> Result<Self, MixingError>
    where
        F: Fn(NodeId, NodeId) -> f64,
    {
        Self::collect(graph.n_nodes(), |i, row| {
            row.extend(graph.in_neighbours(i).iter().map(|&j| (j, weight(i, j))));
            let taken: f64 = row.iter().map(|entry| entry.1).sum();
            row.push(match own {
                Own::Rest => (i, 1.0 - taken),
                Own::Weight => (i, weight(i, i)),
            });
        })
    }

    /// Collects row after row, then finds out what the matrix is.
    fn collect<F>(n_nodes: u32, mut fill: F) -> Result<Self, MixingError>
    where
        F: FnMut(NodeId, &mut Vec<(NodeId, f64)>),
    {
        let (mut starts, mut senders, mut weights) = (vec![0], Vec::new(), Vec::new());
        let mut row = Vec::new();
        for i in 0..n_nodes {
            row.clear();
            fill(NodeId(i), &mut row);
            row.sort_unstable_by_key(|entry| entry.0);
            senders.extend(row.iter().map(|entry| entry.0));
            weights.extend(row.iter().map(|entry| entry.1));
            starts.push(senders.len());
        }
        let properties = Properties {
            row_stochastic: false,
            column_stochastic: false,
            symmetric: false,
            nonnegative: weights.iter().all(|&weight| weight >= 0.0),
        };
        let mut mixing = Self { starts, senders, weights, properties };
        mixing.check()?;
        Ok(mixing)
    }

    fn check(&mut self) -> Result<(), MixingError> {
        let n_nodes = self.n_nodes() as usize;
        let (mut rows, mut columns) =
            (vec![Sum::default(); n_nodes], vec![Sum::default(); n_nodes]);
        let mut symmetric = true;
        for i in (0..self.n_nodes()).map(NodeId) {
            for (j, weight) in self.row(i) {
                rows[i.idx()].add(weight);
                columns[j.idx()].add(weight);
                symmetric &= self.weight(j, i) == weight;
            }
        }
        self.properties.row_stochastic = rows.iter().all(Sum::is_one);
        self.properties.column_stochastic = columns.iter().all(Sum::is_one);
        self.properties.symmetric = symmetric;
        if self.properties.row_stochastic || self.properties.column_stochastic {
            return Ok(());
        }
        let worst = |sums: &[Sum]| {
            let off = |i: &usize| (sums[*i].total - 1.0).abs();
            let idx = (0..sums.len()).max_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(0);
            (idx as u32, sums[idx].total)
        };
        let ((row, row_sum), (column, column_sum)) = (worst(&rows), worst(&columns));
        Err(MixingError::NotStochastic { row, row_sum, column, column_sum })
    }
}

/// What a node takes of its own value.
#[derive(Clone, Copy)]
enum Own {
    /// What the others leave.
    Rest,
    /// What the rule says.
    Weight,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    total: f64,
    size: f64,
    n_terms: u32,
}

impl Sum {
    fn add(&mut self, weight: f64) {
        self.total += weight;
        self.size += weight.abs();
        self.n_terms += 1;
    }

    /// One, but for what rounding of that many terms of that size can do.
    fn is_one(&self) -> bool {
        let rounding = f64::EPSILON * f64::from(self.n_terms) * self.size;
        (self.total - 1.0).abs() <= 1e-12 + rounding
    }
}

#[cfg(test)]
mod tests;
