//! Which numbers dropout leaves out, implemented a second time. Choices are public, and a resumed
//! run must repeat them.

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The number of what stands at `at` within something that has a number.
pub(crate) fn number(of: u64, at: usize) -> u64 {
    next(&mut (of ^ (at as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)))
}

/// The seed of one view of a slot's example, for at most 2^18 parameters.
pub(crate) fn seed(parameters: &[f64], slot: usize, view: usize) -> u64 {
    next(&mut (salt(parameters) ^ ((slot as u64) << 16 | view as u64)))
}

fn salt(parameters: &[f64]) -> u64 {
    assert!(parameters.len() <= 1 << 18, "longer ones are salted piece by piece");
    let mixed = |salt: u64, bits: u64| (salt ^ bits).wrapping_mul(0x0100_0000_01b3).rotate_left(17);
    let chains = (0..8).map(|chain| {
        let its_own = parameters.iter().skip(chain).step_by(8);
        its_own.fold(chain as u64, |salt, parameter| mixed(salt, parameter.to_bits()))
    });
    mixed(0, chains.fold(0, mixed))
}

/// 0 with the probability `rate`, or what makes up for it.
pub(crate) fn factors(seed: u64, layer: u64, rate: f64, count: usize) -> Vec<f64> {
    let mut state = seed ^ layer.wrapping_mul(0x9e6c_63d0_876a_3f6b);
    let mut uniform = || (next(&mut state) >> 11) as f64 * 2f64.powi(-53);
    (0..count).map(|_| if uniform() < rate { 0.0 } else { 1.0 / (1.0 - rate) }).collect()
}
