//! What plans without steps have in common.

use sordino_data::{Encoded, Encoding};
use sordino_noise::Bits;
use sordino_optim::{check_data, check_permit};
use sordino_privacy::{Claim, Count, Inflation, Permit, Release};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::model::LinearModel;

/// The data that a plan is for, and its claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    pub(crate) encoding: Encoding,
    pub(crate) n: Count,
    pub(crate) claim: Claim,
}

/// Learned weights, and how much of the sensitivity pays for float arithmetic.
pub(crate) struct Learned {
    pub(crate) loss: Loss,
    pub(crate) weights: Vec<f64>,
    pub(crate) arithmetic: Inflation,
}

impl Terms {
    /// Checks the permit, then the shapes of the data, and only then lets `learn` see records.
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
