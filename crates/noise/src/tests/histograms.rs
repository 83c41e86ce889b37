//! Histograms of millions of draws against probabilities. Seeds are fixed; a test that fails by
//! chance does so with a probability below 1e-8.

use crate::bits::Bits;
use crate::danger::seeded;
use crate::testing::{chi_square, rounded_gaussian_masses};
use crate::{DiscreteGaussian, DiscreteLaplace, RoundedGaussian, RoundedLaplace, entropy};

/// Fills `draws` values in vectors of odd lengths, and counts them in cells from -cells to cells.
fn count(draws: usize, cells: i64, mut fill: impl FnMut(&mut [i64]), cell: impl Fn(i64) -> i64) -> Vec<u64> {
    let mut counts = vec![0; 2 * cells as usize + 1];
    let mut noise = vec![0; 99_991];
    let mut left = draws;
    while left > 0 {
        let batch = left.min(noise.len());
        fill(&mut noise[..batch]);
        for &value in &noise[..batch] {
            counts[(cell(value).clamp(-cells, cells) + cells) as usize] += 1;
        }
        left -= batch;
    }
    counts
}

#[test]
fn rounded_gaussian_at_small_depths() {
    let mut bits = seeded(10);
    for (depth, cells) in [(0, 6), (1, 11), (4, 88)] {
        let gaussian = RoundedGaussian::new(depth).unwrap();
        let counts = count(10_000_000, cells, |out| gaussian.fill(&mut bits, out), |k| k);
        chi_square(&counts, &rounded_gaussian_masses(depth, cells)).unwrap();
    }
}

/// Cells of 2^15 steps around multiples of them: k lies in cell c iff |k - c 2^15| < 2^14, ties to
/// the upper one. Half a step at depth 21 moves a probability by 1e-7 of itself, too little to be
/// seen: the cells are those of depth 6.
#[test]
fn rounded_gaussian_at_depth_21_in_cells() {
    let mut bits = seeded(11);
    let gaussian = RoundedGaussian::new(21).unwrap();
    let counts = count(10_000_000, 330, |out| gaussian.fill(&mut bits, out), |k| (k + (1 << 14)) >> 15);
    chi_square(&counts, &rounded_gaussian_masses(6, 330)).unwrap();
    // The low bits are as fair as the high ones.
    let low = count(1_000_000, 31, |out| gaussian.fill(&mut bits, out), |k| (k & 31).min(31));
    chi_square(&low[31..], &[1.0 / 32.0; 32]).unwrap();
}

#[test]
fn one_by_one_from_the_cryptographic_stream() {
    // The only test without a seed: a false alarm has a probability below 1e-8.
    let mut bits = entropy().unwrap();
    let gaussian = RoundedGaussian::new(4).unwrap();
    let sample =
        |out: &mut [i64]| out.iter_mut().for_each(|value| *value = gaussian.sample(&mut bits) as i64);
    chi_square(&count(1_000_000, 80, sample, |k| k), &rounded_gaussian_masses(4, 80)).unwrap();
}

/// Equation (2) of the rounded samplers, typed again.
fn rounded_laplace_masses(depth: u32, cells: i64) -> Vec<f64> {
    let step = 1.0 / f64::from(1u32 << depth);
    let above = |k: i64| 0.5 * (-(k as f64 - 0.5) * step).exp();
    (-cells..=cells)
        .map(|k| match k.abs() {
            0 => 1.0 - 2.0 * above(1),
            k if k == cells => above(k),
            k => (step / 2.0).sinh() * (-(k as f64) * step).exp(),
        })
        .collect()
}

#[test]
fn rounded_laplace() {
    let mut bits = seeded(12);
    for (depth, cells) in [(0, 14), (3, 110), (5, 400)] {
        let laplace = RoundedLaplace::new(depth).unwrap();
        let counts = count(3_000_000, cells, |out| laplace.fill(&mut bits, out), |k| k);
        chi_square(&counts, &rounded_laplace_masses(depth, cells)).unwrap();
    }
}

/// P[k] proportional to exp(-g(k)), summed far out; both ends take the tails beyond them.
fn masses(cells: i64, weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let far = 40 * cells + 1000;
    let tail: f64 = (cells..far).map(|k| weight(k as f64)).sum();
    let mut masses: Vec<f64> = (-cells..=cells).map(|k| weight(k as f64)).collect();
    (masses[0], masses[2 * cells as usize]) = (tail, tail);
    let total: f64 = masses.iter().sum();
    masses.iter().map(|mass| mass / total).collect()
}

#[test]
fn discrete_gaussian_from_tiny_to_many_integers_a_block() {
    let mut bits = seeded(13);
    for (sigma_squared, cells) in
        [(0.06, 2), (0.25, 4), (1.0, 7), (7.3, 16), (1024.0, 180), (1500.0, 220), (40_000.0, 1100)]
    {
        let gaussian = DiscreteGaussian::with_sigma_squared(sigma_squared).unwrap();
        let counts = count(2_000_000, cells, |out| gaussian.fill(&mut bits, out), |k| k);
        chi_square(&counts, &masses(cells, |k| (-k * k / (2.0 * sigma_squared)).exp()))
            .unwrap_or_else(|error| panic!("sigma^2 {sigma_squared}: {error}"));
    }
}

#[test]
fn discrete_gaussian_with_a_huge_sigma_in_cells() {
    let mut bits = seeded(14);
    for exponent in [20, 30, 40] {
        // Cells of sigma / 2^6: those of the rounded Gaussian at depth 6, as far as 10^6 draws can
        // tell.
        let gaussian = DiscreteGaussian::with_sigma((1u64 << exponent) as f64).unwrap();
        let width = exponent - 6;
        let counts =
            count(2_000_000, 330, |out| gaussian.fill(&mut bits, out), |k| (k + (1 << (width - 1))) >> width);
        chi_square(&counts, &rounded_gaussian_masses(6, 330)).unwrap();
    }
}

#[test]
fn discrete_laplace_from_tiny_to_many_integers_a_block() {
    let mut bits = seeded(15);
    for (numerator, denominator, cells) in
        [(1, 8, 2), (1, 1, 14), (7, 3, 30), (24, 1, 300), (25, 1, 310), (700, 9, 900)]
    {
        let laplace = DiscreteLaplace::new(numerator, denominator).unwrap();
        let counts = count(2_000_000, cells, |out| laplace.fill(&mut bits, out), |k| k);
        let rate = denominator as f64 / numerator as f64;
        chi_square(&counts, &masses(cells, |k| (-k.abs() * rate).exp()))
            .unwrap_or_else(|error| panic!("scale {numerator}/{denominator}: {error}"));
    }
}

#[test]
fn discrete_laplace_with_a_huge_scale_in_cells() {
    let mut bits = seeded(16);
    let laplace = DiscreteLaplace::new(1 << 50, 1).unwrap();
    let counts = count(2_000_000, 110, |out| laplace.fill(&mut bits, out), |k| (k + (1 << 46)) >> 47);
    chi_square(&counts, &rounded_laplace_masses(3, 110)).unwrap();
}

/// Scales so small that nearly all of the table is the block of 0: no slot needs a test, and the
/// tails hold the rest. The counts of +-1 are the expected ones within six standard deviations
/// (false alarm below 1e-6: they are Poisson with means up to 800, and for means below 1 seven
/// draws are needed).
#[test]
fn tiny_scales_draw_plus_and_minus_one_as_often_as_they_should() {
    let check = |name: &str, ratio: f64, fill: &dyn Fn(&mut [i64])| {
        let mut noise = vec![7; 1_000_000];
        fill(&mut noise);
        // P[1] / P[0] is the ratio; P[2] is too small to count, and below 1e-8 are the chances of
        // one beyond 2.
        let expected = noise.len() as f64 * ratio / (1.0 + 2.0 * ratio);
        for value in [-1, 1] {
            let count = noise.iter().filter(|&&k| k == value).count() as f64;
            assert!((count - expected).abs() < 6.0 * expected.sqrt().max(1.0), "{name}: {count} of {value}");
        }
        assert!(noise.iter().all(|k| k.abs() <= 2), "{name}");
    };
    // exp(-1 / 0.02) is 2e-22; exp(-1 / 0.14) is 8e-4.
    for (sigma_squared, seed) in [(0.01, 18), (0.03, 19), (0.07, 20)] {
        let gaussian = DiscreteGaussian::with_sigma_squared(sigma_squared).unwrap();
        let ratio = (-0.5f64 / sigma_squared).exp();
        check(&format!("sigma^2 {sigma_squared}"), ratio, &|out| gaussian.fill(&mut seeded(seed), out));
    }
    for (scale, seed) in [(1.0 / 20.0, 21), (0.0625, 22), (0.09, 23)] {
        let laplace = DiscreteLaplace::with_scale(scale).unwrap();
        check(&format!("scale {scale}"), (-1.0 / scale).exp(), &|out| laplace.fill(&mut seeded(seed), out));
    }
}

/// Pairs of neighbours in a vector are as likely as the product of their probabilities says.
/// Disjoint pairs, once from each parity, so that pairs across the ends of chunks are among them.
#[test]
fn neighbours_in_a_vector_are_independent() {
    let cells = 4;
    let width = 2 * cells as usize + 1;
    let single = rounded_gaussian_masses(0, cells);
    let pairs: Vec<f64> = single.iter().flat_map(|a| single.iter().map(move |b| a * b)).collect();
    let mut noise = vec![0; 4_000_001];
    RoundedGaussian::new(0).unwrap().fill(&mut seeded(24), &mut noise);
    let cell = |k: i64| (k.clamp(-cells, cells) + cells) as usize;
    for start in [0, 1] {
        let mut counts = vec![0; width * width];
        for pair in noise[start..].chunks_exact(2) {
            counts[cell(pair[0]) * width + cell(pair[1])] += 1;
        }
        chi_square(&counts, &pairs).unwrap();
    }
}

/// At depth 40 two equal neighbours have probability `2^-40 / (2 sqrt(pi))`: among a million pairs
/// 3e-7.
#[test]
fn no_draw_repeats_its_neighbour() {
    let mut noise = vec![0; 1_000_000];
    RoundedGaussian::new(40).unwrap().fill(&mut seeded(25), &mut noise);
    assert_eq!(noise.windows(2).filter(|pair| pair[0] == pair[1]).count(), 0);
}

/// Vectors and single draws are one distribution: the words of a vector give what the same words
/// give one by one, as long as nothing has to be mended.
#[test]
fn vectors_and_single_draws_share_their_words() {
    let gaussian = RoundedGaussian::new(30).unwrap();
    let mut vector = [0; 4];
    gaussian.fill(&mut seeded(17), &mut vector);
    let mut bits = seeded(17);
    assert_eq!(vector.map(i128::from), std::array::from_fn(|_| gaussian.sample(&mut bits)));
    assert!(bits.is_seeded());
}
