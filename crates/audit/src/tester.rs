//! The black-box tester: two neighbouring inputs, one mechanism, one claim.
//!
//! # Method
//! Half of the work searches, the other half certifies, and no sample serves both.
//!
//! 1. *Learn*: a score for outputs, from labelled outputs on both inputs: the likelihood ratio by counting where
//!    there are few outputs, additive logistic regression where there are many.
//! 2. *Choose*: on fresh outputs, which input to favour and from what score on, see [`EventSize`].
//! 3. *Certify*: on fresh outputs, count the event on both inputs; Clopper-Pearson bounds with half of the error
//!    each give a lower bound on ε ([`ErrorRates::epsilon`]). The order of the inputs was fixed in step 2, so nothing
//!    is left to be paid for.
//! 4. A bound above the claim is *repeated* on fresh outputs before it is called a violation; the smaller of the
//!    two bounds is reported.
//!
//! # Guarantee
//! With probability at least `confidence` the bound is at most the mechanism's true ε at the given δ, whatever the
//! search did. An audit that finds nothing proves nothing: it says what it could have found.
//!
//! # Pitfalls
//! - The inputs must be neighbours under the relation of the claim. The tester cannot know.
//! - Samples must be independent: a mechanism that caches noise between calls is not what was claimed.
//! - Among many audits some fail by chance: give each an error of the whole budget over their number.

use sordino_noise::Bits;
use sordino_privacy::{Delta, Epsilon};

use crate::boosting::{Binned, Boosted, Cuts};
use crate::error::AuditError;
use crate::error_rates::{ErrorRates, error_of, normal_quantile};
use crate::event::{Event, EventSize, Model, Outlook};
use crate::histogram::{self, Histogram};
use crate::observe::{Observe, Row};
use crate::report::{Audit, Verdict};
use crate::sampling::{Draws, Pass, Progress};

/// Fewer samples than this find nothing.
const LEAST_SAMPLES: u64 = 100;
/// Samples for the first look: cuts, and whether outputs are few.
const FIRST_LOOK: u64 = 1 << 14;

/// Tests a claim of privacy against a mechanism's outputs.
///
/// ```
/// use sordino_audit::{MechanismTester, Verdict};
/// use sordino_noise::{Bits, DiscreteLaplace};
/// use sordino_privacy::Epsilon;
///
/// // A count, with noise of scale 1: ε = 1. Claimed: 0.5.
/// let noise = DiscreteLaplace::new(1, 1)?;
/// let mechanism = |count: &i128, bits: &mut dyn Bits| count + noise.sample(bits);
/// let audit = MechanismTester::new(Epsilon::new(0.5)?).test(mechanism, &10, &11)?;
/// assert_eq!(audit.verdict, Verdict::Violation);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MechanismTester<'a> {
    epsilon: Epsilon,
    delta: Delta,
    confidence: f64,
    search: u64,
    certify: u64,
    size: EventSize,
    most_trees: usize,
    draws: Draws<'a>,
}

impl<'a> MechanismTester<'a> {
    /// The claim is pure ε-privacy; 200 000 outputs on either input to search, as many to certify, 95 %
    /// confidence, all cores.
    pub fn new(claimed: Epsilon) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            epsilon: claimed,
            delta: no_delta(),
            confidence: 0.95,
            search: 200_000,
            certify: 200_000,
            size: EventSize::Best,
            most_trees: 100,
            draws: Draws { seed: None, threads, progress: &|_| () },
        }
    }

    /// The claim has a δ.
    pub fn with_delta(mut self, delta: Delta) -> Self {
        self.delta = delta;
        self
    }

    /// How many outputs on either input the search and the certification take.
    pub fn with_samples(mut self, search: u64, certify: u64) -> Self {
        (self.search, self.certify) = (search, certify);
        self
    }

    /// With what probability the bounds shall be right.
    pub fn at_confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    /// How large an event is sought.
    pub fn with_event_size(mut self, size: EventSize) -> Self {
        self.size = size;
        self
    }

    /// Repeatable bits: the same audit every time, on any number of cores. For tests.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.draws.seed = Some(seed);
        self
    }

    /// How many threads draw samples.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.draws.threads = threads.max(1);
        self
    }

    /// Who is told how far the audit is, from any thread.
    pub fn on_progress(mut self, told: &'a (dyn Fn(Progress) + Sync)) -> Self {
        self.draws.progress = told;
        self
    }

    /// Audits `mechanism` on two neighbouring inputs.
    ///
    /// The mechanism gets random bits that may be repeated; it may also bring its own.
    pub fn test<I: Sync + ?Sized, O: Observe>(
        &self,
        mechanism: impl Fn(&I, &mut dyn Bits) -> O + Sync,
        one: &I,
        two: &I,
    ) -> Result<Audit, AuditError> {
        self.test_pairs(mechanism, &[(one, two)])
    }

    /// Audits `mechanism` on the pair of neighbouring inputs that a short search finds most promising.
    pub fn test_pairs<I: Sync + ?Sized, O: Observe>(
        &self,
        mechanism: impl Fn(&I, &mut dyn Bits) -> O + Sync,
        pairs: &[(&I, &I)],
    ) -> Result<Audit, AuditError> {
        self.checked()?;
        let mut best = (0, f64::NEG_INFINITY);
        if pairs.len() > 1 {
            let share = (self.search / pairs.len() as u64).max(LEAST_SAMPLES);
            for (index, (one, two)) in pairs.iter().enumerate() {
                let found = self.search(&mechanism, [one, two], share, Passes::preview(index))?;
                if found.promise > best.1 {
                    best = (index, found.promise);
                }
            }
        }
        let (one, two) = *pairs.get(best.0).ok_or(AuditError::NoPairs)?;
        let found = self.search(&mechanism, [one, two], self.search, Passes::SEARCH)?;
        self.verdict(&mechanism, [one, two], &found)
    }

    fn checked(&self) -> Result<(), AuditError> {
        error_of(self.confidence)?;
        match self.search.min(self.certify) {
            got if got < LEAST_SAMPLES => Err(AuditError::Samples { least: LEAST_SAMPLES, got }),
            _ => Ok(()),
        }
    }

    /// Learn and choose.
    fn search<I: Sync + ?Sized, O: Observe>(
        &self,
        mechanism: &(impl Fn(&I, &mut dyn Bits) -> O + Sync),
        inputs: [&I; 2],
        samples: u64,
        passes: Passes,
    ) -> Result<Found, AuditError> {
        let samplers = inputs.map(|input| move |bits: &mut dyn Bits| mechanism(input, bits));
        let model = self.learn(&samplers, samples / 2, passes)?;
        let scores = |input: usize| -> Result<Vec<f32>, AuditError> {
            let pass = passes.pass("choosing", 2, input);
            let chunks = self.draws.chunks(pass, samples / 2, |bits, count| {
                let mut row = Row::default();
                (0..count).map(|_| model.score(row.of(&samplers[input](bits)))).collect::<Vec<_>>()
            })?;
            Ok(chunks.concat())
        };
        let (event, promise) = self.outlook()?.choose([scores(0)?, scores(1)?]);
        Ok(Found { model, event, promise })
    }

    fn learn<O: Observe>(
        &self,
        samplers: &[impl Fn(&mut dyn Bits) -> O + Sync; 2],
        samples: u64,
        passes: Passes,
    ) -> Result<Model, AuditError> {
        let rows = |input: usize| {
            let pass = passes.pass("looking", 0, input);
            let chunks = self.draws.chunks(pass, FIRST_LOOK.min(samples), |bits, count| {
                let mut row = Row::default();
                (0..count).map(|_| row.of(&samplers[input](bits)).to_vec()).collect::<Vec<_>>()
            })?;
            Ok::<_, AuditError>(chunks.concat())
        };
        let first = [rows(0)?, rows(1)?].concat();
        if Histogram::suits(&mut first.iter().map(|row| histogram::key(row)).collect()) {
            let keys = |input| {
                let key = |row: &[f64], keys: &mut Vec<u64>| keys.push(histogram::key(row));
                self.rows(&samplers[input], passes.pass("learning", 1, input), samples, key)
            };
            return Ok(Model::Histogram(Histogram::learn(&keys(0)?, &keys(1)?)));
        }
        let cuts = Cuts::of(&first);
        let bins = |input| {
            let bin = |row: &[f64], bins: &mut Vec<u8>| cuts.bin(row, bins);
            self.rows(&samplers[input], passes.pass("learning", 1, input), samples, bin)
        };
        let bins = [bins(0)?, bins(1)?].concat();
        let rows = Binned { bins: &bins, ones: samples as usize };
        Ok(Model::Boosted(Boosted::learn(&cuts, &rows, self.most_trees, self.draws.threads)))
    }

    /// What `keep` keeps of each row.
    fn rows<O: Observe, T: Send + Clone>(
        &self,
        sampler: &(impl Fn(&mut dyn Bits) -> O + Sync),
        pass: Pass,
        samples: u64,
        keep: impl Fn(&[f64], &mut Vec<T>) + Sync,
    ) -> Result<Vec<T>, AuditError> {
        let chunks = self.draws.chunks(pass, samples, |bits, count| {
            let (mut row, mut kept) = (Row::default(), Vec::new());
            for _ in 0..count {
                keep(row.of(&sampler(bits)), &mut kept);
            }
            kept
        })?;
        Ok(chunks.concat())
    }

    fn outlook(&self) -> Result<Outlook, AuditError> {
        Ok(Outlook {
            size: self.size,
            samples: self.certify as f64,
            deviations: -normal_quantile(0.5 * error_of(self.confidence)?),
            delta: self.delta.get(),
        })
    }

    /// Certify, and repeat what would be a violation.
    fn verdict<I: Sync + ?Sized, O: Observe>(
        &self,
        mechanism: &(impl Fn(&I, &mut dyn Bits) -> O + Sync),
        inputs: [&I; 2],
        found: &Found,
    ) -> Result<Audit, AuditError> {
        let mut rates = self.count(mechanism, inputs, found, "certifying", 3)?;
        let mut epsilon = rates.epsilon(self.delta, self.confidence)?;
        if epsilon > self.epsilon.get() {
            let again = self.count(mechanism, inputs, found, "repeating", 4)?;
            let repeated = again.epsilon(self.delta, self.confidence)?;
            if repeated < epsilon {
                (rates, epsilon) = (again, repeated);
            }
        }
        let violated = epsilon > self.epsilon.get();
        Ok(Audit {
            verdict: if violated { Verdict::Violation } else { Verdict::NoViolationFound },
            claimed_epsilon: self.epsilon.get(),
            claimed_delta: self.delta.get(),
            epsilon,
            delta: rates.delta(self.epsilon.get(), self.confidence)?,
            ceiling: rates.ceiling(self.delta, self.confidence)?,
            confidence: self.confidence,
            rates,
            favoured: found.event.favoured,
        })
    }

    /// How often the event comes on the favoured input and on the other.
    fn count<I: Sync + ?Sized, O: Observe>(
        &self,
        mechanism: &(impl Fn(&I, &mut dyn Bits) -> O + Sync),
        inputs: [&I; 2],
        found: &Found,
        stage: &'static str,
        step: u64,
    ) -> Result<ErrorRates, AuditError> {
        let hits = |input: usize| -> Result<u64, AuditError> {
            let pass = Passes::SEARCH.pass(stage, step, input);
            let chunks = self.draws.chunks(pass, self.certify, |bits, count| {
                let mut row = Row::default();
                let mut hits = 0;
                for _ in 0..count {
                    let score = found.model.score(row.of(&mechanism(inputs[input], bits)));
                    hits += u64::from(found.event.contains(score, bits));
                }
                hits
            })?;
            Ok(chunks.iter().sum())
        };
        let favoured = found.event.favoured;
        ErrorRates::new(hits(favoured)?, self.certify, hits(1 - favoured)?, self.certify)
    }
}

/// What a search found.
struct Found {
    model: Model,
    event: Event,
    /// The bound it expects.
    promise: f64,
}

/// Numbers of passes, so that no two of an audit share their bits.
#[derive(Clone, Copy)]
struct Passes(u64);

impl Passes {
    const SEARCH: Self = Self(0);
    /// Steps of a search, and of certifying.
    const STEPS: u64 = 5;

    fn preview(pair: usize) -> Self {
        Self((pair as u64 + 1) * Self::STEPS)
    }

    fn pass(self, stage: &'static str, step: u64, input: usize) -> Pass {
        Pass { stage, number: self.0 + step, input }
    }
}

fn no_delta() -> Delta {
    // Proof: 0 is a probability.
    Delta::new(0.0).expect("zero is a delta")
}
