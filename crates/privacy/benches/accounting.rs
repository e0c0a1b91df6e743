//! What the accountants cost, as JSON lines: seconds of processor time and the answer.

use cpu_time::ProcessTime;
use undertone_privacy::accountant::Accountant;
use undertone_privacy::calibrate::Target;
use undertone_privacy::event::Event;
use undertone_privacy::units::{Adjacency, Delta, Epsilon, Probability, Scale, Sensitivity};

const DELTA: f64 = 1e-5;

fn main() {
    for (name, times) in [("1e3", 1_000), ("1e4", 10_000), ("1e5", 100_000)] {
        let run = round(0.01, 1.0).repeated(times);
        report(&format!("pld_eps_t{name}"), 9, || epsilon(Accountant::Pld, &run));
        report(&format!("pld_interval_t{name}"), 9, || {
            let bound =
                Accountant::Pld.epsilon(&run, Adjacency::AddRemove, delta()).expect("priced");
            bound.epsilon.get() - bound.epsilon_lower.expect("the pair is exact").get()
        });
    }
    let target = Target {
        epsilon: Epsilon::new(1.0).expect("positive"),
        delta: delta(),
        adjacency: Adjacency::AddRemove,
        accountant: Accountant::Pld,
    };
    report("calibrate_t1e4", 5, || {
        let sigma = target.noise(|sigma| round(0.01, sigma.get()).repeated(10_000));
        sigma.expect("reachable").get()
    });
    let rounds = Event::Composed(heterogeneous(10_000));
    report("rdp_heterogeneous_10k", 5, || epsilon(Accountant::Rdp, &rounds));
    report("pld_heterogeneous_10k", 1, || epsilon(Accountant::Pld, &rounds));
}

fn epsilon(accountant: Accountant, event: &Event) -> f64 {
    let bound = accountant.epsilon_upper(event, Adjacency::AddRemove, delta());
    bound.expect("sampled Gaussians have a price").epsilon.get()
}

fn delta() -> Delta {
    Delta::new(DELTA).expect("a probability")
}

fn round(q: f64, sigma: f64) -> Event {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).expect("positive");
    let noise = Event::gaussian(one, Scale::new(sigma).expect("positive"));
    noise.poisson_sampled(Probability::new(q).expect("a probability"))
}

/// The rounds that the peers get too: splitmix64 from state 0, first all q, then all sigmas.
fn heterogeneous(count: usize) -> Vec<Event> {
    let mut state = 0_u64;
    let mut uniform = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let rates: Vec<f64> = (0..count).map(|_| 0.001 + 0.049 * uniform()).collect();
    rates.into_iter().map(|q| round(q, 0.8 + 2.2 * uniform())).collect()
}

fn report(name: &str, runs: usize, work: impl Fn() -> f64) {
    let mut seconds = Vec::with_capacity(runs);
    let mut result = 0.0;
    for _ in 0..runs {
        let start = ProcessTime::now();
        result = std::hint::black_box(work());
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[runs / 2];
    println!("{{\"name\":\"{name}\",\"unit\":\"s\",\"value\":{median:.6},\"result\":{result:.8}}}");
}
