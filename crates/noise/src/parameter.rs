//! Exact values of parameters: a double is a dyadic rational and is taken as exactly that.

use dashu::rational::RBig;

use crate::error::NoiseError;

/// `numerator / denominator`, if it is positive.
pub(crate) fn positive_ratio(
    parameter: &'static str,
    numerator: u64,
    denominator: u64,
) -> Result<RBig, NoiseError> {
    if numerator == 0 || denominator == 0 {
        return Err(NoiseError::NotPositive { parameter, value: format!("{numerator}/{denominator}") });
    }
    Ok(RBig::from_parts(numerator.into(), denominator.into()))
}

/// The exact value of a double, if it is positive and finite.
pub(crate) fn positive_double(parameter: &'static str, value: f64) -> Result<RBig, NoiseError> {
    match RBig::try_from(value) {
        Ok(exact) if value > 0.0 => Ok(exact),
        _ => Err(NoiseError::NotPositive { parameter, value: value.to_string() }),
    }
}
