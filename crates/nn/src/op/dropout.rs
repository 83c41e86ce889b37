//! Leaves numbers out at random, in training only.
//!
//! A public seed decides which: it depends on parameters, slot and view, and not on the place in the batch,
//! which the presence of other records moves. What stays is divided by the probability of staying
//! (Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, *Dropout*, 2014).

use super::Pass;
use crate::network::Stream;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropout {
    /// The probability of being left out.
    pub(crate) rate: f64,
    /// Its number in the network, so that layers choose independently.
    pub(crate) layer: u64,
}

impl Dropout {
    /// Multiplies each number by a factor, and keeps the factors.
    pub(crate) fn forward(self, pass: &Pass, data: &mut [f32], factors: &mut [f32]) {
        let size = data.len() / pass.images.max(1);
        let stays = 1.0 / (1.0 - self.rate);
        for ((seed, data), factors) in
            pass.seeds.iter().zip(data.chunks_exact_mut(size)).zip(factors.chunks_exact_mut(size))
        {
            let mut stream = Stream(seed ^ self.layer.wrapping_mul(0x9e6c_63d0_876a_3f6b));
            for (x, factor) in data.iter_mut().zip(factors) {
                // Uniform in [-1, 1).
                let is_out = stream.uniform() < 2.0 * self.rate - 1.0;
                *factor = if is_out { 0.0 } else { stays as f32 };
                *x *= *factor;
            }
        }
    }
}
