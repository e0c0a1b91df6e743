use super::*;
use crate::units::{Probability, Scale, Sensitivity};

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn gaussian(z: f64) -> Event {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
    Event::gaussian(one, Scale::new(z).unwrap())
}

fn poisson(q: f64, z: f64) -> Event {
    gaussian(z).poisson_sampled(Probability::new(q).unwrap())
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} is not {expected}");
}

#[test]
fn pld_interval_holds_the_value_of_theory_e4() {
    let run = poisson(0.02, 12.40021959).repeated(1000);
    let bound = Accountant::Pld.epsilon(&run, Adjacency::AddRemove, delta(1e-5)).unwrap();
    let (low, high) = (bound.epsilon_lower.unwrap().get(), bound.epsilon.get());
    println!("{low} {high} {}", high / low - 1.0);
    assert!(low <= 0.1646025 && 0.1646015 <= high, "{low} {high}");
    assert!(high / low < 1.005);
    let rdp = Accountant::Rdp.epsilon(&run, Adjacency::AddRemove, delta(1e-5)).unwrap();
    near(rdp.epsilon.get(), 0.182609, 1e-5);
}
#[test]
fn speed() {
    for (q, z, t) in [
        (0.01, 1.0, 1000u64),
        (0.01, 1.0, 10_000),
        (0.01, 1.0, 100_000),
        (1e-3, 1.0, 1_000_000_000),
        (0.01, 0.3, 1000),
    ] {
        let run = poisson(q, z).repeated(t);
        let s = std::time::Instant::now();
        let b = Accountant::Pld.epsilon(&run, Adjacency::AddRemove, delta(1e-5)).unwrap();
        println!("{q} {z} {t}: {} .. {} in {:?}", b.epsilon_lower.unwrap(), b.epsilon, s.elapsed());
    }
}
