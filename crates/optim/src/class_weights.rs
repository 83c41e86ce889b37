//! Class weights, declared before data is seen.
//!
//! # Definition
//! A record of class c has weight `w_c`: its loss, and so its gradient and its second derivative,
//! is multiplied by `w_c`. Methods that clip use `w_c clip(g)`, which is the gradient `w_c g` of
//! the weighted loss, clipped to `w_c C`.
//!
//! # Guarantee
//! Declared weights are divided by the largest of them, so that `0 < w_c <= 1`. Then every bound on
//! what one record contributes still holds: clipped gradients have norm at most `w_c C <= C`,
//! Lipschitz constants and smoothness only shrink, and a record's Hessian `w_c M` is at most M, so
//! that determinants `det(I + w_c M/Λ)` are at most those of weight 1. No sensitivity, event or
//! price changes. A float product with a number of at most 1 is rounded to at most the other
//! factor, so bounds that hold in floats still hold.
//!
//! # Pitfalls
//! - Weights above 1, not divided, would raise the sensitivity above what was paid for.
//! - *Balanced* weights, n/(K n_c), are computed from counts of the private data, which would be
//!   one more release. Take weights from public knowledge.
//! - The noise is that of weight 1, so records of small weight are harder to tell from it.

use sordino_data::Encoding;
use sordino_spelling::hint;

/// The least weight, where the largest is 1. A smaller one would amount to leaving the class out.
const MIN_WEIGHT: f64 = 1e-6;

/// One weight for each class of a target, above 0, the largest of them 1.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassWeights {
    /// The weights in order of classes.
    weights: Vec<f64>,
}

impl ClassWeights {
    /// The declared weights, one for each class of the target, divided by the largest.
    pub fn new(encoding: &Encoding, declared: &[(String, f64)]) -> Result<Self, ClassWeightsError> {
        let classes = encoding.classes().ok_or(ClassWeightsError::NoClasses)?;
        let mut weights = vec![None; classes.len()];
        for (class, weight) in declared {
            let Some(number) = classes.iter().position(|known| known == class) else {
                let hint = hint(class, classes.iter().map(String::as_str));
                return Err(ClassWeightsError::Unknown { class: class.clone(), hint });
            };
            if !(*weight > 0.0 && weight.is_finite()) {
                return Err(ClassWeightsError::OutOfRange { class: class.clone(), got: *weight });
            }
            if weights[number].replace(*weight).is_some() {
                return Err(ClassWeightsError::Twice { class: class.clone() });
            }
        }
        let missing = |number: usize| ClassWeightsError::Missing { class: classes[number].clone() };
        let all =
            weights.into_iter().enumerate().map(|(number, weight)| weight.ok_or_else(|| missing(number)));
        let weights: Vec<f64> = all.collect::<Result<_, _>>()?;
        let largest = weights.iter().copied().fold(0.0, f64::max);
        // A quotient of two floats with the larger one as divisor is rounded to at most 1.
        let weights: Vec<f64> = weights.iter().map(|weight| weight / largest).collect();
        match weights.iter().position(|weight| *weight < MIN_WEIGHT) {
            Some(number) => Err(ClassWeightsError::Spread { class: classes[number].clone() }),
            None => Ok(Self { weights }),
        }
    }

    /// The weights in order of classes.
    pub fn as_slice(&self) -> &[f64] {
        &self.weights
    }

    /// Checks that the target of this encoding has as many classes as there are weights.
    pub fn check(&self, encoding: &Encoding) -> Result<(), ClassWeightsError> {
        let classes = encoding.classes().ok_or(ClassWeightsError::NoClasses)?.len();
        let weights = self.weights.len();
        if weights == classes { Ok(()) } else { Err(ClassWeightsError::OtherTarget { classes, weights }) }
    }
}

/// Why class weights cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClassWeightsError {
    /// The target is a number, or there is none.
    #[error("class weights are for a target of classes, and this target is a number; leave them out")]
    NoClasses,
    /// A class that the schema does not declare.
    #[error("the target has no class `{}`{hint}; give each class of the target a \
        weight", class.escape_debug())]
    Unknown {
        /// The name given.
        class: String,
        /// A hint at the nearest class.
        hint: String,
    },
    /// A class with two weights.
    #[error("class `{}` has two weights; give it one", class.escape_debug())]
    Twice {
        /// The class.
        class: String,
    },
    /// A class without a weight.
    #[error("class `{}` has no weight; give each class of the target one, 1 where in \
        doubt", class.escape_debug())]
    Missing {
        /// The class.
        class: String,
    },
    /// A weight that is not a finite number above 0.
    #[error("the weight of class `{}` must be a finite number above 0, got {got}", class.escape_debug())]
    OutOfRange {
        /// The class.
        class: String,
        /// The weight given.
        got: f64,
    },
    /// A weight that is too small beside the largest.
    #[error(
        "the weight of class `{}` is less than a millionth of the largest; give weights that are nearer to \
        each other",
        class.escape_debug()
    )]
    Spread {
        /// The class.
        class: String,
    },
    /// Weights for another target.
    #[error(
        "there are weights for {weights} classes, and the target has {classes}; make them for this encoding"
    )]
    OtherTarget {
        /// The number of classes in the encoding.
        classes: usize,
        /// The number of weights.
        weights: usize,
    },
}

#[cfg(test)]
mod tests {
    use sordino_data::{EncodingOptions, Schema};

    use super::*;

    fn encoding(target: &str) -> Encoding {
        let schema = Schema::from_toml(
            "columns.x = { kind = 'number', bounds = [0, 1] }\n\
             columns.ill = { kind = 'category', values = ['no', 'yes', 'perhaps'] }",
        );
        let options = EncodingOptions { target: Some(target.to_owned()), ..EncodingOptions::default() };
        Encoding::new(&schema.unwrap(), &["x".into(), "ill".into()], options).unwrap()
    }

    fn weights(target: &str, declared: &[(&str, f64)]) -> Result<ClassWeights, ClassWeightsError> {
        let declared: Vec<_> =
            declared.iter().map(|(class, weight)| ((*class).to_owned(), *weight)).collect();
        ClassWeights::new(&encoding(target), &declared)
    }

    #[test]
    fn the_largest_weight_is_one_and_the_order_is_that_of_the_schema() {
        let made = weights("ill", &[("perhaps", 2.0), ("yes", 8.0), ("no", 1.0)]).unwrap();
        assert_eq!(made.as_slice(), [0.125, 1.0, 0.25]);
        let again = weights("ill", &[("no", 0.125), ("yes", 1.0), ("perhaps", 0.25)]).unwrap();
        assert_eq!(made, again);
        let equal = weights("ill", &[("no", 0.3), ("yes", 0.3), ("perhaps", 0.3)]).unwrap();
        assert_eq!(equal.as_slice(), [1.0; 3]);
        assert!(made.check(&encoding("ill")).is_ok() && made.check(&encoding("x")).is_err());
    }

    #[test]
    fn weights_that_do_not_match_the_classes_are_refused() {
        for (target, declared, says) in [
            ("x", vec![("no", 1.0)], "is a number"),
            ("ill", vec![("no", 1.0), ("yess", 1.0), ("perhaps", 1.0)], "did you mean `yes`?"),
            ("ill", vec![("no", 1.0), ("yes", 3.0)], "class `perhaps` has no weight"),
            ("ill", vec![("no", 1.0), ("no", 3.0)], "class `no` has two weights"),
            ("ill", vec![("no", 0.0)], "above 0, got 0"),
            ("ill", vec![("no", -1.0)], "above 0, got -1"),
            ("ill", vec![("no", f64::INFINITY)], "finite"),
            ("ill", vec![("no", f64::NAN)], "finite"),
            ("ill", vec![("no", 1.0), ("yes", 2e6), ("perhaps", 9.0)], "class `no` is less than a millionth"),
        ] {
            let error = weights(target, &declared).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
