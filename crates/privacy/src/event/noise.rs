//! Noise in two spellings, so that nobody is off by a factor of two.

use crate::params::{NoiseMultiplier, Scale, Sensitivity};

/// How much Gaussian noise, relative to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GaussianNoise {
    /// Relative to the clip norm of one unit's contribution; the relation decides what that costs.
    Multiplier {
        /// Standard deviation over clip norm.
        noise_multiplier: NoiseMultiplier,
    },
    /// Relative to the L2 sensitivity under the relation of the claim.
    Absolute {
        /// Standard deviation.
        sigma: Scale,
        /// L2 sensitivity.
        sensitivity: Sensitivity,
    },
}

/// How much Laplace noise, relative to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaplaceNoise {
    /// Relative to the L1 clip norm of one unit's contribution; the relation decides what that
    /// costs.
    Multiplier {
        /// Scale over clip norm.
        noise_multiplier: NoiseMultiplier,
    },
    /// Relative to the L1 sensitivity under the relation of the claim.
    Absolute {
        /// Scale of the Laplace law: P(x) ~ exp(-|x| / scale).
        scale: Scale,
        /// L1 sensitivity.
        sensitivity: Sensitivity,
    },
}
