//! Mistakes that shipped elsewhere, and why they cannot happen here. (More of number 12 lies beside
//! the table and in the textbook comparison.)

use std::collections::HashSet;

use crate::bits::Bits;
use crate::danger::seeded;
use crate::{DiscreteGaussian, DiscreteLaplace, NoiseError, RoundedGaussian, RoundedLaplace};

/// Floating-point noise leaks its input: doubles near the answer are spaced by the answer's own
/// exponent, so that some outputs can come from one answer and not from its neighbour (Mironov, "On
/// significance of the least significant bits for differential privacy", 2012; opendp/opendp#414).
/// The foil below is such a Laplace: its outputs for 0 and for 1 hardly meet. Integers on a grid do
/// not have the problem: what can come from one answer can come from the other.
#[test]
fn pitfall_11_supports_of_neighbouring_answers_coincide() {
    let mut bits = seeded(1101);
    let mut naive = |answer: f64| -> HashSet<u64> {
        let noise = |bits: &mut crate::danger::Seeded| {
            let uniform = (bits.next_u64() >> 52) as f64 / 4096.0 + 1.0 / 8192.0;
            let sign = if bits.next_u64() & 1 == 0 { 1.0 } else { -1.0 };
            sign * -uniform.ln()
        };
        (0..200_000).map(|_| (answer + noise(&mut bits)).to_bits()).collect()
    };
    let (zero, one) = (naive(0.0), naive(1.0));
    let shared = zero.intersection(&one).count();
    assert!(shared * 10 < zero.len(), "{shared} of {} outputs are shared by the foil", zero.len());

    let laplace = DiscreteLaplace::new(3, 1).unwrap();
    let mut exact = |answer: i128| -> HashSet<i128> {
        (0..200_000).map(|_| answer + laplace.sample(&mut bits)).filter(|value| value.abs() < 15).collect()
    };
    assert_eq!(exact(0), exact(1));
    assert_eq!(exact(0).len(), 29, "every integer is reached");
}

/// All low bits of the rounded samplers occur whatever the magnitude: there are no gaps like those
/// between doubles.
#[test]
fn pitfall_11_noise_has_no_gaps_at_any_magnitude() {
    let gaussian = RoundedGaussian::new(40).unwrap();
    let mut noise = vec![0; 400_000];
    gaussian.fill(&mut seeded(1102), &mut noise);
    for range in [0..1i64 << 39, 1 << 39..1 << 40, 1 << 40..1 << 41, 1 << 41..1 << 43] {
        let low: HashSet<i64> = noise.iter().filter(|k| range.contains(&k.abs())).map(|k| k & 63).collect();
        assert_eq!(low.len(), 64, "{range:?}");
    }
}

/// A sampler that was biased shipped twice (opendp/opendp#2639, #2708). Mean and variance of ours
/// at every sigma from tiny to huge, within six standard deviations (false alarm 4e-9 a case).
#[test]
fn pitfall_12_mean_and_variance_are_those_of_the_distribution() {
    let mut bits = seeded(1201);
    let mut noise = vec![0; 200_000];
    for sigma in [1.0, 1.7, 31.9, 32.1, 1e4, 2f64.powi(30), 2f64.powi(40)] {
        DiscreteGaussian::with_sigma(sigma).unwrap().fill(&mut bits, &mut noise);
        let n = noise.len() as f64;
        let mean = noise.iter().map(|&k| k as f64 / sigma).sum::<f64>() / n;
        let variance = noise.iter().map(|&k| (k as f64 / sigma).powi(2)).sum::<f64>() / n;
        assert!(mean.abs() < 6.0 / n.sqrt(), "sigma {sigma}: mean {mean}");
        assert!((variance - 1.0).abs() < 6.0 * (2.0 / n).sqrt(), "sigma {sigma}: variance {variance}");
    }
}

#[test]
fn parameters_that_mean_nothing_are_refused_with_a_reason() {
    let message = |error: NoiseError| error.to_string();
    assert_eq!(
        message(RoundedGaussian::new(54).unwrap_err()),
        "depth must be at most 53, got 54; draw at a smaller depth and scale the grid instead"
    );
    assert!(RoundedLaplace::new(54).is_err() && RoundedLaplace::new(53).is_ok());
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            message(DiscreteGaussian::with_sigma(wrong).unwrap_err()),
            format!("sigma must be a finite number above 0, got {wrong}")
        );
        assert!(
            DiscreteGaussian::with_sigma_squared(wrong).is_err()
                && DiscreteLaplace::with_scale(wrong).is_err()
        );
    }
    assert!(DiscreteLaplace::new(0, 1).is_err() && DiscreteLaplace::new(1, 0).is_err());
    assert_eq!(
        message(DiscreteLaplace::new(u64::MAX, 1).unwrap_err()),
        "scale must be at most 24 * 2^50 so that draws fit 64-bit integers, got 18446744073709551615; \
         use a coarser unit"
    );
    assert!(DiscreteGaussian::with_sigma_squared(2f64.powi(80)).is_ok());
    assert!(DiscreteGaussian::with_sigma_squared(2f64.powi(81)).is_err());
}

#[test]
fn extreme_parameters_can_be_drawn() {
    let mut bits = seeded(1202);
    let mut noise = [0; 2000];
    DiscreteLaplace::new(1, u64::MAX).unwrap().fill(&mut bits, &mut noise);
    assert_eq!(noise, [0; 2000], "scale 2^-64");
    DiscreteGaussian::with_sigma_squared(1e-300).unwrap().fill(&mut bits, &mut noise);
    assert_eq!(noise, [0; 2000], "sigma 1e-150");
    DiscreteLaplace::with_scale(24.0 * 2f64.powi(50)).unwrap().fill(&mut bits, &mut noise);
    assert!(noise.iter().any(|k| k.unsigned_abs() > 1 << 54));
    RoundedGaussian::new(53).unwrap().fill(&mut bits, &mut noise);
    assert!(noise.iter().any(|k| k.unsigned_abs() > 1 << 53));
    RoundedGaussian::new(0).unwrap().fill(&mut bits, &mut []);
}
