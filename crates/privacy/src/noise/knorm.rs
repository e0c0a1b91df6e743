//! Noise with density proportional to exp(-a ||b||): the K-norm mechanism in the Euclidean norm.

use super::gaussian::fill_gaussian;
use super::stream::{Key, Stream, StreamId};

/// Overwrites `out` with a vector b of density proportional to exp(-rate ||b||_2).
///
/// The direction is that of a Gaussian vector, the radius is Gamma(d, 1 / rate).
///
/// # Guarantee
/// The ideal distribution up to floating-point rounding: the radius is drawn by rejection, without
/// an approximation of its own. Floating point, hence for the simulator; see
/// [`fill_gaussian`].
///
/// # References
/// M. Hardt, K. Talwar, "On the geometry of differential privacy", 2010, section 4. K. Chaudhuri,
/// C. Monteleoni, A. Sarwate, "Differentially private empirical risk minimization", 2011,
/// Algorithm 2. G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", 2000.
pub fn fill_knorm(key: &Key, id: StreamId, rate: f64, out: &mut [f64]) {
    if out.is_empty() {
        return;
    }
    // The direction reads the ChaCha8 keystream of this id and the radius its ChaCha20 keystream,
    // so the two are independent.
    fill_gaussian(key, id, 1.0, out);
    stretch(&mut Stream::new(key, id), rate, out);
}

/// Overwrites two vectors of the same length with independent noise of one stream, each with its
/// rate; otherwise as [`fill_knorm`].
pub fn fill_knorm_pair(key: &Key, id: StreamId, rates: [f64; 2], out: [&mut [f64]; 2]) {
    let [first, second] = out;
    if first.is_empty() {
        return;
    }
    let mut both = vec![0.0; first.len() + second.len()];
    fill_gaussian(key, id, 1.0, &mut both);
    first.copy_from_slice(&both[..first.len()]);
    second.copy_from_slice(&both[first.len()..]);
    both.fill(0.0);
    std::hint::black_box(&mut both);
    let mut stream = Stream::new(key, id);
    stretch(&mut stream, rates[0], first);
    stretch(&mut stream, rates[1], second);
}

/// Gives a direction its length.
fn stretch(stream: &mut Stream, rate: f64, out: &mut [f64]) {
    let radius = gamma(stream, out.len() as f64) / rate;
    let norm = out.iter().map(|x| x * x).sum::<f64>().sqrt();
    for x in out {
        *x *= radius / norm;
    }
}

/// Gamma(shape, 1) for a shape of at least 1, by the rejection of Marsaglia and Tsang.
fn gamma(stream: &mut Stream, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(stream);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && libm::log(stream.uniform()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
            return d * v;
        }
    }
}

/// One standard normal.
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * libm::log(stream.uniform())).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * stream.uniform())
}
