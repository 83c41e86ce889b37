//! Where the bits of a fit come from.

use sordino_noise::{Bits, entropy};

use crate::error::LearnError;

/// The caller's bits or, if there are none, fresh entropy from the operating system for each draw.
pub(crate) struct Source<'a>(Option<&'a mut dyn Bits>);

impl<'a> Source<'a> {
    pub(crate) fn new(given: Option<&'a mut dyn Bits>) -> Self {
        Self(given)
    }

    pub(crate) fn is_seeded(&self) -> bool {
        self.0.as_ref().is_some_and(|bits| bits.is_seeded())
    }

    /// Calls `draw` with these bits.
    pub(crate) fn draw<T>(
        &mut self,
        draw: impl FnOnce(&mut dyn Bits) -> Result<T, LearnError>,
    ) -> Result<T, LearnError> {
        match &mut self.0 {
            Some(bits) => draw(*bits),
            None => draw(&mut entropy()?),
        }
    }
}
