//! Which loss a linear model minimises: the one that is asked for, or logistic for two classes, softmax for more, squared for a number.

use sordino_data::Encoding;
use sordino_learn::Loss;

use super::args::LossFlag;
use crate::error::Error;

/// The loss, once it is found to suit the target.
pub(crate) fn loss(asked: Option<LossFlag>, encoding: &Encoding) -> Result<Loss, Error> {
    let classes = encoding.classes().map_or(0, <[String]>::len);
    let loss = match asked {
        Some(LossFlag::Logistic) => Loss::Logistic,
        Some(LossFlag::SmoothHinge) => Loss::SmoothHinge { width: 0.5 },
        Some(LossFlag::Softmax) => Loss::Softmax { classes },
        Some(LossFlag::Squared) => Loss::Squared,
        Some(LossFlag::Huber) => Loss::Huber { width: 0.5 },
        None if encoding.target_bounds().is_some() => Loss::Squared,
        None if classes == 2 => Loss::Logistic,
        None => Loss::Softmax { classes },
    };
    loss.check(encoding)?;
    Ok(loss)
}

/// Its name as a setting.
pub(crate) fn flag_of(loss: Loss) -> LossFlag {
    match loss {
        Loss::Logistic => LossFlag::Logistic,
        Loss::SmoothHinge { .. } => LossFlag::SmoothHinge,
        Loss::Squared => LossFlag::Squared,
        Loss::Huber { .. } => LossFlag::Huber,
        // The enum may grow; the command makes none but these.
        Loss::Softmax { .. } | _ => LossFlag::Softmax,
    }
}
