//! Batches of records, and the event that accounts for their sampling: one value defines both.
//!
//! # Definition
//! A data set has n *slots*. A batch is a set (or, with replacement, a list) of slots, drawn by one
//! of these methods:
//!
//! | [`Sampling`] | a batch | event | relations |
//! |---|---|---|---|
//! | `Poisson` | each slot joins by its own coin of probability q | `poisson_sampled` | all |
//! | `WithoutReplacement` | a uniform set of b slots | `sampled_without_replacement` | replace |
//! | `WithReplacement` | b independent uniform slots | `sampled_with_replacement` | replace |
//! | `ShuffledEpochs` | a part of the epoch's random order | `shuffled_epochs` | zero_out, replace |
//! | `BallsInBins` | each slot joins one of the epoch's b batches | `balls_in_bins` | all |
//! | `FullBatch` | every slot | none | all |
//!
//! (*All* means all relations of records; n is public under `zero_out` and `replace`.)
//!
//! # Guarantee
//! [`BatchPlan`] derives the event and the batches from the same numbers and ends after the
//! batches that the event accounts for. All draws are exact: coins have the probability that the
//! accounted double stands for, subsets and permutations are uniform by rejection, never by
//! remainder. No draw looks at data.
//!
//! # Cost
//! `Poisson` takes about n/8 words of random bits if q is at least 2^-14, and `q n + 1` geometric
//! gaps (some ten microseconds each) below. Either way the cost per expected record is bounded,
//! whatever n. The other samplers take a few words per sampled slot (epochs: n words per epoch, and
//! 4n bytes).
//!
//! # Pitfalls
//! - Amplification is proved for Poisson samples. A shuffled epoch costs as much as no sampling:
//!   with noise multiplier 0.8 and 1000 batches it can be distinguished at ε = 5.2, where Poisson
//!   sampling has 0.30 (Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang, *How Private are
//!   DP-SGD Implementations?*, 2024).
//! - Fixed-size samples need `replace`. Poisson samples with the same numbers can cost a tenth
//!   (Lebeda, Regehr, Kamath, Steinke, *Avoiding Pitfalls for Privacy Accounting of Subsampled
//!   Mechanisms under Composition*, 2024).
//! - A Poisson batch may be empty. It is still a batch: noise only. Its size is private: never log
//!   it, never divide by it; [`BatchPlan::divisor`] is the public number.

mod batch;
mod epochs;
mod error;
mod fixed;
mod poisson;
#[cfg(test)]
mod tests;

use sordino_noise::Bits;
use sordino_privacy::{Count, Event, FixedSample, Neighbours, SamplingRate};

pub use batch::{Batch, BatchGroup};
use epochs::Epoch;
pub use error::BatchError;
use poisson::PoissonSlots;

/// How batches are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Each slot joins each batch by its own coin.
    Poisson {
        /// The probability of joining.
        rate: SamplingRate,
    },
    /// Each batch is a uniform set of distinct slots.
    WithoutReplacement {
        /// Slots in a batch.
        size: Count,
    },
    /// Each batch is a list of independent uniform slots.
    WithReplacement {
        /// Draws in a batch.
        size: Count,
    },
    /// A new random order of all slots in each epoch, cut into batches whose sizes differ by one at
    /// most.
    ShuffledEpochs {
        /// Batches in an epoch.
        batches: Count,
    },
    /// In each epoch, each slot joins one uniform batch of that epoch.
    BallsInBins {
        /// Batches in an epoch.
        bins: Count,
    },
    /// Every slot joins every batch.
    FullBatch,
}

impl Sampling {
    /// Whether the event of this sampling holds under this relation.
    pub fn admits(self, neighbours: Neighbours) -> bool {
        let is_add_remove = match neighbours {
            Neighbours::AddRemove | Neighbours::AddRemoveOrdered => true,
            Neighbours::ZeroOut
            | Neighbours::ZeroOutUnordered
            | Neighbours::Replace
            | Neighbours::ReplaceOrdered => false,
            Neighbours::MetricBall(_) => return false,
        };
        let is_replace = matches!(neighbours, Neighbours::Replace | Neighbours::ReplaceOrdered);
        match self {
            Self::Poisson { .. } | Self::BallsInBins { .. } | Self::FullBatch => true,
            Self::WithoutReplacement { .. } | Self::WithReplacement { .. } => is_replace,
            // The cuts depend on n, which must therefore be public.
            Self::ShuffledEpochs { .. } => !is_add_remove,
        }
    }

    /// Its name in events and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Poisson { .. } => "poisson_sampled",
            Self::WithoutReplacement { .. } => "sampled_without_replacement",
            Self::WithReplacement { .. } => "sampled_with_replacement",
            Self::ShuffledEpochs { .. } => "shuffled_epochs",
            Self::BallsInBins { .. } => "balls_in_bins",
            Self::FullBatch => "full_batch",
        }
    }
}

/// A plan of batches, and the event that accounts for them.
///
/// ```
/// use sordino_data::{BatchPlan, Sampling};
/// use sordino_privacy::{Count, Event, Neighbours, NoiseMultiplier, SamplingRate};
/// let sampling = Sampling::Poisson { rate: SamplingRate::new(0.01)? };
/// let plan = BatchPlan::new(sampling, Count::new(60_000)?, Count::new(1000)?, Neighbours::ZeroOut)?;
/// let event = plan.event(Event::gaussian(NoiseMultiplier::new(1.1)?)); // charge this, then
/// let mut batches = plan.batches();
/// let mut bits = sordino_noise::entropy()?;
/// while let Some(batch) = batches.next(&mut bits) {
///     // sum over `batch.iter()`, divide by `plan.divisor()`
/// #   break;
/// }
/// # let _ = event;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchPlan {
    sampling: Sampling,
    slots: Count,
    rounds: Count,
    neighbours: Neighbours,
    steps: u64,
}

impl BatchPlan {
    /// `rounds` counts epochs for `ShuffledEpochs` and `BallsInBins`, and batches for all others.
    /// `slots` is n, public under `zero_out` and `replace`.
    pub fn new(
        sampling: Sampling,
        slots: Count,
        rounds: Count,
        neighbours: Neighbours,
    ) -> Result<Self, BatchError> {
        if !sampling.admits(neighbours) {
            return Err(BatchError::Relation { sampling: sampling.name(), neighbours });
        }
        if slots.get() > u64::from(u32::MAX) {
            return Err(BatchError::TooManySlots { slots: slots.get() });
        }
        let an_epoch = match sampling {
            Sampling::WithoutReplacement { size } => {
                FixedSample::distinct(size, slots)?;
                1
            }
            Sampling::ShuffledEpochs { batches } if batches > slots => {
                return Err(BatchError::MoreBatchesThanSlots { batches: batches.get(), slots: slots.get() });
            }
            Sampling::ShuffledEpochs { batches } => batches.get(),
            Sampling::BallsInBins { bins } => bins.get(),
            Sampling::Poisson { .. } | Sampling::WithReplacement { .. } | Sampling::FullBatch => 1,
        };
        let steps = rounds.get().checked_mul(an_epoch).filter(|steps| *steps <= Count::MAX);
        let steps = steps.ok_or(BatchError::TooManySteps { epochs: rounds.get(), batches: an_epoch })?;
        Ok(Self { sampling, slots, rounds, neighbours, steps })
    }

    /// The event of all batches, where `step` is the event of one batch.
    pub fn event(&self, step: Event) -> Event {
        let event = Box::new(step);
        match self.sampling {
            Sampling::Poisson { rate } => event.poisson_sampled(rate).repeated(self.rounds),
            Sampling::WithoutReplacement { size } => {
                let sample = FixedSample::draws(size, self.slots); // `new` has checked the size
                event.sampled_without_replacement(sample).repeated(self.rounds)
            }
            Sampling::WithReplacement { size } => {
                let sample = FixedSample::draws(size, self.slots);
                Event::SampledWithReplacement { sample, event }.repeated(self.rounds)
            }
            Sampling::ShuffledEpochs { .. } => Event::ShuffledEpochs { epochs: self.rounds, event },
            Sampling::BallsInBins { bins } => Event::BallsInBins { bins, epochs: self.rounds, event },
            Sampling::FullBatch => event.repeated(self.rounds),
        }
    }

    /// How batches are drawn.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// The relation under which the event holds.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// n, the number of slots.
    pub fn slots(&self) -> Count {
        self.slots
    }

    /// The number of batches in all.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The expected size of a batch, by which a noisy sum is divided. It is never the size of the
    /// batch at hand.
    ///
    /// It is public where n is. Under `add_remove` n is private and this is `None`: divide by a
    /// constant of your own choice.
    pub fn divisor(&self) -> Option<f64> {
        let n = self.slots.get() as f64;
        let is_public = match self.neighbours {
            Neighbours::AddRemove | Neighbours::AddRemoveOrdered | Neighbours::MetricBall(_) => false,
            Neighbours::ZeroOut
            | Neighbours::ZeroOutUnordered
            | Neighbours::Replace
            | Neighbours::ReplaceOrdered => true,
        };
        is_public.then(|| match self.sampling {
            Sampling::Poisson { rate } => rate.get() * n,
            Sampling::WithoutReplacement { size } | Sampling::WithReplacement { size } => size.get() as f64,
            Sampling::ShuffledEpochs { batches: parts } | Sampling::BallsInBins { bins: parts } => {
                n / parts.get() as f64
            }
            Sampling::FullBatch => n,
        })
    }

    /// The batches, from the first.
    pub fn batches(&self) -> Batches {
        let poisson = if let Sampling::Poisson { rate } = self.sampling {
            Some(PoissonSlots::new(rate, self.slots.get()))
        } else {
            None
        };
        Batches { plan: *self, taken: 0, poisson, epoch: None }
    }

    /// The batches from number `step` on, for a run that is resumed. A run with epochs can resume
    /// at the beginning of an epoch only: the order of a started epoch is lost.
    pub fn batches_from(&self, step: u64) -> Result<Batches, BatchError> {
        let epoch = self.steps / self.rounds.get();
        if step > self.steps || !step.is_multiple_of(epoch) {
            return Err(BatchError::Resume { step, steps: self.steps, epoch });
        }
        Ok(Batches { taken: step, ..self.batches() })
    }
}

/// Draws the batches of a plan, and not one more than its event accounts for.
#[derive(Debug)]
pub struct Batches {
    plan: BatchPlan,
    taken: u64,
    poisson: Option<PoissonSlots>,
    epoch: Option<Epoch>,
}

impl Batches {
    /// The next batch; `None` after the last. A batch without records is still a batch.
    pub fn next<R: Bits + ?Sized>(&mut self, bits: &mut R) -> Option<Batch> {
        if self.taken == self.plan.steps {
            return None;
        }
        let slots = self.plan.slots.get() as u32; // `new` checked that it fits
        let batch = match self.plan.sampling {
            Sampling::Poisson { .. } => Batch::of(self.poisson.as_ref()?.draw(bits)),
            Sampling::WithoutReplacement { size } => Batch::of(fixed::subset(size.get(), slots, bits)),
            Sampling::WithReplacement { size } => Batch::of(fixed::draws(size.get(), slots, bits)),
            Sampling::ShuffledEpochs { batches } => {
                self.in_epoch(batches.get(), |_| Epoch::shuffled(batches.get(), slots, bits))
            }
            Sampling::BallsInBins { bins } => {
                self.in_epoch(bins.get(), |_| Epoch::thrown(bins.get(), slots, bits))
            }
            Sampling::FullBatch => Batch::all(slots),
        };
        self.taken += 1;
        Some(batch)
    }

    /// The number of batches drawn so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The next batch of the epoch; `begin` draws a new epoch when one starts.
    fn in_epoch(&mut self, parts: u64, begin: impl FnOnce(u64) -> Epoch) -> Batch {
        let part = self.taken % parts;
        let epoch = match self.epoch.take() {
            Some(epoch) if part > 0 => epoch,
            _ => begin(part),
        };
        let batch = epoch.part(part);
        self.epoch = Some(epoch);
        batch
    }
}
