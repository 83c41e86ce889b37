//! A public ladder of noise scales, and the rung that a table needs.

use sordino_noise::Bits;
use sordino_privacy::{Epsilon, Event};

use super::noise::{Sampler, SmoothNoise};
use crate::accuracy;
use crate::error::MechanismError;

/// A ladder with more levels than this is refused: a release would take long.
const MOST_LEVELS: u64 = 1 << 14;

/// Whole noise scales σ_0 < σ_1 < ..., each at most e^β times the one before, up to one for the
/// whole grid.
#[derive(Clone, Debug)]
pub(crate) struct Ladder {
    epsilon: Epsilon,
    noise: SmoothNoise,
    rungs: Vec<Rung>,
}

#[derive(Clone, Debug)]
pub(crate) struct Rung {
    pub(crate) scale: u64,
    sampler: Sampler,
    /// At most `s scale`: the largest sensitivity that it is for.
    pub(crate) reach: u64,
}

impl Ladder {
    /// Rungs from a least sensitivity to the largest one, in steps of the grid. Fails where it
    /// would have too many levels or scales that cannot be drawn.
    pub(crate) fn new(
        epsilon: Epsilon,
        noise: SmoothNoise,
        least: u64,
        most: u64,
    ) -> Result<Self, MechanismError> {
        let room = noise.room(epsilon)?;
        // Rounded so that neither a step nor a reach is ever too large: products of doubles are off
        // by 2^-53, the exponential by little more.
        let (step, share) = (room.step.exp() * (1.0 - 1e-14), room.shift * (1.0 - 1e-15));
        // A scale that is too large for noise is refused here: refused in a release, it would tell
        // which tables need it.
        let rung = |scale: u64| {
            let (sampler, reach) = (noise.of_scale(scale)?, (scale as f64 * share).floor() as u64);
            Ok::<_, MechanismError>(Rung { scale, sampler, reach })
        };
        let scale_for = |sensitivity: u64| ((sensitivity as f64 / share) * (1.0 + 1e-14)).ceil() as u64 + 1;
        let highest = scale_for(most);
        let mut rungs = vec![rung(scale_for(least))?];
        loop {
            // Proof: there is always a first one.
            let last = &rungs[rungs.len() - 1];
            if last.reach >= most {
                return Ok(Self { epsilon, noise, rungs });
            }
            let next = rung(((last.scale as f64 * step).floor() as u64).min(highest))?;
            if next.scale <= last.scale || rungs.len() as u64 >= MOST_LEVELS {
                let levels = ((most as f64 / least as f64).ln() / room.step).ceil() as u64;
                return Err(MechanismError::TooManyLevels { levels, most: MOST_LEVELS });
            }
            rungs.push(next);
        }
    }

    /// What one release costs.
    pub(crate) fn event(&self) -> Event {
        self.noise.event(self.epsilon)
    }

    /// l(x) of equation (1), from the sensitivities A_k. Beyond the last level less k nothing can
    /// raise the maximum.
    pub(crate) fn level(&self, sensitivity: impl Fn(u64) -> u64) -> usize {
        let (last, mut highest) = (self.rungs.len() - 1, 0);
        for k in 0.. {
            if last.saturating_sub(k) <= highest {
                break;
            }
            highest = highest.max(self.level_of(sensitivity(k as u64)).saturating_sub(k));
        }
        highest
    }

    /// The least rung that reaches this sensitivity. The last one reaches every one.
    pub(crate) fn level_of(&self, sensitivity: u64) -> usize {
        self.rungs.partition_point(|rung| rung.reach < sensitivity).min(self.rungs.len() - 1)
    }

    /// Noise of this level, in steps of the grid.
    pub(crate) fn sample<R: Bits + ?Sized>(&self, level: usize, bits: &mut R) -> i128 {
        self.rungs[level].sampler.sample(bits)
    }

    /// What the rounded noise of this sensitivity's rung exceeds with probability at most
    /// 1 - `confidence`, in steps of the grid.
    pub(crate) fn error_at(&self, confidence: f64, sensitivity: u64) -> f64 {
        let scale = self.rungs[self.level_of(sensitivity)].scale as f64;
        scale * self.noise.quantile(accuracy::miss(confidence)) + 0.5
    }

    #[cfg(test)]
    pub(crate) fn rungs(&self) -> &[Rung] {
        &self.rungs
    }
}
