//! The trade-off curve as a picture: how much the best attacker finds at each rate of false alarms.

use crate::explain::Promise;
use crate::number::{given, percent_up, up};
use sordino_plot::{Axis, Curve, Line, Plot, Shape};
use sordino_privacy::notion::TradeOff;

/// The points of a curve: enough for a smooth line on a large screen.
const POINTS: usize = 201;

/// A self-contained SVG. The closer the curve is to the diagonal, which is guessing,
/// the better for those in the data.
pub fn picture(promise: &Promise) -> String {
    attacker(promise).file()
}

/// The plot, for a file of its own or for a page.
pub(crate) fn attacker(promise: &Promise) -> Plot {
    let curve = promise.curve();
    let (epsilon, delta) = (up(promise.epsilon()), given(promise.delta().get()));
    let description = format!(
        "At 1 % of false alarms the best attacker finds at most {} of those who took part; guessing finds 1 \
        %.",
        percent_up(curve.true_positive_rate(0.01))
    );
    let label = if promise.epsilon().is_finite() {
        format!("the most that epsilon = {epsilon}, delta = {delta} allows")
    } else {
        "nothing is promised: whoever took part may be found".to_owned()
    };
    let mut curves = vec![Curve { label, line: Line::Main, points: detections(curve) }];
    if let Some(pair) = promise.pair_curve() {
        curves[0].label = "the most that the release allows".to_owned();
        let label = format!("the most that the pair epsilon = {epsilon}, delta = {delta} alone would allow");
        curves.push(Curve { label, line: Line::Second, points: detections(&pair) });
    }
    let guessing = vec![(0.0, 0.0), (1.0, 1.0)];
    curves.push(Curve { label: "guessing".to_owned(), line: Line::Reference, points: guessing });
    Plot {
        title: "What the best attacker can find out".to_owned(),
        description,
        x: Axis::shares("accused, but did not take part"),
        y: Axis::shares("found, of those who took part"),
        shape: Shape::Square,
        curves,
        notes: Vec::new(),
    }
}

/// The detections at each rate of false alarms, from (0, 0), each rounded up.
fn detections(curve: &TradeOff) -> Vec<(f64, f64)> {
    let found = curve.curve(POINTS).into_iter().map(|(alarms, missed)| (alarms, 1.0 - missed));
    [(0.0, 0.0)].into_iter().chain(found).collect()
}

#[cfg(test)]
mod tests {
    use sordino_privacy::{Claim, Delta, Epsilon, Neighbours};

    use super::*;

    #[test]
    fn a_pair_has_one_curve_and_an_event_two() {
        let delta = Delta::new(1e-5).unwrap();
        let pair = picture(&Promise::pair(Epsilon::new(1.0).unwrap(), delta, Neighbours::AddRemove));
        assert_eq!(pair.matches("<polyline").count(), 2);
        assert!(pair.contains("the most that epsilon = 1, delta = 1e-5 allows") && pair.contains("2.8 %"));
        let claim = Claim::from_json(r#"{"type":"gaussian","noise_multiplier":2}"#).unwrap();
        let event = picture(&Promise::of(claim, delta).unwrap());
        assert_eq!(event.matches("<polyline").count(), 3);
    }
}
