//! One question about one direction of a composition, refined until the two certified ends are close.

use super::compose::compose;
use super::pair::{End, Pair, View};
use super::plan::{Plan, shift};
use super::profile::Profile;
use super::sketch::{Saddle, Sketch, lattice_step, saddle_for_delta, saddle_for_epsilon};
use super::{Interval, Question, single};
use crate::accounting::step::{Step, Steps};

/// Relative gap that is aimed at.
const GOAL: f64 = 6e-5;
/// Relative gap that is good enough where the work is large.
const ENOUGH: f64 = 6e-4;
/// Work (panels and cells of transforms) below which an answer is refined beyond the goal, above which it
/// need not reach it, and above which it is not refined at all.
const CHEAP: f64 = 6e4;
const LARGE: f64 = 1e6;
const DEAR: f64 = 1e7;
/// Cells of a transform that pay, at the goal.
const GOOD_RING: f64 = 196_608.0;
/// Most cells of one step's lattice.
const MOST_CELLS: f64 = 2_097_152.0;

/// Most panels of all rough pictures together: discrete noise of the largest scale has as many outcomes.
const MOST_SKETCHED: usize = 4_000_000;
/// What is known before anything was computed.
const NOTHING: Interval = Interval { lower: 0.0, upper: f64::INFINITY };

/// One question about one direction of a composition.
pub(super) struct Task {
    question: Question,
    pub(super) steps: Vec<(Pair, u64)>,
    releases: f64,
}

impl Task {
    /// With the worst pair of each step or, for the lower end, one that some mechanism of its class has.
    pub(super) fn new(steps: &Steps, view: View, end: End, question: Question) -> Result<Self, String> {
        let pair = |(step, count): &(Step, u64)| Ok((Pair::new(step, view, end)?, *count));
        let steps: Vec<_> = steps.0.iter().map(pair).collect::<Result<_, String>>()?;
        let releases = steps.iter().map(|s| s.1 as f64).sum();
        Ok(Self { question, steps, releases })
    }

    /// Both tasks are about the same pairs.
    pub(super) fn is_about_the_pairs_of(&self, other: &Self) -> bool {
        self.steps == other.steps
    }

    /// Refines the lattice until the ends are close, or until the answer cannot exceed `floor` any more.
    pub(super) fn refined(&self, floor: f64) -> Interval {
        let mut best = NOTHING;
        let mut goal = if floor > 0.0 { 64.0 * GOAL } else { GOAL };
        let mut work = 0.0;
        let mut last_gap = f64::INFINITY;
        for _ in 0..5 {
            let Some(plan) = self.plan(goal, best.upper) else { break };
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
            // Atoms that lie on no common lattice keep the lower end from getting much closer.
            if gap > 0.7 * last_gap && gap < 0.01 {
                break;
            }
            last_gap = gap;
            goal = if goal > GOAL { GOAL } else { goal * (0.7 * enough / gap).clamp(1.0 / 64.0, 0.5) };
        }
        best
    }

    /// Chooses tilt, lattice and tails, given an upper end that is known already. Nothing here can make an
    /// answer wrong.
    pub(super) fn plan(&self, goal: f64, known: f64) -> Option<Plan> {
        let (left, little) = (1e-12 / self.releases, if self.releases == 1.0 { 1e-14 } else { 1e-8 });
        let (saddle, right, sketches) = match self.question {
            Question::Epsilon { delta } => {
                let right = little * delta / self.releases;
                let sketches = self.sketches(left, right)?;
                let first = saddle_for_delta(&sketches, delta.ln());
                // Rare large losses make the first guess far too large; what is known by now is better.
                let saddle = if known < 0.7 * first.epsilon && known > 0.0 {
                    Saddle { epsilon: known, ..saddle_for_epsilon(&sketches, known) }
                } else {
                    first
                };
                (saddle, right, sketches)
            }
            Question::Delta { epsilon } => {
                let sketches = self.sketches(left, 1e-280)?;
                let saddle = saddle_for_epsilon(&sketches, epsilon);
                (saddle, (little * saddle.ln_delta.exp() / self.releases).max(1e-280), sketches)
            }
        };
        let scale = match self.question {
            Question::Epsilon { .. } => saddle.epsilon.max(1e-3 * saddle.deviation),
            // A relative error `goal` of delta is one of `goal / tilt` in epsilon.
            Question::Delta { .. } => 1.0 / saddle.tilt,
        };
        let tolerance = goal * scale;
        // Where delta falls by many orders within the tolerance, a smaller tilt serves as well.
        let saddle = Saddle { tilt: saddle.tilt.min(30.0 / tolerance), ..saddle };
        let wanted = self.aligned(lattice_step(&sketches, &saddle, tolerance));
        let rare = if self.releases < 1e6 { 1e-13 } else { 1e-9 };
        let range: f64 = sketches.iter().map(|s| s.range(saddle.tilt, rare)).sum();
        let step = wanted.max(range / MOST_CELLS);
        let tilt = saddle.tilt.min(0.5 / step);
        let ln_moment = sketches.iter().map(|s| s.cumulant(tilt).0).collect();
        let ring = (GOOD_RING * (GOAL / goal).sqrt()).min(524_288.0);
        let widest = if self.releases > 1.0 { (0.5 * step).max(0.25 / tilt) } else { f64::INFINITY };
        Some(Plan { tilt, step, widest, left, right, ln_moment, ring, rare, limited: step > wanted })
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
        if let [(pair, 1)] = &self.steps[..] {
            return self.run_single(pair, plan, work);
        }
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let (mut ln_finite, mut ln_regular, mut largest) = (0.0, 0.0, 0.0);
        for ((pair, count), ln_moment) in self.steps.iter().zip(&plan.ln_moment) {
            let (panels, ends) = plan.panels(pair, *ln_moment)?;
            *work += panels.len() as f64;
            let anchor = plan.anchor(pair, &panels);
            ln_finite += *count as f64 * (-ends.right).ln_1p();
            ln_regular += *count as f64 * (-pair.singular()).ln_1p();
            largest += *count as f64 * (panels.last().map_or(0.0, |p| p.high) + shift(&panels));
            above.push((plan.above(&panels, ends, anchor, *ln_moment, *count), *count));
            below.push((plan.below(&panels, anchor, *ln_moment, *count), *count));
        }
        let infinite = -ln_finite.exp_m1();
        let high = Profile::new(compose(above, End::Upper, plan.ring, work), infinite, End::Upper);
        let low = Profile::new(compose(below, End::Lower, plan.ring, work), -ln_regular.exp_m1(), End::Lower);
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

    fn run_single(&self, pair: &Pair, plan: &Plan, work: &mut f64) -> Option<Interval> {
        let (panels, ends) = plan.panels(pair, plan.ln_moment[0])?;
        *work += 40.0 * panels.len() as f64;
        Some(match self.question {
            Question::Epsilon { delta } => single::epsilon(&panels, ends.right, shift(&panels), delta),
            Question::Delta { epsilon } => single::delta(&panels, ends.right, shift(&panels), epsilon),
        })
    }
}
