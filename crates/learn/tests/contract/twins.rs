//! Broken twins of learners. Each makes the claim of an honest one.

use sordino_data::Encoded;
use sordino_learn::{LearnError, LearningPlan, LinearModel};
use sordino_noise::Bits;
use sordino_noise::danger::seeded;
use sordino_privacy::{Claim, Permit, Release, Unit};

use super::learners::AnyPlan;
use super::unmetered;

/// Makes the claim of one plan and fits another, with less noise, a larger clip norm or another
/// relation.
pub(crate) struct Impostor {
    pub(crate) claims: Claim,
    pub(crate) does: AnyPlan,
}

impl LearningPlan for Impostor {
    type Model = LinearModel;
    type Error = LearnError;

    fn claim(&self) -> Claim {
        self.claims.clone()
    }

    fn fit(&self, data: &Encoded, permit: Permit) -> Result<Release<LinearModel>, LearnError> {
        self.fit_with(data, permit, &mut seeded(1))
    }

    fn fit_with(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
    ) -> Result<Release<LinearModel>, LearnError> {
        permit.covers(&self.claims, &Unit::Record)?;
        let (model, _) = self.does.fit_with(data, unmetered(self.does.claim()), bits)?.into_parts();
        Ok(permit.seal(&self.claims.event, model)?)
    }
}

/// Fits first and checks the permit afterwards.
pub(crate) struct Hasty(pub(crate) AnyPlan);

impl LearningPlan for Hasty {
    type Model = LinearModel;
    type Error = LearnError;

    fn claim(&self) -> Claim {
        self.0.claim()
    }

    fn fit(&self, data: &Encoded, permit: Permit) -> Result<Release<LinearModel>, LearnError> {
        self.fit_with(data, permit, &mut seeded(1))
    }

    fn fit_with(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
    ) -> Result<Release<LinearModel>, LearnError> {
        let (model, _) = self.0.fit_with(data, unmetered(self.0.claim()), bits)?.into_parts();
        permit.covers(&self.claim(), &Unit::Record)?;
        Ok(permit.seal(&self.claim().event, model)?)
    }
}
