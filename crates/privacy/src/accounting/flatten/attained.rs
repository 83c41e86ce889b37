//! Does some mechanism cost what the steps of an event say?

use super::toeplitz::Toeplitz;
use super::tree::Tree;
use super::unwrap_single;
use crate::event::Event;
use crate::params::Count;

/// Is some mechanism known that this event allows and that costs what its steps do? Not where the
/// steps are only an upper bound: secret bins may hide more than they are given credit for, leaves
/// of one unit may lie apart, a descent may contract by turning back and forth, and what is known
/// of groups may be no more than a chain of single units.
pub(crate) fn is_attained(event: &Event) -> bool {
    is_attained_by(event, false)
}

/// The same, for one unit or for groups of several. Two outcomes with losses of k eps would need
/// intermediate inputs that tell more than eps apart.
fn is_attained_by(event: &Event, groups: bool) -> bool {
    match event {
        Event::BallsInBins { bins, event, .. } => *bins == Count::ONE && is_attained_by(event, groups),
        Event::TreeAggregation { steps, participations, separation, nodes, .. } => {
            Tree::new(*steps, *participations, *separation, *nodes).is_exact()
        }
        Event::Toeplitz { steps, bands, participations, separation, .. } => {
            Toeplitz::new(*steps, *bands, *participations, *separation).is_exact()
        }
        Event::Composed { events } => events.iter().all(|event| is_attained_by(event, groups)),
        Event::Group { size, event } => is_attained_by(event, groups || *size > Count::ONE),
        Event::LastIterate { steps, step_size, strong_convexity, smoothness, diameter, event } => {
            let curved = [strong_convexity.get(), smoothness.get()].map(|curve| step_size.get() * curve);
            // A quadratic of the least curvature meets the bound if none of a larger one contracts
            // less.
            let by_quadratic = diameter.is_none() && (curved[0] == 0.0 || curved[0] + curved[1] <= 2.0);
            let gaussian = matches!(unwrap_single(event), Event::Gaussian(_)) && by_quadratic;
            gaussian || (*steps == Count::ONE && is_attained_by(event, groups))
        }
        Event::OnePass { .. } => false,
        Event::PoissonSampled { event, .. } => {
            let single = unwrap_single(event);
            let shifted = matches!(single, Event::Gaussian(_) | Event::Laplace(_) | Event::Gdp { .. });
            is_attained_by(event, groups) && (shifted || !groups)
        }
        Event::PoissonSampledTruncated { population, max_batch, event, .. } => {
            max_batch >= population && !groups && is_attained_by(event, groups)
        }
        Event::SampledWithoutReplacement { event, .. } | Event::SampledWithReplacement { event, .. } => {
            !groups && is_attained_by(event, groups)
        }
        // The survey that is known to cost something may be another randomizer's.
        Event::ShuffledReports { .. } => false,
        Event::Repeated { event, .. } | Event::ShuffledEpochs { event, .. } => is_attained_by(event, groups),
        Event::Selected { event, .. } => is_attained_by(event, groups) && !may_disclose(event),
        Event::Pure { .. }
        | Event::Approximate { .. }
        | Event::RandomizedResponse(_)
        | Event::AboveThreshold { .. } => !groups,
        Event::Gaussian(_)
        | Event::Laplace(_)
        | Event::DiscreteGaussian { .. }
        | Event::DiscreteLaplace { .. }
        | Event::Exponential { .. }
        | Event::Zcdp { .. }
        | Event::Gdp { .. }
        | Event::Renyi(_)
        | Event::NonPrivate => true,
    }
}

/// Some part has no pure bound and no Rényi divergence, so that what it may disclose is set aside.
fn may_disclose(event: &Event) -> bool {
    match event {
        Event::Approximate { delta, .. } => delta.get() > 0.0,
        Event::NonPrivate | Event::PoissonSampledTruncated { .. } => true,
        // Gaussian reports are taken at a delta of their own.
        Event::ShuffledReports { .. } => true,
        Event::Composed { events } => events.iter().any(may_disclose),
        Event::PoissonSampled { event, .. }
        | Event::SampledWithoutReplacement { event, .. }
        | Event::SampledWithReplacement { event, .. }
        | Event::Repeated { event, .. }
        | Event::ShuffledEpochs { event, .. }
        | Event::BallsInBins { event, .. }
        | Event::LastIterate { event, .. }
        | Event::OnePass { event, .. }
        | Event::Group { event, .. }
        | Event::Selected { event, .. } => may_disclose(event),
        Event::Gaussian(_)
        | Event::Laplace(_)
        | Event::DiscreteGaussian { .. }
        | Event::DiscreteLaplace { .. }
        | Event::RandomizedResponse(_)
        | Event::Exponential { .. }
        | Event::Pure { .. }
        | Event::Zcdp { .. }
        | Event::Gdp { .. }
        | Event::Renyi(_)
        | Event::AboveThreshold { .. }
        | Event::TreeAggregation { .. }
        | Event::Toeplitz { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::accounting::{Accountant, delta};
    use crate::bound::Bound;
    use crate::claim::Claim;
    use crate::params::Epsilon;

    fn ends(neighbours: &str, event: &str, epsilon: f64) -> Bound {
        let json = format!(r#"{{"neighbours":"{neighbours}","event":{event}}}"#);
        let claim = Claim::from_json(&json).unwrap();
        delta(&claim, Epsilon::new(epsilon).unwrap(), Accountant::Auto).unwrap().bound
    }

    /// If each of two units changes a probability by a factor of at most e, the worst case is a
    /// coin that passes through 1/2: total variation `1 - e^-1`, and not the `tanh(1)` of a
    /// release that is 2-DP for one unit.
    #[test]
    fn no_lower_end_for_groups_beyond_what_a_chain_of_units_can_do() {
        for event in [
            r#"{"type":"pure","epsilon":1}"#,
            r#"{"type":"approximate","epsilon":1,"delta":0}"#,
            r#"{"type":"randomized_response","categories":2,"truth_probability":0.7310585786300049}"#,
        ] {
            let found = ends("replace", &format!(r#"{{"type":"group","size":2,"event":{event}}}"#), 0.0);
            assert!(
                found.lower <= -(-1f64).exp_m1() && found.upper >= 1f64.tanh() * (1.0 - 1e-9),
                "{found:?}"
            );
            assert!(ends("replace", event, 0.0).lower > 0.46, "one unit has its lower end");
        }
        let found = ends(
            "replace",
            r#"{"type":"group","size":99,"event":{"type":"approximate","epsilon":1,"delta":1e-6}}"#,
            0.0,
        );
        // Laplace noise on a sum that moves by 99: 1 - e^-49.5.
        assert!(found.lower > 0.999_999 && found.upper == 1.0, "{found:?}");
        let shifted = ends(
            "add_remove",
            r#"{"type":"group","size":2,"event":{"type":"laplace","noise_multiplier":1}}"#,
            0.0,
        );
        assert!(shifted.contains(-(-1f64).exp_m1()) && shifted.relative_gap() < 1e-6, "{shifted:?}");
    }

    /// Curvature 1.9 with steps of 1: iterates jump over the minimum, and of 10 shifts of 1 little
    /// is left. The exact law on that quadratic, and on the one of curvature 0.5, against what the
    /// lower end says.
    #[test]
    fn no_lower_end_for_descents_that_no_quadratic_follows() {
        let event = |smoothness: f64, step: &str| {
            format!(
                r#"{{"type":"last_iterate","steps":10,"step_size":1,"strong_convexity":0.5,
                    "smoothness":{smoothness},"event":{{"type":"{step}","noise_multiplier":1}}}}"#
            )
        };
        let quadratic = |factor: f64| {
            let (mut distance, mut variance) = (0.0f64, 0.0f64);
            for _ in 0..10 {
                (distance, variance) = (factor * distance + 1.0, factor * factor * variance + 1.0);
            }
            crate::numerics::gaussian_profile::delta(1.0, distance / variance.sqrt())
        };
        let best = f64::max(quadratic(-0.9), quadratic(0.5));
        for smoothness in [1.9, 3.0] {
            let found = ends("add_remove", &event(smoothness, "gaussian"), 1.0);
            assert!(found.lower <= best && found.upper >= best, "{smoothness}: {found:?} against {best}");
        }
        assert!(ends("add_remove", &event(1.5, "gaussian"), 1.0).contains(quadratic(0.5)));
        assert_eq!(ends("add_remove", &event(1.5, "laplace"), 1.0).lower, 0.0);
    }
}
