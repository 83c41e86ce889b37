//! The black-box tester: two neighbouring inputs, one mechanism, one claim.
//!
//! # Method
//! Half of the work searches, the other half certifies, and no sample serves both.
//!
//! 1. *Learn*: a score for outputs, from labelled outputs on both inputs: the likelihood ratio by
//!    counting where there are few outputs, additive logistic regression where there are many.
//! 2. *Choose*: on fresh outputs, which input to favour and from what score on, see [`EventSize`].
//! 3. *Certify*: on fresh outputs, each on the input that a fair coin chooses, count the event. For
//!    pure privacy one Clopper-Pearson bound, on the share of events that come from the favoured
//!    input, gives a lower bound on ε ([`ErrorRates::pure_epsilon_by_coins`]); with δ two of them
//!    do, with half of the error each ([`ErrorRates::epsilon`]). The order of the inputs was fixed
//!    in step 2, so nothing is left to be paid for.
//! 4. A bound above the claim is *repeated* on fresh outputs before it is called a violation; the
//!    smaller of the two bounds is reported.
//!
//! # Guarantee
//! With probability at least `confidence` the bound is at most the mechanism's true ε at the given
//! δ, whatever the search did. An audit that finds nothing proves nothing: it says what it could
//! have found.
//!
//! # Pitfalls
//! - The inputs must be neighbours under the relation of the claim. The tester cannot know.
//! - Samples must be independent: a mechanism that caches noise between calls is not what was
//!   claimed.
//! - Among many audits some fail by chance: give each an error of the whole budget over their
//!   number.

use std::num::NonZero;

use sordino_noise::Bits;
use sordino_privacy::{Delta, Epsilon};
use sordino_threads::available;

use crate::boosting::{Binned, Boosted, Cuts};
use crate::error::AuditError;
use crate::error_rates::{ErrorRates, error_of};
use crate::event::{EventSize, Model, Outlook, OutputSet};
use crate::histogram::{self, OutputHistogram};
use crate::observe::{Observe, Row};
use crate::report::{Audit, Verdict};
use crate::sampling::{AuditProgress, Draws, Pass};

/// The least number of samples that can find anything.
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
    /// The claim is pure ε-privacy; 200 000 outputs on either input to search, as many to certify,
    /// 95 % confidence, all cores.
    pub fn new(claimed: Epsilon) -> Self {
        Self {
            epsilon: claimed,
            delta: no_delta(),
            confidence: 0.95,
            search: 200_000,
            certify: 200_000,
            size: EventSize::Best,
            most_trees: 100,
            draws: Draws { seed: None, threads: available(), progress: &|_| () },
        }
    }

    /// The claim has a δ.
    pub fn with_delta(mut self, delta: Delta) -> Self {
        self.delta = delta;
        self
    }

    /// How many outputs on either input the search and the certification take (the latter on
    /// average: coins decide).
    pub fn with_samples(mut self, search: u64, certify: u64) -> Self {
        (self.search, self.certify) = (search, certify);
        self
    }

    /// The confidence of the bounds.
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
        self.draws.threads = NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN);
        self
    }

    /// A callback for progress, called from any thread.
    pub fn on_progress(mut self, told: &'a (dyn Fn(AuditProgress) + Sync)) -> Self {
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

    /// Audits `mechanism` on the pair of neighbouring inputs that a short search finds most
    /// promising: round by round the better half of the pairs stays, and is searched with twice as
    /// many outputs.
    pub fn test_pairs<I: Sync + ?Sized, O: Observe>(
        &self,
        mechanism: impl Fn(&I, &mut dyn Bits) -> O + Sync,
        pairs: &[(&I, &I)],
    ) -> Result<Audit, AuditError> {
        let on = |pair: usize, input: usize, bits: &mut dyn Bits, row: &mut Row| {
            let (one, two) = pairs[pair];
            row.observe(&mechanism(if input == 0 { one } else { two }, bits));
        };
        self.checked()?;
        let best = self.most_promising(&on, pairs.len())?;
        let sampler = |input: usize, bits: &mut dyn Bits, row: &mut Row| on(best, input, bits, row);
        let found = self.search(&sampler, self.search, Passes::SEARCH)?;
        self.verdict(&sampler, &found)
    }

    /// The index of the most promising pair. `on` runs the mechanism on one input of a pair.
    fn most_promising(
        &self,
        on: &(dyn Fn(usize, usize, &mut dyn Bits, &mut Row) + Sync),
        pairs: usize,
    ) -> Result<usize, AuditError> {
        let mut left: Vec<usize> = (0..pairs).collect();
        // All rounds together cost about as much as the search that follows.
        let mut share = self.search / (4 * pairs.max(1) as u64);
        let mut passes = Passes::SEARCH;
        while left.len() > 1 {
            let mut promises = Vec::new();
            for pair in left {
                passes = passes.next();
                let sampler = |input: usize, bits: &mut dyn Bits, row: &mut Row| on(pair, input, bits, row);
                promises.push((self.search(&sampler, share.max(LEAST_SAMPLES), passes)?.promise, pair));
            }
            promises.sort_by(|(one, _), (two, _)| two.total_cmp(one));
            left = promises.iter().take(promises.len().div_ceil(2)).map(|(_, pair)| *pair).collect();
            share *= 2;
        }
        left.first().copied().ok_or(AuditError::NoPairs)
    }

    fn checked(&self) -> Result<(), AuditError> {
        error_of(self.confidence)?;
        match self.search.min(self.certify) {
            got if got < LEAST_SAMPLES => Err(AuditError::Samples { least: LEAST_SAMPLES, got }),
            _ => Ok(()),
        }
    }

    /// Learn and choose.
    fn search(&self, sampler: &Sampler<'_>, samples: u64, passes: Passes) -> Result<Found, AuditError> {
        let model = self.learn(sampler, samples / 2, passes)?;
        let scores = |input: usize| {
            let pass = passes.pass("choosing", 2, input);
            self.rows(sampler, pass, samples / 2, |row, scores| scores.push(model.score(row)))
        };
        let (event, promise) = self.outlook()?.choose([scores(0)?, scores(1)?]);
        Ok(Found { model, event, promise })
    }

    fn learn(&self, sampler: &Sampler<'_>, samples: u64, passes: Passes) -> Result<Model, AuditError> {
        let rows = |input: usize| {
            let pass = passes.pass("looking", 0, input);
            self.rows(sampler, pass, FIRST_LOOK.min(samples), |row, rows| rows.push(row.to_vec()))
        };
        let first = [rows(0)?, rows(1)?].concat();
        if OutputHistogram::suits(&mut first.iter().map(|row| histogram::key(row)).collect()) {
            let keys = |input| {
                let pass = passes.pass("learning", 1, input);
                self.rows(sampler, pass, samples, |row, keys| keys.push(histogram::key(row)))
            };
            return Ok(Model::Histogram(OutputHistogram::learn(&keys(0)?, &keys(1)?)));
        }
        let cuts = Cuts::of(&first);
        let bins = |input| {
            self.rows(sampler, passes.pass("learning", 1, input), samples, |row, bins| cuts.bin(row, bins))
        };
        let bins = [bins(0)?, bins(1)?].concat();
        let rows = Binned { bins: &bins, ones: samples as usize };
        Ok(Model::Boosted(Boosted::learn(&cuts, &rows, self.most_trees, self.draws.threads)))
    }

    /// Draws rows, and collects what `keep` returns for each.
    fn rows<T: Send + Clone>(
        &self,
        sampler: &Sampler<'_>,
        pass: Pass,
        samples: u64,
        keep: impl Fn(&[f64], &mut Vec<T>) + Sync,
    ) -> Result<Vec<T>, AuditError> {
        let chunks = self.draws.chunks(pass, samples, |bits, count| {
            let (mut row, mut kept) = (Row::default(), Vec::new());
            for _ in 0..count {
                sampler(pass.input, bits, &mut row);
                keep(row.numbers(), &mut kept);
            }
            kept
        })?;
        Ok(chunks.concat())
    }

    fn outlook(&self) -> Result<Outlook, AuditError> {
        Ok(Outlook {
            size: self.size,
            samples: self.certify as f64,
            error: error_of(self.confidence)?,
            delta: self.delta.get(),
        })
    }

    /// Certify, and repeat what would be a violation.
    fn verdict(&self, sampler: &Sampler<'_>, found: &Found) -> Result<Audit, AuditError> {
        let mut rates = self.count(sampler, found, "certifying", 3)?;
        let mut epsilon = self.bound(&rates)?;
        if epsilon > self.epsilon.get() {
            let again = self.count(sampler, found, "repeating", 4)?;
            let repeated = self.bound(&again)?;
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
            ceiling: self.bound(&rates.best())?,
            confidence: self.confidence,
            rates,
            favoured: found.event.favoured,
        })
    }

    /// The bound that the counts certify at the claimed δ.
    fn bound(&self, rates: &ErrorRates) -> Result<f64, AuditError> {
        if self.delta.get() == 0.0 {
            rates.pure_epsilon_by_coins(self.confidence)
        } else {
            rates.epsilon(self.delta, self.confidence)
        }
    }

    /// Counts the event on both inputs. A fair coin chooses the input of each trial.
    fn count(
        &self,
        sampler: &Sampler<'_>,
        found: &Found,
        stage: &'static str,
        step: u64,
    ) -> Result<ErrorRates, AuditError> {
        let pass = Passes::SEARCH.pass(stage, step, 0);
        let chunks = self.draws.chunks(pass, 2 * self.certify, |bits, count| {
            let (mut row, mut tally, mut coins) = (Row::default(), Tally::default(), 0);
            for trial in 0..count {
                if trial % u64::from(u64::BITS) == 0 {
                    coins = bits.next_u64();
                }
                let input = (coins >> (trial % u64::from(u64::BITS)) & 1) as usize;
                sampler(input, bits, &mut row);
                let score = found.model.score(row.numbers());
                tally.trials[input] += 1;
                tally.events[input] += u64::from(found.event.contains(score, bits));
            }
            tally
        })?;
        let sum = chunks.into_iter().fold(Tally::default(), Tally::plus);
        let (one, two) = (found.event.favoured, 1 - found.event.favoured);
        ErrorRates::new(sum.events[one], sum.trials[one], sum.events[two], sum.trials[two])
    }
}

/// Trials and events, by input.
#[derive(Clone, Copy, Default)]
struct Tally {
    trials: [u64; 2],
    events: [u64; 2],
}

impl Tally {
    fn plus(self, other: Self) -> Self {
        let add = |one: [u64; 2], two: [u64; 2]| [one[0] + two[0], one[1] + two[1]];
        Self { trials: add(self.trials, other.trials), events: add(self.events, other.events) }
    }
}

/// Runs the mechanism on the first or the second input (0 or 1), and writes its output into a row.
/// Behind a pointer, so that searching and counting are compiled once for all mechanisms.
type Sampler<'a> = dyn Fn(usize, &mut dyn Bits, &mut Row) + Sync + 'a;

/// What a search found.
struct Found {
    model: Model,
    event: OutputSet,
    /// The bound it expects.
    promise: f64,
}

/// Pass numbers. They differ, so no two passes of an audit share their bits.
#[derive(Clone, Copy)]
struct Passes(u64);

impl Passes {
    const SEARCH: Self = Self(0);
    /// Steps of a search, and of certifying.
    const STEPS: u64 = 5;

    fn next(self) -> Self {
        Self(self.0 + Self::STEPS)
    }

    fn pass(self, stage: &'static str, step: u64, input: usize) -> Pass {
        Pass { stage, number: self.0 + step, input }
    }
}

fn no_delta() -> Delta {
    // Proof: 0 is a probability.
    Delta::new(0.0).expect("zero is a delta")
}
