//! Seeded values, pinned: the same on every platform. A change here is a change of what
//! `danger::seeded` gives to users, and is listed in the changelog.

use std::num::NonZero;

use crate::bits::Bits;
use crate::danger::seeded;
use crate::{
    Binomial, DiscreteGaussian, DiscreteLaplace, Geometric, Probability, RoundedCauchy, RoundedGaussian,
    RoundedLaplace, RoundedSpherical, RoundedStudent, ScaledLaplace, Weight, choose,
};

#[test]
fn seeded_words() {
    let mut bits = seeded(2026);
    assert_eq!([bits.next_u64(), bits.next_u64()], [15923615387245787098, 8484006410453426419]);
}

#[test]
fn seeded_draws() {
    let first = |fill: &dyn Fn(&mut [i64])| {
        let mut noise = [0; 6];
        fill(&mut noise);
        noise
    };
    let gaussian = RoundedGaussian::new(10).unwrap();
    assert_eq!(first(&|out| gaussian.fill(&mut seeded(1), out)), [-421, 318, 661, 965, -499, 437]);
    let laplace = RoundedLaplace::new(10).unwrap();
    assert_eq!(first(&|out| laplace.fill(&mut seeded(1), out)), [-331, 381, 810, 1290, -423, 490]);
    let gaussian = DiscreteGaussian::with_sigma(100.0).unwrap();
    assert_eq!(first(&|out| gaussian.fill(&mut seeded(1), out)), [-41, 31, 62, 92, -47, 42]);
    let laplace = DiscreteLaplace::new(7, 2).unwrap();
    assert_eq!(first(&|out| laplace.fill(&mut seeded(1), out)), [-2, 1, 2, 3, -2, 1]);
}

/// A million draws and their sum: every road through the code, mending and tails included.
#[test]
fn seeded_checksums() {
    let mut noise = vec![0; 1_000_000];
    RoundedGaussian::new(40).unwrap().fill(&mut seeded(2), &mut noise);
    let checksum = |noise: &[i64]| noise.iter().fold(0i64, |sum, &k| sum.wrapping_mul(31).wrapping_add(k));
    assert_eq!(checksum(&noise), -6261212059997100198);
    DiscreteLaplace::new(1 << 40, 3).unwrap().fill(&mut seeded(2), &mut noise);
    assert_eq!(checksum(&noise), 5478884679115617607);
}

#[test]
fn seeded_counts() {
    let mut bits = seeded(3);
    let p = Probability::new(1, 10_000).unwrap();
    let geometric = Geometric::new(&p).unwrap();
    assert_eq!(geometric.sample(&mut bits), 13016);
    assert_eq!(Binomial::new(1 << 20, &p).unwrap().sample(&mut bits), 108);
}

#[test]
fn seeded_draws_of_other_shapes() {
    let mut bits = seeded(4);
    let cauchy = RoundedCauchy::new(100).unwrap();
    let single = [(); 6].map(|()| cauchy.sample(&mut bits));
    let mut vector = [0; 6];
    RoundedSpherical::new(10).unwrap().fill(&mut bits, &mut vector).unwrap();
    let weights: Vec<Weight> = (0..100).map(|i| Weight { multiplicity: 1 + i as u64, exponent: i }).collect();
    let chosen = [(); 6].map(|()| choose(&weights, NonZero::new(9).unwrap(), &mut bits).unwrap());
    assert_eq!(single, [47, -175, 471, -55, 1032, -86]);
    assert_eq!(vector, [2870, 1188, 2194, 2692, 3125, 1340]);
    assert_eq!(chosen, [15, 10, 19, 7, 55, 18]);
    let (student, laplace) = (RoundedStudent::new(100).unwrap(), ScaledLaplace::new(100).unwrap());
    assert_eq!([(); 6].map(|()| student.sample(&mut bits)), [39, -152, 100, 151, -135, -153]);
    assert_eq!([(); 6].map(|()| laplace.sample(&mut bits)), [123, 65, 144, 82, -63, 37]);
}
