//! What learners that are done at once have in common.

use sordino_data::{Encoded, Encoding};
use sordino_noise::Bits;
use sordino_optim::{check_data, check_permit};
use sordino_privacy::{Claim, Count, Inflation, Permit, Release};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::model::LinearModel;

/// What a learner that has no steps to tell of was planned for, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    pub(crate) encoding: Encoding,
    pub(crate) n: Count,
    pub(crate) claim: Claim,
}

/// What came out of noisy numbers, and what rounding took of the guarantee.
pub(crate) struct Learned {
    pub(crate) loss: Loss,
    pub(crate) weights: Vec<f64>,
    pub(crate) arithmetic: Inflation,
}

impl Terms {
    /// The one order of things: the permit first, then shapes, and only
    /// then does `learn` see records.
    pub(crate) fn fit(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
        learn: impl FnOnce(&mut dyn Bits) -> Result<Learned, LearnError>,
    ) -> Result<Release<LinearModel>, LearnError> {
        let permit = check_permit(permit, &self.claim, &self.encoding, bits.is_seeded())?;
        check_data(&self.encoding, self.n.get(), data)?;
        let Learned { loss, weights, arithmetic } = learn(bits)?;
        let model = LinearModel::new(loss, self.encoding.clone(), weights);
        Ok(permit.with_arithmetic(arithmetic).seal(&self.claim.event, model)?)
    }
}
