//! One question about one direction of a composition, refined until
//! the two certified ends are close.

use super::compose::compose;
use super::jumps::Jumped;
use super::pair::{End, FOLLOWED, Pair, View};
use super::parts::Scales;
use super::plan::Plan;
use super::profile::{Profile, Rest};
use super::sketch::{Saddle, Sketch, capped, depth, guess, lattice_step, saddle};
use super::{Interval, Question, single};
use crate::accounting::step::{Step, Steps};

/// Relative gap that is aimed at.
const GOAL: f64 = 6e-5;
/// Relative gap of a first look.
const ROUGH: f64 = 2e-3;
/// Relative gap that is good enough where the work is large.
const ENOUGH: f64 = 6e-4;
/// Work (panels and cells of transforms) below which an answer is refined beyond the goal, above
/// which it need not reach it, and above which it is not refined at all.
const CHEAP: f64 = 6e4;
const LARGE: f64 = 1e6;
const DEAR: f64 = 5e6;
/// Cells of a transform that pay, at the goal.
const GOOD_RING: f64 = 196_608.0;
/// Most cells of one step's lattice.
const MOST_CELLS: f64 = 2_097_152.0;

/// Cells of the bulk's lattice where there are two.
const BULK_CELLS: f64 = 16_384.0;

/// Most panels of all rough pictures together: discrete noise of the
/// largest scale has as many outcomes.
const MOST_SKETCHED: usize = 4_000_000;
/// Releases whose rounding may hide everything.
const TOO_MANY: f64 = 5e11;
/// Sampled releases whose rounding hides everything: others answer, and in less than a second.
const HOPELESS: f64 = 1e15;
/// Largest exponent of a tilted loss.
const MOST_NATS: f64 = 1e5;
/// What is known before anything was computed.
const NOTHING: Interval = Interval { lower: 0.0, upper: f64::INFINITY };

/// One question about one direction of a composition.
pub(super) struct Task {
    question: Question,
    pub(super) steps: Vec<(Pair, u64)>,
    releases: f64,
}

impl Task {
    /// With the worst pair of each step or, for the lower end, one that
    /// some mechanism of its class has.
    pub(super) fn new(steps: &Steps, view: View, end: End, question: Question) -> Result<Self, String> {
        let pair = |(step, count): &(Step, u64)| {
            let smallest = match question {
                Question::Epsilon { delta } => FOLLOWED * delta / *count as f64,
                Question::Delta { .. } => 0.0,
            };
            Ok((Pair::followed_to(step, view, end, smallest)?, *count))
        };
        let steps: Vec<_> = steps.0.iter().map(pair).collect::<Result<_, String>>()?;
        let releases = steps.iter().map(|s| s.1 as f64).sum();
        Ok(Self { question, steps, releases })
    }

    /// Both tasks are about the same pairs.
    pub(super) fn is_about_the_pairs_of(&self, other: &Self) -> bool {
        self.steps == other.steps
    }

    /// Refines the lattice until the ends are close, or until the answer
    /// cannot exceed `floor` any more.
    pub(super) fn refined(&self, floor: f64) -> Interval {
        if let [(pair, 1)] = &self.steps[..] {
            return single::answer(pair, self.question).unwrap_or(NOTHING);
        }
        if let Question::Epsilon { delta } = self.question
            && self.disclosed() > delta
        {
            return Interval { lower: f64::INFINITY, upper: f64::INFINITY };
        }
        if self.releases > HOPELESS && self.steps.iter().any(|(pair, _)| pair.rate < 1.0) {
            return NOTHING;
        }
        let mut best = NOTHING;
        let mut goal = if floor > 0.0 || self.releases > TOO_MANY { 64.0 * GOAL } else { GOAL };
        let mut work = 0.0;
        let mut last_gap = f64::INFINITY;
        for _ in 0..5 {
            let Some(plan) = self.plan(goal, best.upper) else { break };
            if plan.doubtful && best == NOTHING && self.costs_nothing(&mut work) {
                return Interval { lower: 0.0, upper: 0.0 };
            }
            let found = self.run(&plan, &mut work).unwrap_or(NOTHING);
            if found == NOTHING {
                break;
            }
            best = Interval { lower: best.lower.max(found.lower), upper: best.upper.min(found.upper) };
            let gap = (best.upper - best.lower) / best.upper;
            let enough = match work {
                w if w < CHEAP => 1e-7,
                w if w < LARGE => 2.0 * GOAL,
                _ => ENOUGH,
            };
            if best.upper <= floor || best.upper == 0.0 || gap <= enough || plan.limited || work > DEAR {
                break;
            }
            // Rounding of so many releases hides the answer: a finer lattice would not show it
            // either.
            if gap > 0.9 && self.releases > TOO_MANY {
                break;
            }
            // Atoms that lie on no common lattice keep the lower end from getting much closer.
            if gap > 0.7 * last_gap && gap < 0.01 {
                break;
            }
            last_gap = gap;
            goal = if goal > GOAL { GOAL } else { goal * (0.7 * enough / gap).clamp(1.0 / 64.0, 0.5) };
        }
        best
    }

    /// The probability of an infinite loss, rounded down.
    fn disclosed(&self) -> f64 {
        let ln_finite: f64 =
            self.steps.iter().map(|(pair, count)| *count as f64 * (-pair.singular()).ln_1p()).sum();
        -ln_finite.exp_m1() * (1.0 - 1e-9)
    }

    /// Is delta at epsilon = 0 surely small enough?
    fn costs_nothing(&self, work: &mut f64) -> bool {
        let Question::Epsilon { delta } = self.question else { return false };
        let zero = Self { question: Question::Delta { epsilon: 0.0 }, steps: self.steps.clone(), ..*self };
        let found = zero.plan(ROUGH, f64::INFINITY).and_then(|plan| zero.run(&plan, work));
        found.is_some_and(|found| found.upper <= delta)
    }

    /// Chooses tilt, lattice and tails, given an upper end that is known already.
    /// Nothing here can make an answer wrong.
    pub(super) fn plan(&self, goal: f64, known: f64) -> Option<Plan> {
        let (left, little) = (1e-12 / self.releases, 1e-8 / self.releases);
        let (epsilon, delta, sketches) = match self.question {
            Question::Epsilon { delta } => {
                let sketches = self.sketches(left, little * delta)?;
                (guess(&sketches, delta).min(known), delta, sketches)
            }
            Question::Delta { epsilon } => {
                let sketches = self.sketches(left, 1e-280)?;
                let (capped, infinite) = capped(&sketches, epsilon + depth(&sketches));
                (epsilon, saddle(&capped, epsilon).ln_delta.exp() + infinite, sketches)
            }
        };
        let cut = epsilon + depth(&sketches);
        let (sketches, _) = capped(&sketches, cut);
        let saddle = saddle(&sketches, epsilon);
        let scale = match self.question {
            Question::Epsilon { .. } => saddle.epsilon.max(1e-3 * saddle.deviation),
            // A relative error `goal` of delta is one of `goal / tilt` in epsilon.
            Question::Delta { .. } => 1.0 / saddle.tilt,
        };
        let tolerance = goal * scale;
        // Where delta falls by many orders within the tolerance, a smaller tilt serves as well.
        let saddle = Saddle { tilt: saddle.tilt.min(30.0 / tolerance), ..saddle };
        // Beyond the largest loss there is no best tilt, and exponents would lose their digits.
        let most = MOST_NATS / epsilon.max(saddle.deviation).max(f64::MIN_POSITIVE);
        let saddle = Saddle { tilt: saddle.tilt.min(most), ..saddle };
        let wanted = self.aligned(lattice_step(&sketches, &saddle, tolerance));
        let rare = if self.releases < 1e6 { 1e-13 } else { 1e-9 };
        let range = sketches.iter().map(|s| s.range(saddle.tilt, rare)).fold(0.0, f64::max);
        let scales = scales(&sketches, &saddle, wanted, range, tolerance);
        let step = if scales.is_some() { wanted } else { wanted.max(range / MOST_CELLS) };
        let tilt = saddle.tilt.min(0.5 / step);
        // Where the rough picture has no numbers there is nothing to be planned by it.
        if ![step, tilt].into_iter().all(|x| x > 0.0 && x.is_finite()) {
            return None;
        }
        let ln_moment = sketches.iter().map(|s| s.cumulant(tilt).0).collect();
        let ring = (GOOD_RING * (GOAL / goal).sqrt()).min(524_288.0);
        let widest = if self.releases > 1.0 { (0.5 * step).max(0.25 / tilt) } else { f64::INFINITY };
        let (right, negligible) = ((little * delta).max(1e-280), (1e-10 * delta).max(1e-280));
        let (limited, doubtful) = (step > wanted, epsilon < 0.3 * saddle.deviation);
        // A release's panels, some tens wide in outcomes of deviation 1, add
        // a few per cent of the tolerance.
        let grain = (0.08 * tolerance / ((saddle.tilt + 1.0) * self.releases)).sqrt();
        let plan = Plan {
            tilt,
            step,
            cut,
            scales,
            negligible,
            grain,
            widest,
            left,
            right,
            ln_moment,
            ring,
            rare,
            doubtful,
            limited,
        };
        Some(plan)
    }

    fn sketches(&self, left: f64, right: f64) -> Option<Vec<Sketch>> {
        let mut walked = 0;
        let sketch = |(pair, count): &(Pair, u64)| {
            let mut sketch = Sketch::new(*count);
            let mut look = |panel| {
                sketch.panel(&panel);
                walked += 1;
                walked < MOST_SKETCHED
            };
            pair.walk(&|_, _| f64::INFINITY, left, right, &mut look);
            (walked < MOST_SKETCHED).then_some(sketch)
        };
        self.steps.iter().map(sketch).collect()
    }

    /// A step that the losses of a lattice mechanism lie on, if all steps share one and it is near.
    fn aligned(&self, step: f64) -> f64 {
        let Some(spacing) = self.steps.first().and_then(|s| s.0.spacing()) else { return step };
        if self.steps.iter().any(|s| s.0.spacing() != Some(spacing)) {
            step
        } else if step < spacing {
            spacing / (spacing / step).ceil()
        } else if step < 100.0 * spacing {
            spacing
        } else {
            step
        }
    }

    pub(super) fn run(&self, plan: &Plan, work: &mut f64) -> Option<Interval> {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let (mut ln_finite, mut ln_regular, mut largest) = (0.0, 0.0, 0.0);
        let (mut jumped, mut forgotten) = (Jumped::none(), 0.0);
        for ((pair, count), ln_moment) in self.steps.iter().zip(&plan.ln_moment) {
            let walk = plan.walk(pair, *ln_moment)?;
            *work += walk.panels.len() as f64;
            let anchor = plan.anchor(pair, &walk.panels);
            ln_finite += *count as f64 * (-walk.jumps.infinite.min(1.0)).ln_1p();
            ln_regular += *count as f64 * (-pair.singular()).ln_1p();
            largest += *count as f64 * walk.largest();
            jumped = jumped.and(walk.jumps, pair.singular(), *count);
            above.extend(plan.above(&walk, anchor, *ln_moment, *count)?);
            let (parts, off) = plan.below(&walk, anchor, *ln_moment, *count)?;
            below.extend(parts);
            forgotten += off;
        }
        let infinite = -ln_finite.exp_m1();
        let high = Profile::new(compose(above, End::Upper, plan.ring, work)?, Rest::AtMost(infinite));
        let rest = Rest::AtLeast { jumped, infinite: -ln_regular.exp_m1(), forgotten };
        let low = Profile::new(compose(below, End::Lower, plan.ring, work)?, rest);
        Some(match self.question {
            Question::Delta { epsilon } => Interval { lower: low.delta(epsilon), upper: high.delta(epsilon) },
            Question::Epsilon { delta } => {
                // No loss at all is larger than the sum of the largest.
                let most = if infinite <= delta { largest } else { f64::INFINITY };
                Interval {
                    lower: low.epsilon(delta).unwrap_or(0.0).max(0.0),
                    upper: high.epsilon(delta).unwrap_or(f64::INFINITY).min(most).max(0.0),
                }
            }
        })
    }
}

/// Two lattices, where one would be too long; each adds about as much to the gap.
fn scales(sketches: &[Sketch], saddle: &Saddle, step: f64, range: f64, tolerance: f64) -> Option<Scales> {
    let bulk = BULK_CELLS * step;
    if range < 4.0 * bulk {
        return None;
    }
    let jumps: f64 = sketches.iter().map(|s| s.jumps(saddle.tilt, bulk)).sum();
    let coarse = (tolerance / ((saddle.tilt + 1.0) * jumps.max(1.0))).sqrt().min(0.25 / saddle.tilt);
    // As coarse as it may be, and coarser where that would not fit.
    let factor = (coarse / step).log2().floor().max((range / MOST_CELLS / step).log2().ceil());
    (factor >= 1.0).then(|| Scales { bulk, factor: factor.exp2() })
}
