//! Numbers that are left out at random, in training only.
//!
//! Which ones is decided by a public seed, of the parameters, the slot and the view: a function of the record's own slot, and not of its place
//! in the batch, which others' presence moves. What is left is divided by the probability of staying (Srivastava, Hinton, Krizhevsky,
//! Sutskever, Salakhutdinov, *Dropout*, 2014).

use super::{Pass, Saved};
use crate::network::Stream;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropout {
    /// The probability of being left out.
    pub(crate) rate: f64,
    /// Its number in the network: layers do not choose alike.
    pub(crate) layer: u64,
}

impl Dropout {
    /// Multiplies by factors, and keeps them.
    pub(crate) fn forward(self, pass: &Pass, data: &mut [f32], saved: &mut Saved) {
        let size = data.len() / pass.images.max(1);
        let stays = 1.0 / (1.0 - self.rate);
        for ((seed, data), factors) in
            pass.seeds.iter().zip(data.chunks_exact_mut(size)).zip(saved.input.chunks_exact_mut(size))
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
