//! How gradients of a network are clipped and which iterates are the result: the words of flags, files and reports,
//! and what they mean.
//!
//! # Definition
//! | style | what a record adds to the sum, of norm at most C |
//! |---|---|
//! | `flat` | its gradient g, scaled down to the clip norm C |
//! | `automatic` | `g C/(‖g‖ + γ)`, γ = [`GAMMA`]: short gradients are lengthened |
//! | `adaptive` | as `flat`, with a C that follows a quantile of the lengths, by a noisy count that the event pays for |
//! | `per-layer` | the gradient of each of k parts with weights, scaled down to `C/√k` |
//!
//! # Guarantee
//! All numbers are public. A step costs the same in each style: the noise multiplier z is that of all that a step
//! releases, and where there is a count, the gradients have the more noise for it (`sordino_optim`'s equation for the
//! adaptive quantile).

use serde::{Deserialize, Serialize};
use sordino_optim::{Averaging, Clipping};

/// γ of automatic clipping, as in Bu et al., *Automatic Clipping*, 2022.
pub const GAMMA: f64 = 0.01;
/// η of adaptive clipping, as in Andrew et al., *Differentially Private Learning with Adaptive Clipping*, 2021: C changes
/// by some tenth a step while it is far off.
pub const CLIP_RATE: f64 = 0.2;
/// The part of gradients that adaptive clipping leaves as they are, unless it is set.
pub const QUANTILE: f64 = 0.5;
/// Noise of the count as a part of the records of a batch, as in Andrew et al., and in noise multipliers at least: with
/// 5 of them the gradients' noise grows by half a percent.
const COUNT_PART: f64 = 0.05;
const COUNT_NOISE: f64 = 5.0;
/// Iterates that the result is averaged over, as a part of all, unless it is set.
pub const TAIL: f64 = 0.1;

/// How gradients are clipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClippingStyle {
    /// Each record's whole gradient is scaled down to the clip norm.
    #[default]
    Flat,
    /// Every gradient is scaled to about the clip norm, short ones too.
    Automatic,
    /// The clip norm follows this quantile of the gradients' lengths, by a noisy count that is part of the price.
    Adaptive {
        /// The part of gradients that is left as it is.
        quantile: f64,
    },
    /// The gradient of each layer is scaled down to its share of the clip norm.
    PerLayer,
}

impl ClippingStyle {
    /// As flags and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Automatic => "automatic",
            Self::Adaptive { .. } => "adaptive",
            Self::PerLayer => "per-layer",
        }
    }

    /// The rule of a plan: for clip norm `norm` at first, and steps of noise multiplier `z` on batches of about `batch`
    /// records.
    pub fn clipping(self, norm: f64, z: f64, batch: f64) -> Clipping {
        match self {
            // Shares of layers are the objective's business.
            Self::Flat | Self::PerLayer => Clipping::Flat { norm },
            Self::Automatic => Clipping::Automatic { norm, gamma: GAMMA },
            Self::Adaptive { quantile } => Clipping::Quantile {
                initial: norm,
                quantile,
                rate: CLIP_RATE,
                count_noise: (COUNT_PART * batch).max(COUNT_NOISE * z),
            },
        }
    }
}

/// The decay of an exponential average by which the weight of an iterate falls to 1/e in a tenth of a run of so many
/// steps. A run that has no tenth ends with its last iterate.
pub fn usual_decay(steps: u64) -> f64 {
    (1.0 - 1.0 / (TAIL * steps as f64)).max(0.0)
}

/// As flags and files spell it.
pub fn averaging_name(averaging: Averaging) -> &'static str {
    match averaging {
        Averaging::Tail { .. } => "tail",
        Averaging::Exponential { .. } => "ema",
        Averaging::Last => "none",
        Averaging::All => "all",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However much noise there is, the count takes half a percent of what the gradients have.
    #[test]
    fn a_count_never_takes_much_from_the_gradients() {
        for (z, batch) in [(0.5, 20_000.0), (1.0, 256.0), (40.0, 64.0), (1e4, 1.0)] {
            let adaptive = ClippingStyle::Adaptive { quantile: QUANTILE };
            let Clipping::Quantile { count_noise, .. } = adaptive.clipping(1.0, z, batch) else { panic!() };
            let gradients = (z.powi(-2) - (2.0 * count_noise).powi(-2)).powf(-0.5);
            assert!((1.0..1.0051).contains(&(gradients / z)), "{z} {batch}: {gradients}");
        }
    }

    #[test]
    fn a_short_run_has_an_average_too() {
        assert_eq!((usual_decay(5), usual_decay(100)), (0.0, 0.9));
    }

    #[test]
    fn flat_and_per_layer_are_one_rule_for_the_plan() {
        for style in [ClippingStyle::Flat, ClippingStyle::PerLayer] {
            assert_eq!(style.clipping(1.5, 1.0, 256.0), Clipping::Flat { norm: 1.5 });
        }
    }
}
