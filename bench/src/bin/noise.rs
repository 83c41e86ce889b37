//! Nanoseconds for one draw of exact noise in a vector of a million, on one core, with the
//! cryptographic stream.
//!
//! `peers/noise.py` does work of the same names.

use std::error::Error;
use std::hint::black_box;
use std::num::NonZero;

use serde_json::json;
use sordino::noise::{
    Bits, DiscreteGaussian, DiscreteLaplace, Entropy, RoundedCauchy, RoundedGaussian, RoundedLaplace,
    RoundedSpherical, RoundedStudent, ScaledLaplace, Weight, choose, entropy,
};

use sordino_bench::{Options, emit, seconds};

const LENGTH: usize = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments();
    let mut bits = entropy()?;
    stream(options, &mut bits);

    let gaussian = RoundedGaussian::new(21)?;
    draws(options, "gaussian", &mut bits, |bits, out| gaussian.fill(bits, out));
    let laplace = RoundedLaplace::new(21)?;
    draws(options, "laplace", &mut bits, |bits, out| laplace.fill(bits, out));

    let scales: &[u64] = if options.quick { &[1, 10] } else { &[1, 10, 1 << 10, 1 << 20, 1 << 30] };
    for &scale in scales {
        let sampler = DiscreteLaplace::new(scale, 1)?;
        draws(options, &format!("discrete laplace, scale {scale}"), &mut bits, |bits, out| {
            sampler.fill(bits, out)
        });
    }
    for &scale in scales {
        let sampler = DiscreteGaussian::with_sigma(scale as f64)?;
        draws(options, &format!("discrete gaussian, scale {scale}"), &mut bits, |bits, out| {
            sampler.fill(bits, out)
        });
    }
    others(options, &mut bits)
}

/// Other samplers, which draw one by one or in shorter vectors.
fn others(options: Options, bits: &mut Entropy) -> Result<(), Box<dyn Error>> {
    let cauchy = RoundedCauchy::new(1000)?;
    draws(options, "cauchy, scale 1000", bits, |bits, out| out.fill_with(|| cauchy.sample(bits)));
    let student = RoundedStudent::new(1000)?;
    draws(options, "student, scale 1000", bits, |bits, out| out.fill_with(|| student.sample(bits)));
    let laplace = ScaledLaplace::new(1000)?;
    draws(options, "scaled laplace, scale 1000", bits, |bits, out| {
        out.fill_with(|| laplace.sample(bits) as i64);
    });
    let spherical = RoundedSpherical::new(20)?;
    draws(options, "spherical, 1000 dimensions", bits, |bits, out| {
        for vector in out.chunks_mut(1000) {
            // Proof: 1000 is far below the largest dimension.
            spherical.fill(bits, vector).expect("1000 dimensions");
        }
    });
    let weights: Vec<Weight> = (0..100).map(|i| Weight { multiplicity: 1, exponent: i % 17 }).collect();
    draws(options, "choices among 100", bits, |bits, out| {
        out.fill_with(|| choose(&weights, NonZero::<u64>::MIN, bits).unwrap_or(0) as i64);
    });
    Ok(())
}

/// The stream of random bits alone.
fn stream(options: Options, bits: &mut Entropy) {
    let mut words = vec![0_u64; LENGTH];
    let taken = seconds(options.fill(), || {
        bits.fill(&mut words);
        black_box(&words);
    });
    let bytes = (8 * LENGTH) as f64;
    emit("random bits", "GB/s", bytes / taken / 1e9, json!({ "bytes": bytes }));
}

fn draws(options: Options, workload: &str, bits: &mut Entropy, draw: impl Fn(&mut Entropy, &mut [i64])) {
    let mut out = vec![0_i64; LENGTH];
    let taken = seconds(options.fill(), || {
        draw(bits, &mut out);
        black_box(&out);
    });
    let nanoseconds = taken / LENGTH as f64 * 1e9;
    emit(workload, "ns", nanoseconds, json!({ "draws": LENGTH, "exact": true, "secure": true }));
}
