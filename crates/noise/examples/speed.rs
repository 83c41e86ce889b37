//! Nanoseconds per draw of each sampler: vectors of 10^6, median and best of seven.
//!
//! `cargo run --release -p sordino-noise --example speed`
#![allow(clippy::print_stdout, reason = "a table is what this program is for")]

use std::hint::black_box;
use std::time::Instant;

use sordino_noise::{
    BernoulliExp, Binomial, Bits, DiscreteGaussian, DiscreteLaplace, Geometric, Probability, RoundedGaussian,
    RoundedLaplace, entropy,
};

const DRAWS: usize = 1_000_000;
const RUNS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bits = entropy()?;
    let mut words = vec![0u64; DRAWS];
    let mut noise = vec![0i64; DRAWS];
    println!("{:<44} {:>9} {:>9}   (ns a draw)", "", "median", "best");
    measure("bits: one 64-bit word", || bits.fill(&mut words));
    for depth in [0, 21, 40] {
        let gaussian = RoundedGaussian::new(depth)?;
        measure(&format!("rounded Gaussian, depth {depth}"), || gaussian.fill(&mut bits, &mut noise));
    }
    let gaussian = RoundedGaussian::new(21)?;
    measure("rounded Gaussian, depth 21, one by one", || {
        noise.iter_mut().for_each(|value| *value = gaussian.sample(&mut bits) as i64);
    });
    let laplace = RoundedLaplace::new(21)?;
    measure("rounded Laplace, depth 21", || laplace.fill(&mut bits, &mut noise));
    for exponent in [0, 3, 5, 6, 20, 30, 40] {
        let gaussian = DiscreteGaussian::with_sigma((1u64 << exponent) as f64)?;
        measure(&format!("discrete Gaussian, sigma 2^{exponent}"), || gaussian.fill(&mut bits, &mut noise));
    }
    for (numerator, denominator) in [(1, 1), (10, 1), (25, 1), (1000, 3), (1 << 30, 1)] {
        let laplace = DiscreteLaplace::new(numerator, denominator)?;
        let name = format!("discrete Laplace, scale {numerator}/{denominator}");
        measure(&name, || laplace.fill(&mut bits, &mut noise));
    }
    coins(&mut bits)?;
    tables()
}

/// One by one: these are for counts and choices, not for vectors.
fn coins(bits: &mut impl Bits) -> Result<(), Box<dyn std::error::Error>> {
    let each =
        |name: &str, draw: &mut dyn FnMut()| measure_fewer(name, 10_000, || (0..10_000).for_each(|_| draw()));
    let p = Probability::from_f64(0.01)?;
    each("coin of probability 0.01", &mut || {
        black_box(p.flip(bits));
    });
    let coin = BernoulliExp::new(1, 3)?;
    each("coin of probability exp(-1/3)", &mut || {
        black_box(coin.flip(bits));
    });
    let geometric = Geometric::new(&Probability::from_f64(1e-6)?)?;
    each("geometric, p = 1e-6", &mut || {
        black_box(geometric.sample(bits));
    });
    let binomial = Binomial::new(60_000, &Probability::from_f64(0.004)?)?;
    each("binomial, n = 60000, p = 0.004", &mut || {
        black_box(binomial.sample(bits));
    });
    Ok(())
}

/// What it costs to make a sampler with a table.
fn tables() -> Result<(), Box<dyn std::error::Error>> {
    let sigma = black_box(1e5);
    measure_fewer("table of a discrete Gaussian", 100, || {
        for _ in 0..100 {
            black_box(DiscreteGaussian::with_sigma(sigma).is_ok());
        }
    });
    Ok(())
}

fn measure(name: &str, work: impl FnMut()) {
    measure_fewer(name, DRAWS, work);
}

/// Runs `work`, which draws `draws` times, and prints its time per draw.
fn measure_fewer(name: &str, draws: usize, mut work: impl FnMut()) {
    work();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e9 / draws as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:<44} {:>9.2} {:>9.2}", times[RUNS / 2], times[0]);
}
