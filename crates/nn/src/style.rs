//! Clipping styles and averages of networks: their names in flags, files and reports, and what they
//! mean.
//!
//! # Definition
//! | style | what a record adds to the sum, with norm at most C |
//! |---|---|
//! | `flat` | its gradient g, scaled down to the clip norm C |
//! | `automatic` | `g C/(‖g‖ + γ)`, γ = [`GAMMA`]: short gradients are lengthened |
//! | `adaptive` | as `flat`; C follows a quantile of norms, by a noisy count that is paid for |
//! | `per-layer` | the gradient of each of k parts with weights, scaled down to `C/√k` |
//!
//! # Guarantee
//! All parameters are public. A step costs the same in each style. The noise multiplier z belongs
//! to everything that a step releases together: if it releases a count, the gradients get more
//! noise (see the adaptive quantile in `sordino_optim`).

use serde::{Deserialize, Serialize};
use sordino_optim::{Averaging, Clipping};

/// γ of automatic clipping, as in Bu et al., *Automatic Clipping*, 2022.
pub const GAMMA: f64 = 0.01;
/// η of adaptive clipping, as in Andrew et al., *Differentially Private Learning with Adaptive
/// Clipping*, 2021: C changes by about a tenth per step while it is far off.
pub const CLIP_RATE: f64 = 0.2;
/// The default quantile of adaptive clipping: the fraction of gradients that stay as they are.
pub const QUANTILE: f64 = 0.5;
/// Noise of the count: this fraction of the batch size, as in Andrew et al., but at least this many
/// noise multipliers. At 5 of them the noise of the gradients grows by half a percent.
const COUNT_PART: f64 = 0.05;
const COUNT_NOISE: f64 = 5.0;
/// The default fraction of iterates, at the end of a run, whose mean is the result.
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
    /// The clip norm follows this quantile of gradient norms, by a noisy count that is part of the
    /// price.
    Adaptive {
        /// The fraction of gradients that stay as they are.
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

    /// The clipping rule of a plan with (initial) clip norm `norm`, noise multiplier `z` and
    /// batches of about `batch` records.
    pub fn clipping(self, norm: f64, z: f64, batch: f64) -> Clipping {
        match self {
            // The objective splits the clip norm between layers.
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

/// The default decay of an exponential average: the weight of an iterate falls to 1/e within a
/// tenth of the run. In runs of up to ten steps the decay is 0, which keeps the last iterate.
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

    /// At every noise multiplier the count adds at most half a percent to the noise of the
    /// gradients.
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
