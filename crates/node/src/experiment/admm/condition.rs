//! Whether recycled ADMM is known to converge.

use undertone_graph::{Graph, NodeId};
use undertone_protocol::Penalty;

/// The sufficient condition of paper 002, theorem IV.1, for R-ADMM and MR-ADMM without noise and
/// with one penalty for all nodes: whether there are constants `L` and `mu` with which matrices (i)
/// and (ii) of the theorem are positive definite in every iteration. `smoothness` bounds the second
/// derivative of every node's objective.
///
/// It is sufficient, not necessary, and by the paper's words a large enough `gamma` always meets
/// it. That is not so where the graph is bipartite (a path, a star, an even ring): `D + A` is
/// singular then, and (ii) holds for no `gamma`.
///
/// # References
///
/// Zhang, Khalili, Liu (paper 002), theorem IV.1 and conditions (iii) and (iv).
pub fn recycling_converges(
    graph: &Graph,
    penalty: Penalty,
    gamma: f64,
    smoothness: &[f64],
    iterations: u64,
) -> bool {
    // Between the first and the last all matrices change steadily; with a constant penalty not at
    // all.
    let last = if penalty.growth == 1.0 { 0 } else { iterations.saturating_sub(2) };
    let stages: Vec<Stage> = [0, last / 2, last]
        .iter()
        .map(|k| Stage::new(graph, penalty.at(*k), penalty.at(*k + 1), gamma, smoothness))
        .collect();
    const CHOICES: [f64; 9] = [0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0];
    let fits = |l: f64, mu: f64| stages.iter().all(|stage| stage.holds(l, mu));
    CHOICES.iter().any(|l| CHOICES.iter().any(|above| fits(*l, 1.0 + above)))
}

/// The matrices of one iteration.
struct Stage {
    /// Number of nodes.
    n: usize,
    /// `W(t+1)(D+A)`.
    signless: Matrix,
    /// `W(t+1)(D+A) D~^-1`.
    scaled: Matrix,
    /// `W(t)(D-A)`.
    laplacian: Matrix,
    /// `(W(t+1)(D-A))^+ D_M`.
    inverse: Matrix,
    /// The diagonal of `D_M`.
    squares: Vec<f64>,
    /// The least of `D~`.
    least: f64,
}

/// Row by row.
type Matrix = Vec<f64>;

impl Stage {
    fn new(graph: &Graph, eta: f64, next: f64, gamma: f64, smoothness: &[f64]) -> Self {
        let n = graph.n_nodes() as usize;
        let degree = |i: usize| graph.in_degree(NodeId(i as u32)) as f64;
        let entry = |i: usize, j: usize, sign: f64| {
            let joined = graph.has_edge(NodeId(j as u32), NodeId(i as u32));
            if i == j { degree(i) } else { sign * f64::from(u8::from(joined)) }
        };
        let matrix = |f: &dyn Fn(usize, usize) -> f64| -> Matrix {
            (0..n * n).map(|k| f(k / n, k % n)).collect()
        };
        let divisor = |i: usize| 2.0 * eta * degree(i) + gamma;
        let squares: Vec<f64> = smoothness.iter().map(|m| m * m).collect();
        // The pseudo-inverse of a connected Laplacian: J/n fills its null space.
        let share = 1.0 / n as f64;
        let filled = matrix(&|i, j| entry(i, j, -1.0) + share);
        let inverse = inverted(filled, n);
        let inverse = matrix(&|i, j| (inverse[i * n + j] - share) / next * squares[j]);
        Self {
            n,
            signless: matrix(&|i, j| next * entry(i, j, 1.0)),
            scaled: matrix(&|i, j| next * entry(i, j, 1.0) / divisor(j)),
            laplacian: matrix(&|i, j| eta * entry(i, j, -1.0)),
            inverse,
            squares,
            least: (0..n).map(divisor).fold(f64::INFINITY, f64::min),
        }
    }

    fn holds(&self, l: f64, mu: f64) -> bool {
        let n = self.n;
        let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
        let first: Matrix = (0..n * n)
            .map(|k| {
                unit(k / n, k % n) + self.scaled[k] - l * mu / (2.0 * self.least) * self.inverse[k]
            })
            .collect();
        let inner: Matrix =
            self.laplacian.iter().zip(&self.signless).map(|(a, b)| a + 2.0 / l * b).collect();
        let product = multiplied(&self.scaled, &inner, n);
        let weight = l * mu / (2.0 * self.least * (mu - 1.0));
        let second: Matrix = (0..n * n)
            .map(|k| {
                let diagonal = unit(k / n, k % n) * self.squares[k / n];
                self.signless[k] - product[k] - weight * diagonal
            })
            .collect();
        is_positive(&first, n) && is_positive(&second, n)
    }
}

fn multiplied(a: &[f64], b: &[f64], n: usize) -> Matrix {
    let at = |i: usize, j: usize| (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
    (0..n * n).map(|k| at(k / n, k % n)).collect()
}

/// By Gauss and Jordan; the matrix is positive definite, so that no pivot vanishes.
fn inverted(mut a: Matrix, n: usize) -> Matrix {
    let mut out: Matrix = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
    for p in 0..n {
        let pivot = a[p * n + p];
        for m in [&mut a, &mut out] {
            m[p * n..(p + 1) * n].iter_mut().for_each(|v| *v /= pivot);
        }
        for i in (0..n).filter(|i| *i != p) {
            let factor = a[i * n + p];
            for m in [&mut a, &mut out] {
                for j in 0..n {
                    m[i * n + j] -= factor * m[p * n + j];
                }
            }
        }
    }
    out
}

/// Whether the symmetric part is positive definite, by elimination. Close to singular counts as
/// singular.
fn is_positive(a: &[f64], n: usize) -> bool {
    let mut s: Matrix = (0..n * n).map(|k| 0.5 * (a[k] + a[(k % n) * n + k / n])).collect();
    let size = s.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for p in 0..n {
        let pivot = s[p * n + p];
        let positive = pivot > 1e-10 * size;
        if !positive {
            return false;
        }
        for i in p + 1..n {
            let factor = s[i * n + p] / pivot;
            for j in p..n {
                s[i * n + j] -= factor * s[p * n + j];
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(nodes: u32) -> Graph {
        Graph::undirected(nodes, (0..nodes).map(|i| (i, (i + 1) % nodes))).unwrap()
    }

    #[test]
    fn a_large_gamma_meets_the_condition_on_an_odd_ring() {
        let (one, m) = (Penalty::constant(1.0), vec![0.3; 5]);
        assert!(!recycling_converges(&ring(5), one, 0.0, &m, 25));
        assert!(recycling_converges(&ring(5), one, 100.0, &m, 25));
        let growing = Penalty { first: 1.0, growth: 1.04 };
        assert!(recycling_converges(&ring(5), growing, 200.0, &m, 25));
    }

    /// Against the paper's "can always be satisfied".
    #[test]
    fn no_gamma_meets_it_on_an_even_ring() {
        for gamma in [1.0, 1e3, 1e6, 1e9] {
            assert!(!recycling_converges(&ring(4), Penalty::constant(1.0), gamma, &[0.3; 4], 25));
        }
    }

    #[test]
    fn by_hand_on_two_nodes() {
        // D - A = [[1, -1], [-1, 1]], whose pseudo-inverse is a quarter of itself.
        let pair = Graph::undirected(2, [(0, 1)]).unwrap();
        let stage = Stage::new(&pair, 1.0, 2.0, 3.0, &[1.0, 2.0]);
        assert_eq!(stage.least, 5.0);
        assert_eq!(stage.scaled, [0.4, 0.4, 0.4, 0.4]);
        let expected = [0.125, -0.5, -0.125, 0.5];
        assert!(stage.inverse.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!(is_positive(&[2.0, 1.0, 1.0, 2.0], 2) && !is_positive(&[1.0, 2.0, 2.0, 1.0], 2));
    }
}
