//! Neural networks: a description or a preset becomes a learner.
//!
//! # What is decided for the user
//! | setting | default |
//! |---|---|
//! | input | a picture, if `--image` says so or the file is one of pictures; else the encoded columns |
//! | outputs | the classes, or one number |
//! | loss | cross entropy, or squared for a number |
//! | batches | Poisson samples of 256 records on average, or of a hundredth of all if that is more |
//! | steps | as many as twenty passes over the data take |
//! | clipping | each record's whole gradient to norm 1 |
//! | updates | momentum 0.9, a rate that suits the number of steps and their noise and falls along a cosine; the result is the mean of the last tenth of the iterates |
//!
//! [`style`] has what else clipping and averages can be. All of it follows from public numbers. The start is drawn from a fixed public seed.

pub(crate) mod advice;
mod learner;
mod pace;
mod planner;
mod source;
pub(crate) mod style;

pub(crate) use self::learner::plan;
pub(crate) use self::pace::Pace;
pub(crate) use self::planner::NetworkAdvice;
pub(crate) use self::source::ImageShape;
pub(crate) use self::style::{AveragingStyle, ClippingStyle};
