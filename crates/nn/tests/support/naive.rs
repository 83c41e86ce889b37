//! What the engine is compared with: gradients of examples one at a time, and sums of what clipping leaves of them.

use std::num::NonZero;

use sordino_data::Batch;
use sordino_nn::danger::cap_count;
use sordino_nn::{DenseExamples, Example, Examples, Network, NetworkObjective, View};
use sordino_noise::danger::unprotected;
use sordino_optim::{Clipping, Objective};
use sordino_privacy::Neighbours;

use super::dual::gradient;
use super::reference::Model;
use super::{Case, dropout, length, plan};

/// A network, its parameters and examples, and each example's gradient.
pub(crate) struct Subject {
    pub(crate) case: Case,
    pub(crate) network: Network,
    pub(crate) rows: DenseExamples,
    pub(crate) parameters: Vec<f64>,
    pub(crate) gradients: Vec<Vec<f64>>,
}

impl Subject {
    /// Gradients by all parameters.
    pub(crate) fn new(case: Case, views: &[View]) -> Self {
        Self::with(case, views, |model, parameters, example| {
            gradient(|w| model.loss(w, example.input, example.target), parameters)
        })
    }

    /// Gradients by something else.
    pub(crate) fn with(
        case: Case,
        views: &[View],
        gradient: impl Fn(&Model<'_>, &[f64], Example<'_>) -> Vec<f64>,
    ) -> Self {
        let network = Network::with_views(case.input, &case.layers, case.loss, views).unwrap();
        let rows = case.rows(&network);
        let parameters = parameters(&case, &network);
        let of_slot = |slot: usize| {
            let seeds = (0..views.len()).map(|view| dropout::seed(&parameters, slot, view)).collect();
            let model = Model { input: case.input, layers: &case.layers, loss: case.loss, views, seeds };
            gradient(&model, &parameters, rows.example(slot).unwrap())
        };
        let gradients: Vec<Vec<f64>> = (0..case.examples).map(of_slot).collect();
        assert!(gradients.iter().flatten().all(|g| g.is_finite()), "no reference for {case:?}");
        Self { case, network, rows, parameters, gradients }
    }

    pub(crate) fn longest(&self) -> f64 {
        self.gradients.iter().map(|g| length(g)).fold(0.0, f64::max)
    }

    /// Parts that are clipped by themselves, and their shares: a single one, or each layer's.
    fn parts(&self, shares: Option<&[f64]>) -> Vec<(usize, f64)> {
        let scaled = |shares: &[f64]| -> Vec<(usize, f64)> {
            let each = shares.iter().map(|share| share / length(shares));
            self.network.parts().into_iter().zip(each).collect()
        };
        shares.map_or_else(|| vec![(self.parameters.len(), 1.0)], scaled)
    }

    /// What all examples come to.
    pub(crate) fn expected(&self, clipping: &Clipping, shares: Option<&[f64]>, clip_norm: f64) -> Expected {
        let mut expected = Expected {
            sum: vec![0.0; self.parameters.len()],
            lengths: 0.0,
            count: 0.0,
            nearest: f64::INFINITY,
        };
        let parts = self.parts(shares);
        for gradient in &self.gradients {
            let (mut start, mut squared, mut is_within) = (0, 0.0, true);
            for (count, share) in &parts {
                let part = &gradient[start..start + count];
                let norm = length(part) / share;
                let factor = factor(clipping, norm, clip_norm);
                expected.sum[start..].iter_mut().zip(part).for_each(|(sum, g)| *sum += factor * g);
                squared += (factor * length(part)).powi(2);
                is_within &= norm <= clip_norm;
                expected.nearest = expected.nearest.min((norm / clip_norm - 1.0).abs());
                start += count;
            }
            expected.lengths += squared.sqrt();
            expected.count += if is_within { 0.5 } else { -0.5 };
        }
        expected
    }

    /// What the engine makes of a batch.
    pub(crate) fn got<E: Examples + ?Sized>(
        &self,
        examples: &E,
        batch: &Batch,
        style: Style<'_>,
        clip_norm: f64,
    ) -> Got {
        let slots = self.case.examples;
        let plan = plan(slots, style.neighbours, style.clipping.clone());
        let objective = NetworkObjective::new(&self.network, examples, slots as f64).unwrap();
        let objective = match style.shares {
            Some(shares) => objective.per_layer(shares).unwrap(),
            None => objective,
        };
        let two = NonZero::new(2).unwrap();
        let clip = plan.clip(clip_norm, objective.dimension(), objective.float_sums()).unwrap();
        let sum = objective.clipped_sum(&self.parameters, batch, &clip, two).unwrap();
        let step = clip.grid().step();
        let count = sum.count.map(|count| unprotected(&count)[0] as f64 * count.grid().step());
        let capped = match objective.float_sums().beta {
            1.0 => 0, // nothing is
            _ => cap_count(&objective, &self.parameters, batch, &clip, two).unwrap(),
        };
        Got {
            sum: unprotected(&sum.gradient).iter().map(|unit| *unit as f64 * step).collect(),
            count,
            capped,
        }
    }
}

/// In the precision of the engine, so that both have the same parameters.
pub(crate) fn parameters(case: &Case, network: &Network) -> Vec<f64> {
    network.initial(case.seed).iter().map(|w| f64::from((1.5 * w) as f32)).collect()
}

/// How gradients are clipped and summed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style<'a> {
    pub(crate) clipping: &'a Clipping,
    /// Of layers, where each is clipped by itself.
    pub(crate) shares: Option<&'a [f64]>,
    /// Which decides whether records are summed in groups or one by one.
    pub(crate) neighbours: Neighbours,
}

pub(crate) struct Expected {
    pub(crate) sum: Vec<f64>,
    /// Of all contributions.
    pub(crate) lengths: f64,
    /// `Σ (1[‖g_i‖ <= C] - 1/2)`.
    pub(crate) count: f64,
    /// How near to the clip norm a norm is, relatively.
    pub(crate) nearest: f64,
}

pub(crate) struct Got {
    pub(crate) sum: Vec<f64>,
    pub(crate) count: Option<f64>,
    /// Records whose weight is lower than plain clipping would have it.
    pub(crate) capped: u64,
}

/// The definitions.
fn factor(clipping: &Clipping, norm: f64, clip_norm: f64) -> f64 {
    match clipping {
        Clipping::Flat { .. } | Clipping::Quantile { .. } => (clip_norm / norm).min(1.0),
        Clipping::Automatic { gamma, .. } => clip_norm / (norm + gamma),
        Clipping::Coordinates { .. } => unreachable!("not by norms"),
    }
}

/// One slot of several; the others are empty.
pub(crate) struct Only<'a> {
    pub(crate) rows: &'a DenseExamples,
    pub(crate) slot: usize,
}

impl Examples for Only<'_> {
    fn slots(&self) -> usize {
        self.rows.slots()
    }

    fn widths(&self) -> [usize; 2] {
        self.rows.widths()
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        self.rows.example(slot).filter(|_| slot == self.slot)
    }
}

pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
