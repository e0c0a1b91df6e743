//! How fast nodes come to agree: eigenvalues of sparse matrices, by the iterations of Lanczos
//! and, without symmetry, of Arnoldi.

mod arnoldi;
mod complex;
mod hessenberg;
mod lanczos;

use crate::graph::{Graph, NodeId};
use crate::mixing::Mixing;
use lanczos::Ends;

/// Why a rate is not known.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpectrumError {
    /// This is for symmetric matrices only.
    #[error("the matrix is not symmetric; ask for its second modulus or a window's contraction")]
    NotSymmetric,
    /// The iteration ran out of steps.
    #[error("no convergence in {steps} steps; the last value was {estimate}")]
    Slow {
        /// How many products with the matrix were made.
        steps: usize,
        /// The last value; a lower bound unless it is a [`second_modulus`].
        estimate: f64,
    },
    /// A window has at least one matrix.
    #[error("a window needs at least one round")]
    EmptyWindow,
    /// The matrices of a window do not go together.
    #[error("the matrices of a window must have one size, and all rows or all columns sum to one")]
    Mixed,
}

/// The second largest modulus of the eigenvalues of symmetric weights: every round of mixing
/// shrinks the distance from the mean at least by this factor. Zero for a single node. Beyond 4096
/// nodes the iteration stops when the gap changes by less than a millionth between two looks.
pub fn second_eigenvalue(mixing: &Mixing) -> Result<f64, SpectrumError> {
    if !mixing.properties().symmetric {
        return Err(SpectrumError::NotSymmetric);
    }
    let n_nodes = mixing.n_nodes() as usize;
    let product = |x: &[f64], out: &mut [f64]| mixing.apply(x, 1, out);
    let extremes = lanczos::extremes(n_nodes, Ends::Both, 1.0, product);
    let modulus = extremes.lowest.abs().max(extremes.highest.abs());
    extremes.converged_to(modulus)
}

/// The second largest modulus of the eigenvalues of any weights: in the long run, every round of
/// mixing shrinks disagreement by this factor, though the first rounds may not (see
/// [`window_contraction`] for what a finite number of rounds is sure to do). Zero for a single
/// node. Large random directed graphs have many eigenvalues of almost this modulus, and the
/// iteration may be [`SpectrumError::Slow`] to tell them apart.
pub fn second_modulus(mixing: &Mixing) -> Result<f64, SpectrumError> {
    if mixing.properties().symmetric {
        return second_eigenvalue(mixing);
    }
    // Rows that sum to one map constants to constants. Taking the mean away afterwards then
    // leaves all other eigenvalues as they are, and puts a zero for the first one. The transpose
    // has the same eigenvalues.
    let by_rows = mixing.properties().row_stochastic;
    arnoldi::largest_modulus(mixing.n_nodes() as usize, |x, out| {
        if by_rows {
            mixing.apply(x, 1, out);
        } else {
            mixing.apply_transposed(x, 1, out);
        }
    })
}

/// One less the [`second_eigenvalue`].
pub fn spectral_gap(mixing: &Mixing) -> Result<f64, SpectrumError> {
    second_eigenvalue(mixing).map(|modulus| 1.0 - modulus)
}

/// The largest eigenvalue of a graph's Laplacian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplacianMax {
    /// Converged from below, to about twelve digits up to 4096 nodes and some five beyond.
    pub estimate: f64,
    /// Certainly no less: the largest sum of two neighbours' degrees (Anderson and Morley,
    /// "Eigenvalues of the Laplacian of a graph", 1985), or the number of nodes if that is less.
    pub upper: f64,
}

/// The largest eigenvalue of the Laplacian of a symmetric graph.
pub fn laplacian_max(graph: &Graph) -> Result<LaplacianMax, SpectrumError> {
    if !graph.is_symmetric() {
        return Err(SpectrumError::NotSymmetric);
    }
    let degree = |node: NodeId| graph.in_degree(node) as f64;
    let sums = graph.edges().map(|(a, b)| degree(a) + degree(b));
    let upper = sums.fold(0.0, f64::max).min(f64::from(graph.n_nodes()));
    if upper == 0.0 {
        return Ok(LaplacianMax { estimate: 0.0, upper });
    }
    let extremes = lanczos::extremes(graph.n_nodes() as usize, Ends::Highest, upper, |x, out| {
        for node in graph.nodes() {
            let heard: f64 = graph.in_neighbours(node).iter().map(|j| x[j.idx()]).sum();
            out[node.idx()] = degree(node) * x[node.idx()] - heard;
        }
    });
    let estimate = extremes.converged_to(extremes.highest)?.min(upper);
    Ok(LaplacianMax { estimate, upper })
}

/// How much a window of rounds shrinks disagreement: the norm of `C P C`, where `P` is the product
/// of the matrices, the first one applied first, and `C` takes the mean away. For doubly
/// stochastic weights that is the norm of the product less the average; for row-stochastic ones
/// it bounds the distance from agreement, for column-stochastic ones the motion of what sums to
/// zero. It can exceed one for a window that is too short.
pub fn window_contraction(window: &[Mixing]) -> Result<f64, SpectrumError> {
    let first = window.first().ok_or(SpectrumError::EmptyWindow)?;
    let rows = window.iter().all(|mixing| mixing.properties().row_stochastic);
    let columns = window.iter().all(|mixing| mixing.properties().column_stochastic);
    let one_size = window.iter().all(|mixing| mixing.n_nodes() == first.n_nodes());
    if !one_size || !(rows || columns) {
        return Err(SpectrumError::Mixed);
    }
    let n_nodes = first.n_nodes() as usize;
    let mut scratch = vec![0.0; n_nodes];
    // Taking the mean away after every round changes nothing for stochastic weights, but what
    // rounding puts into it would stay while all else shrinks.
    let extremes = lanczos::extremes(n_nodes, Ends::Highest, 1.0, |x, out| {
        out.copy_from_slice(x);
        for mixing in window {
            scratch.copy_from_slice(out);
            mixing.apply(&scratch, 1, out);
            lanczos::remove_mean(out);
        }
        for mixing in window.iter().rev() {
            scratch.copy_from_slice(out);
            mixing.apply_transposed(&scratch, 1, out);
            lanczos::remove_mean(out);
        }
    });
    let norm = extremes.highest.max(0.0).sqrt();
    extremes.converged_to(norm)
}

/// How many rounds (or windows) that shrink a distance by `rate` shrink it to `tolerance`; none
/// if it never gets there.
pub fn rounds_to(rate: f64, tolerance: f64) -> Option<u64> {
    if tolerance >= 1.0 {
        return Some(0);
    }
    if !(tolerance > 0.0 && (0.0..1.0).contains(&rate)) {
        return None;
    }
    // The logarithm of zero is minus infinity, and one round is then enough.
    Some((tolerance.ln() / rate.ln()).ceil().max(1.0) as u64)
}

#[cfg(test)]
mod tests;
