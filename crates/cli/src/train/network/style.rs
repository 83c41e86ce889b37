//! How gradients of a network are clipped and which iterates are the result: words of flags, files and reports, and what they mean.
//!
//! # Definition
//! | `--clipping` | what a record adds to the sum, of norm at most C |
//! |---|---|
//! | `flat` | its gradient g, scaled down to the clip norm C |
//! | `automatic` | `g C/(‖g‖ + γ)`, γ = [`GAMMA`]: short gradients are lengthened |
//! | `adaptive` | as `flat`, with a C that follows a quantile of the lengths, by a noisy count that the event pays for |
//! | `per-layer` | the gradient of each of k parts with weights scaled down to `C/√k` |
//!
//! # Guarantee
//! All numbers are public. What a step costs is the same in each style: the noise multiplier z is that of all that a step releases, and where
//! there is a count, the gradients have the more noise for it (`sordino_optim`'s equation for the adaptive quantile).

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use sordino::privacy::ClipNorm;
use sordino_optim::{Averaging, Clipping};

use super::learner::TAIL;
use crate::error::Error;
use crate::train::args::Settings;

const CLIP_NORM: f64 = 1.0;
/// γ of automatic clipping, as in Bu et al. (2022).
pub(crate) const GAMMA: f64 = 0.01;
/// η of adaptive clipping, as in Andrew et al. (2021): C changes by some tenth a step while it is far off.
pub(crate) const CLIP_RATE: f64 = 0.2;
/// The part of gradients that adaptive clipping leaves as they are.
const QUANTILE: f64 = 0.5;
/// Noise of the count as a part of the records of a batch, as in Andrew et al. (2021), and in noise multipliers at least: with 5 of them
/// the gradients' noise grows by half a percent.
const COUNT_PART: f64 = 0.05;
const COUNT_NOISE: f64 = 5.0;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClippingStyle {
    /// Each record's whole gradient is scaled down to the clip norm
    #[default]
    Flat,
    /// Every gradient is scaled to about the clip norm, short ones too
    Automatic,
    /// The clip norm follows a quantile of the gradients' lengths, by a noisy count that is part of the price
    Adaptive,
    /// The gradient of each layer is scaled down to its share of the clip norm
    PerLayer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AveragingStyle {
    /// The mean of the last iterates
    #[default]
    Tail,
    /// An exponential moving average of all
    Ema,
    /// The last iterate
    None,
}

impl ClippingStyle {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Automatic => "automatic",
            Self::Adaptive => "adaptive",
            Self::PerLayer => "per-layer",
        }
    }
}

impl AveragingStyle {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Ema => "ema",
            Self::None => "none",
        }
    }
}

/// C of the first step; but for adaptive clipping of all.
pub(crate) fn clip_norm(settings: &Settings) -> f64 {
    settings.clip_norm.map_or(CLIP_NORM, ClipNorm::get)
}

/// What the settings say, for steps of noise multiplier `z` on batches of about `batch` records.
pub(crate) fn clipping(settings: &Settings, z: f64, batch: f64) -> Clipping {
    let norm = clip_norm(settings);
    match settings.clipping.unwrap_or_default() {
        // Shares of layers are the objective's business.
        ClippingStyle::Flat | ClippingStyle::PerLayer => Clipping::Flat { norm },
        ClippingStyle::Automatic => Clipping::Automatic { norm, gamma: GAMMA },
        ClippingStyle::Adaptive => Clipping::Quantile {
            initial: norm,
            quantile: settings.clip_quantile.unwrap_or(QUANTILE),
            rate: CLIP_RATE,
            count_noise: (COUNT_PART * batch).max(COUNT_NOISE * z),
        },
    }
}

/// What the settings say, for a run of so many steps.
pub(crate) fn averaging(settings: &Settings, steps: u64) -> Averaging {
    match settings.averaging.unwrap_or_default() {
        AveragingStyle::Tail => Averaging::Tail { fraction: settings.averaging_tail.unwrap_or(TAIL) },
        AveragingStyle::Ema => {
            // The weight of an iterate falls to 1/e in a tenth of the run; a run that has no tenth ends with its last.
            let usual = (1.0 - 1.0 / (TAIL * steps as f64)).max(0.0);
            Averaging::Exponential { decay: settings.averaging_decay.unwrap_or(usual) }
        }
        AveragingStyle::None => Averaging::Last,
    }
}

/// That every number has its style beside it.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    let (clipping, averaging) =
        (settings.clipping.unwrap_or_default(), settings.averaging.unwrap_or_default());
    let given = [
        (
            settings.clip_quantile.is_some() && clipping != ClippingStyle::Adaptive,
            "--clip-quantile",
            "--clipping adaptive",
        ),
        (
            settings.averaging_tail.is_some() && averaging != AveragingStyle::Tail,
            "--averaging-tail",
            "--averaging tail",
        ),
        (
            settings.averaging_decay.is_some() && averaging != AveragingStyle::Ema,
            "--averaging-decay",
            "--averaging ema",
        ),
    ];
    match given.into_iter().find(|(is_stray, ..)| *is_stray) {
        Some((_, flag, style)) => Err(Error::FlagOfStyle { flag, style }),
        None => Ok(()),
    }
}

/// Puts what was decided into the settings.
pub(crate) fn settle(settings: &mut Settings, clipping: &Clipping, averaging: Averaging) {
    settings.clipping = Some(settings.clipping.unwrap_or_default());
    settings.averaging = Some(settings.averaging.unwrap_or_default());
    match clipping {
        Clipping::Flat { norm } | Clipping::Automatic { norm, .. } => {
            settings.clip_norm = ClipNorm::new(*norm).ok();
        }
        Clipping::Quantile { initial, quantile, .. } => {
            settings.clip_norm = ClipNorm::new(*initial).ok();
            settings.clip_quantile = Some(*quantile);
        }
        // No style of the command.
        Clipping::Coordinates { .. } => {}
    }
    match averaging {
        Averaging::Tail { fraction } => settings.averaging_tail = Some(fraction),
        Averaging::Exponential { decay } => settings.averaging_decay = Some(decay),
        Averaging::Last | Averaging::All => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(clipping: ClippingStyle, averaging: AveragingStyle) -> Settings {
        Settings { clipping: Some(clipping), averaging: Some(averaging), ..Settings::default() }
    }

    #[test]
    fn what_nobody_asks_for_is_flat_and_the_mean_of_the_last_tenth() {
        let nothing = Settings::default();
        assert_eq!(clipping(&nothing, 1.0, 256.0), Clipping::Flat { norm: 1.0 });
        assert_eq!(averaging(&nothing, 1000), Averaging::Tail { fraction: 0.1 });
        let usual = settings(ClippingStyle::Flat, AveragingStyle::Tail);
        assert_eq!(clipping(&usual, 1.0, 256.0), clipping(&nothing, 1.0, 256.0));
    }

    #[test]
    fn what_is_settled_says_the_same_when_it_is_read_again() {
        for style in ClippingStyle::value_variants() {
            for average in AveragingStyle::value_variants() {
                let mut settled = settings(*style, *average);
                let (before, mean) = (clipping(&settled, 0.9, 300.0), averaging(&settled, 120));
                settle(&mut settled, &before, mean);
                assert_eq!((clipping(&settled, 0.9, 300.0), averaging(&settled, 120)), (before, mean));
                assert!(check(&settled).is_ok());
            }
        }
    }

    /// The names of flags and those that are printed are written down twice.
    #[test]
    fn styles_are_called_as_their_flags_are() {
        for style in ClippingStyle::value_variants() {
            assert_eq!(style.to_possible_value().unwrap().get_name(), style.name());
            assert_eq!(serde_json::to_value(style).unwrap(), style.name());
        }
        for style in AveragingStyle::value_variants() {
            assert_eq!(style.to_possible_value().unwrap().get_name(), style.name());
            assert_eq!(serde_json::to_value(style).unwrap(), style.name());
        }
    }

    /// However much noise there is, the count takes half a percent of what the gradients have.
    #[test]
    fn a_count_never_takes_much_from_the_gradients() {
        for (z, batch) in [(0.5, 20_000.0), (1.0, 256.0), (40.0, 64.0), (1e4, 1.0)] {
            let adaptive = settings(ClippingStyle::Adaptive, AveragingStyle::Tail);
            let Clipping::Quantile { count_noise, .. } = clipping(&adaptive, z, batch) else { panic!() };
            let gradients = (z.powi(-2) - (2.0 * count_noise).powi(-2)).powf(-0.5);
            assert!((1.0..1.0051).contains(&(gradients / z)), "{z} {batch}: {gradients}");
        }
    }

    #[test]
    fn a_short_run_has_an_average_too() {
        let ema = settings(ClippingStyle::Flat, AveragingStyle::Ema);
        assert_eq!(averaging(&ema, 5), Averaging::Exponential { decay: 0.0 });
        assert_eq!(averaging(&ema, 100), Averaging::Exponential { decay: 0.9 });
    }
}
