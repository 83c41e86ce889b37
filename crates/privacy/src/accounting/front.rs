//! The front door: one question, the tightest answer that applies.
//!
//! # Which accountant answers
//! Closed forms, where there is one: lists of Gaussians (`gdp`), one choice of bounded range, delta
//! = 0 (`pure`). Otherwise all of these are asked, and the answer is the least of their upper ends
//! and the largest of their lower ends: every one of them is a proof.
//! - Privacy-loss distributions (`pld`), certified from above and below. Where their two ends agree
//!   to a part in 10⁴, nobody else is asked.
//! - Rényi divergences (`rdp`).
//! - Advanced and basic composition (`advanced`), and the sum of pure bounds (`pure`).
//!
//! Ends that contradict each other are a bug here. The answer is then from 0 to ∞, and a note says
//! so.
//!
//! The lower end says how loose the upper can be: for events that name a class of mechanisms
//! (`zcdp`, `pure`, ...) it belongs to some mechanism of that class.

use std::fmt;
use std::str::FromStr;

use super::member::members;
use super::step::{Step, Steps};
use super::{AccountError, closed, composition, flatten, mixture, pld, rdp};
use crate::bound::Bound;
use crate::claim::Claim;
use crate::params::{Delta, Epsilon};
use crate::spelling::{hint, quoted};

/// Which accountant is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accountant {
    /// The tightest that applies.
    Auto,
    /// Epsilons and deltas added up.
    Basic,
    /// Advanced composition of (epsilon, delta) pairs, or basic where that is better.
    Advanced,
    /// Rényi divergences.
    Rdp,
    /// Privacy-loss distributions.
    Pld,
}

impl Accountant {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Basic, Self::Advanced, Self::Rdp, Self::Pld];

    /// Its name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Basic => "basic",
            Self::Advanced => "advanced",
            Self::Rdp => "rdp",
            Self::Pld => "pld",
        }
    }
}

impl fmt::Display for Accountant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Accountant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|a| a.name() == text).ok_or_else(|| {
            format!(
                "an accountant must be one of {}, got {}{}",
                known.join(", "),
                quoted(text),
                hint(text, known)
            )
        })
    }
}

/// An answer and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Certified ends of what was asked, epsilon or delta.
    pub bound: Bound,
    /// Which accountant gave the upper end: `pld`, `rdp`, `gdp`, `pure`, `basic`, `advanced` or
    /// `non_private`.
    pub accountant: &'static str,
    /// The order that a Rényi answer was found at.
    pub order: Option<f64>,
    /// Why the interval is wide, or why another accountant than the tightest answered.
    pub note: Option<String>,
}

/// What `claim` costs at `delta`.
///
/// ```
/// use sordino_privacy::{Accountant, Claim, Delta, accounting};
/// let claim = Claim::from_json(r#"{"type":"gaussian","noise_multiplier":1.0}"#)?;
/// let account = accounting::epsilon(&claim, Delta::new(1e-5)?, Accountant::Auto)?;
/// assert_eq!(account.accountant, "gdp");
/// assert!(account.bound.contains(4.377178095681));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn epsilon(claim: &Claim, delta: Delta, accountant: Accountant) -> Result<Cost, AccountError> {
    answer(claim, Question::Epsilon { delta: delta.get() }, accountant)
}

/// The least delta at which `claim` costs `epsilon`.
///
/// ```
/// use sordino_privacy::{Accountant, Claim, Epsilon, accounting};
/// let claim = Claim::from_json(r#"{"type":"laplace","noise_multiplier":1.0}"#)?;
/// let account = accounting::delta(&claim, Epsilon::new(1.0)?, Accountant::Auto)?;
/// assert_eq!(account.bound.upper, 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn delta(claim: &Claim, epsilon: Epsilon, accountant: Accountant) -> Result<Cost, AccountError> {
    answer(claim, Question::Delta { epsilon: epsilon.get() }, accountant)
}

/// Upper ends of delta at many epsilons, each to about a part in a thousand: far cheaper than to
/// ask one by one.
pub(crate) fn upper_profile(claim: &Claim, epsilons: &[f64]) -> Result<Vec<f64>, AccountError> {
    let steps = flatten::flatten(claim)?;
    if promises_nothing(&steps) {
        return Ok(vec![1.0; epsilons.len()]);
    }
    if closed::gaussian_distance(&steps).is_some() {
        let at = |epsilon: &f64| closed::delta(&steps, *epsilon).map_or(1.0, |delta| delta.upper);
        return Ok(epsilons.iter().map(at).collect());
    }
    let pure = closed::at_delta_zero(&steps).upper;
    let found = pld::profile(&steps, epsilons).or_else(|_| renyi_profile(&steps, epsilons))?;
    let at = |(epsilon, delta): (&f64, f64)| if pure <= *epsilon { 0.0 } else { delta };
    Ok(epsilons.iter().zip(found).map(at).collect())
}

fn renyi_profile(steps: &Steps, epsilons: &[f64]) -> Result<Vec<f64>, AccountError> {
    let whole =
        rdp::Composition::new(steps).map_err(|error| AccountError::not_by("rdp", error.to_string()))?;
    Ok(epsilons.iter().map(|epsilon| whole.delta(*epsilon).value).collect())
}

/// The distance of the Gaussian pair that all of `claim` is, rounded up; none if it is anything
/// else.
pub(crate) fn gaussian_distance(claim: &Claim) -> Result<Option<f64>, AccountError> {
    Ok(closed::gaussian_distance(&flatten::flatten(claim)?).map(|mu| mu.upper))
}

/// One of the two.
#[derive(Clone, Copy, Debug)]
enum Question {
    Epsilon { delta: f64 },
    Delta { epsilon: f64 },
}

fn answer(claim: &Claim, question: Question, accountant: Accountant) -> Result<Cost, AccountError> {
    let (steps, local_reports) = flatten::flatten_for(claim, flatten::LOCAL_DELTA)?;
    let mut found = question.ask(&steps, accountant)?;
    // Local reports without a pure bound are a choice of their delta away from one.
    for local_delta in question.local_deltas(local_reports) {
        let (steps, _) = flatten::flatten_for(claim, local_delta)?;
        let other = question.ask(&steps, accountant)?;
        if other.bound.upper < found.bound.upper {
            found = other;
        }
    }
    if flatten::is_attained(&claim.event) {
        return Ok(found);
    }
    let lower = match accountant {
        Accountant::Auto => flatten::instance(claim).map_or(0.0, |steps| question.lower(&steps)),
        Accountant::Basic | Accountant::Advanced | Accountant::Rdp | Accountant::Pld => 0.0,
    };
    Ok(found.upper_end_only(lower))
}

/// The same releases, without what balls in bins gain by the secrecy of the bins; none if there are
/// none.
fn without_bins(steps: &Steps) -> Option<Steps> {
    let plain = |step: &Step| {
        if let Step::BallsInBins { mu, .. } = step { Step::Gaussian { mu: *mu } } else { step.clone() }
    };
    let has_bins = steps.0.iter().any(|(step, _)| matches!(step, Step::BallsInBins { .. }));
    has_bins.then(|| Steps(steps.0.iter().map(|(step, count)| (plain(step), *count)).collect()))
}

impl Cost {
    fn no_lower_end(self) -> Self {
        Self { bound: Bound::enclosing(0.0, self.bound.upper), ..self }
    }

    /// The upper end alone: what was priced costs no more, and at least what some instance costs.
    fn upper_end_only(self, instance: f64) -> Self {
        let bound = Bound::enclosing(instance, self.bound.upper);
        let note = if bound == Bound::UNKNOWN && self.bound.upper.is_finite() {
            CONTRADICTION
        } else if instance > 0.0 {
            "an event is bounded from above only: the lower end is what one mechanism of its kind costs"
        } else {
            "an event is bounded from above only: how much less it may cost is not known"
        };
        let note = (bound.relative_gap() > WIDE).then(|| note.to_owned());
        Self { bound, note, ..self }
    }
}

fn promises_nothing(steps: &Steps) -> bool {
    steps.0.iter().any(|(step, count)| *step == Step::NonPrivate && *count > 0)
}

fn account(bound: Bound, accountant: &'static str) -> Cost {
    Cost { bound, accountant, order: None, note: None }
}

impl Question {
    fn ask(self, steps: &Steps, accountant: Accountant) -> Result<Cost, AccountError> {
        match accountant {
            _ if promises_nothing(steps) => Ok(account(self.nothing_promised(), "non_private")),
            Accountant::Auto => self.tightest(steps),
            Accountant::Basic => self.composed(steps, "basic", composition::basic),
            Accountant::Advanced => self.composed(steps, "advanced", composition::advanced),
            Accountant::Rdp => self.renyi(steps),
            Accountant::Pld => self.distributions(steps).map_err(|why| AccountError::not_by("pld", why)),
        }
    }

    /// Deltas worth trying for so many local reports: parts of what they may spend together.
    fn local_deltas(self, reports: f64) -> Vec<f64> {
        match self {
            _ if reports == 0.0 => Vec::new(),
            Self::Epsilon { delta } => {
                let parts = [0.5, 0.1, 0.02].map(|part| part * delta / reports);
                parts.into_iter().filter(|delta| *delta > 1e-300).chain([0.0]).collect()
            }
            Self::Delta { .. } => (1..10).map(|i| 10f64.powi(-2 * i) / reports).chain([0.0]).collect(),
        }
    }

    fn nothing_promised(self) -> Bound {
        match self {
            Self::Epsilon { .. } => Bound::UNBOUNDED,
            Self::Delta { .. } => Bound::exactly(1.0),
        }
    }

    /// The least upper end and the largest lower end of all roads that apply.
    fn tightest(self, steps: &Steps) -> Result<Cost, AccountError> {
        if let Some(account) = self.closed(steps) {
            return Ok(account);
        }
        let exact = self.mixture(steps);
        if let Some(found) = &exact
            && found.bound.relative_gap() <= EXACT
        {
            return Ok(found.clone());
        }
        let distributions = match self.distributions(steps) {
            Ok(found) if found.bound.relative_gap() <= EXACT => return Ok(found),
            other => other,
        };
        let note = match &distributions {
            Ok(found) => found.note.clone(),
            Err(why) => Some(why.clone()),
        };
        let mut lower = distributions.as_ref().map_or(0.0, |found| found.bound.lower);
        let wide = distributions.as_ref().map_or(1.0, |found| found.bound.relative_gap()) > WIDE;
        let renyi = self.renyi(steps);
        let roads = [
            exact,
            distributions.ok(),
            renyi.as_ref().ok().cloned(),
            self.composed(steps, "advanced", composition::advanced).ok(),
            self.pure(steps),
            without_bins(steps).and_then(|plain| self.tightest(&plain).ok()).map(Cost::no_lower_end),
        ];
        let best = roads.into_iter().flatten().reduce(|best, road| {
            lower = lower.max(road.bound.lower);
            if road.bound.upper < best.bound.upper { road } else { best }
        });
        let Some(best) = best else {
            return renyi; // why nothing bounds these steps
        };
        if wide && steps.0.iter().any(|(step, _)| names_a_class(step)) {
            lower = lower.max(self.lower(steps));
        }
        let bound = Bound::enclosing(lower.max(best.bound.lower), best.bound.upper);
        let note = if bound == Bound::UNKNOWN && best.bound.upper.is_finite() {
            Some(CONTRADICTION.to_owned())
        } else {
            note.filter(|_| bound.relative_gap() > WIDE)
        };
        Ok(Cost { bound, note, ..best })
    }

    /// The sum of pure bounds, which holds at every delta.
    fn pure(self, steps: &Steps) -> Option<Cost> {
        let Self::Epsilon { .. } = self else { return None };
        let upper = closed::at_delta_zero(steps).upper;
        upper.is_finite().then(|| account(Bound::enclosing(0.0, upper), "pure"))
    }

    /// Exactly, where everything but Gaussian noise has few losses.
    fn mixture(self, steps: &Steps) -> Option<Cost> {
        let bound = match self {
            Self::Epsilon { delta } => mixture::epsilon(steps, delta)?,
            Self::Delta { epsilon } => mixture::delta(steps, epsilon)?,
        };
        Some(account(bound, "pld"))
    }

    fn closed(self, steps: &Steps) -> Option<Cost> {
        let bound = match self {
            Self::Epsilon { delta } => closed::epsilon(steps, delta)?,
            Self::Delta { epsilon } => closed::delta(steps, epsilon)?,
        };
        let gaussians = !steps.0.is_empty() && closed::gaussian_distance(steps).is_some();
        let at_zero = matches!(self, Self::Epsilon { delta } if delta <= 0.0) || bound.upper == 0.0;
        let one_choice = matches!(steps.0[..], [(Step::BoundedRange { .. }, 1)]);
        Some(account(
            bound,
            match (gaussians, one_choice) {
                _ if at_zero && !(gaussians && bound.upper == 0.0) => "pure",
                (true, _) => "gdp",
                (false, true) => "pld",
                (false, false) => "pure",
            },
        ))
    }

    fn distributions(self, steps: &Steps) -> Result<Cost, String> {
        if let Some(found) = self.closed(steps) {
            return Ok(found);
        }
        let interval = match self {
            Self::Epsilon { delta } => pld::epsilon(steps, delta)?,
            Self::Delta { epsilon } => pld::delta(steps, epsilon)?,
        };
        let bound = Bound::enclosing(interval.lower, interval.upper);
        let note = (bound.relative_gap() > WIDE).then(|| {
            if steps.0.iter().any(|(step, _)| names_a_class(step)) {
                "an event names a class of mechanisms: the upper end is for the worst of them, the lower for \
                one of them"
            } else {
                "losses of very different sizes meet here: no lattice that fits in memory resolves them all"
            }
            .to_owned()
        });
        Ok(Cost { note, ..account(bound, "pld") })
    }

    fn renyi(self, steps: &Steps) -> Result<Cost, AccountError> {
        let found = match self {
            Self::Epsilon { delta } if delta <= 0.0 => {
                return Ok(account(closed::at_delta_zero(steps), "pure"));
            }
            Self::Epsilon { delta } => rdp::epsilon(steps, delta),
            Self::Delta { epsilon } => rdp::delta(steps, epsilon),
        };
        let found = found.map_err(|error| AccountError::not_by("rdp", error.to_string()))?;
        let order = found.order.is_finite().then_some(found.order);
        Ok(Cost { order, ..account(Bound::enclosing(0.0, found.value), "rdp") })
    }

    /// A certified lower end for events that have no worst privacy-loss distribution.
    fn lower(self, steps: &Steps) -> f64 {
        let members = members(steps);
        if let Some(found) = self.closed(&members) {
            return found.bound.lower;
        }
        match self {
            Self::Epsilon { delta } => pld::epsilon_at_least(&members, delta),
            Self::Delta { epsilon } => pld::delta_at_least(&members, epsilon),
        }
    }

    fn composed<E: fmt::Display>(
        self,
        steps: &Steps,
        name: &'static str,
        rule: fn(&Steps, f64) -> Result<f64, E>,
    ) -> Result<Cost, AccountError> {
        let rule =
            |delta: f64| rule(steps, delta).map_err(|error| AccountError::not_by(name, error.to_string()));
        let upper = match self {
            Self::Epsilon { delta } => rule(delta)?,
            Self::Delta { epsilon } => least_delta(epsilon, rule)?,
        };
        Ok(account(Bound::enclosing(0.0, upper), name))
    }
}

/// Relative gap beyond which the reason is given.
const WIDE: f64 = 0.01;
/// Relative gap up to which no other accountant is asked: none could gain more.
const EXACT: f64 = 1e-4;

const CONTRADICTION: &str = "internal error: two accountants contradict each other, so that nothing is \
    claimed; please report this event";

/// The event speaks of all mechanisms with some property.
fn names_a_class(step: &Step) -> bool {
    match step {
        Step::BoundedRange { .. }
        | Step::Zcdp { .. }
        | Step::Renyi { .. }
        | Step::WithReplacement { .. }
        | Step::BallsInBins { .. }
        | Step::Shuffled { .. }
        | Step::Group { .. }
        | Step::Selected { .. }
        | Step::WithoutReplacement { .. } => true,
        Step::Poisson { base, .. } | Step::PoissonGroup { base, .. } => names_a_class(base),
        Step::Gaussian { .. }
        | Step::Laplace { .. }
        | Step::DiscreteGaussian { .. }
        | Step::DiscreteLaplace { .. }
        | Step::RandomizedResponse { .. }
        | Step::Pure { .. }
        | Step::Approximate { .. }
        | Step::NonPrivate => false,
    }
}

/// The least delta (to one part in a thousand, on the safe side) at which a composition rule gives
/// at most `epsilon`; 1 where none does.
fn least_delta(epsilon: f64, rule: impl Fn(f64) -> Result<f64, AccountError>) -> Result<f64, AccountError> {
    if rule(0.0)? <= epsilon {
        return Ok(0.0);
    }
    let (mut low, mut high) = (1e-300_f64.ln(), 0.0);
    if rule(low.exp())? <= epsilon {
        return Ok(low.exp());
    }
    if rule(1.0 - 1e-9)? > epsilon {
        return Ok(1.0);
    }
    while high - low > 1e-3 {
        let middle = 0.5 * (low + high);
        if rule(middle.exp().min(1.0 - 1e-9))? <= epsilon { high = middle } else { low = middle }
    }
    Ok(high.exp())
}
