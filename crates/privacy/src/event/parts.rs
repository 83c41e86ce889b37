//! Parameters of events that are only valid together.

use serde::{Deserialize, Serialize};

use crate::params::{Count, Epsilon, Gamma, MeanTrials, Order, ParamError, Shape, TruthProbability};

/// Parameters that are fine alone and make no sense together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// A sample cannot be larger than what it is drawn from without replacement.
    #[error("sample size must be at most the population, got {sample_size} of {population}")]
    SampleTooLarge {
        /// Records asked for.
        sample_size: u64,
        /// Records there are.
        population: u64,
    },
    /// A position after the last record.
    #[error("position must be at most the number of records, got {position} of {records}")]
    PositionTooLate {
        /// The position.
        position: u64,
        /// Records there are.
        records: u64,
    },
    /// Fewer truths than a blind guess would give.
    #[error(
        "truth probability must be at least 1/{categories} (a blind guess among {categories} categories), \
         got {truth_probability}"
    )]
    WorseThanGuessing {
        /// Number of categories.
        categories: u64,
        /// What came.
        truth_probability: f64,
    },
    /// One category says nothing.
    #[error("randomized response must have at least 2 categories, got {categories}")]
    TooFewCategories {
        /// What came.
        categories: u64,
    },
    /// Orders and divergences come in pairs.
    #[error(
        "a Rényi curve must have as many epsilons as orders, and at least one, got {orders} orders and \
         {epsilons} epsilons"
    )]
    UnequalLengths {
        /// Orders given.
        orders: usize,
        /// Divergences given.
        epsilons: usize,
    },
    /// Orders must ascend.
    #[error("orders of a Rényi curve must ascend, got {next} after {previous}")]
    OrdersNotAscending {
        /// An order.
        previous: f64,
        /// The one after it.
        next: f64,
    },
    /// A list longer than any accountant needs.
    #[error("a Rényi curve must have at most {limit} orders, got {orders}")]
    TooManyOrders {
        /// Orders given.
        orders: usize,
        /// Orders allowed.
        limit: usize,
    },
    /// A number out of range.
    #[error(transparent)]
    Param(#[from] ParamError),
}

/// Which nodes of a binary tree are released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nodes {
    /// All complete ones.
    #[default]
    All,
    /// Those that plain prefix sums read: the ones of even index in their level.
    Read,
}

/// The size of a sample and of its population.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedSample {
    sample_size: Count,
    population: Count,
}

impl FixedSample {
    /// A sample of distinct records: no larger than the population.
    pub fn distinct(sample_size: Count, population: Count) -> Result<Self, EventError> {
        if sample_size <= population {
            Ok(Self { sample_size, population })
        } else {
            Err(EventError::SampleTooLarge { sample_size: sample_size.get(), population: population.get() })
        }
    }

    /// Independent draws, of which there may be more than records.
    pub fn draws(sample_size: Count, population: Count) -> Self {
        Self { sample_size, population }
    }

    /// Records in the sample.
    pub fn sample_size(self) -> Count {
        self.sample_size
    }

    /// Records it is drawn from.
    pub fn population(self) -> Count {
        self.population
    }
}

/// k-ary randomized response: the true category with probability `truth_probability`, else one of
/// the other k - 1, each equally likely (Warner 1965; Kairouz, Oh, Viswanath, "Extremal Mechanisms
/// for Local Differential Privacy", 2014).
///
/// A truth probability of 1 is accepted and costs infinitely much: the report is the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RandomizedResponseLaw {
    categories: Count,
    truth_probability: TruthProbability,
}

impl RandomizedResponseLaw {
    /// At least two categories, and no fewer truths than blind guesses would have.
    pub fn new(categories: Count, truth_probability: TruthProbability) -> Result<Self, EventError> {
        if categories == Count::ONE {
            return Err(EventError::TooFewCategories { categories: 1 });
        }
        if truth_probability.get() < 1.0 / categories.get() as f64 {
            return Err(EventError::WorseThanGuessing {
                categories: categories.get(),
                truth_probability: truth_probability.get(),
            });
        }
        Ok(Self { categories, truth_probability })
    }

    /// Number of categories.
    pub fn categories(self) -> Count {
        self.categories
    }

    /// Probability that the report is the truth.
    pub fn truth_probability(self) -> TruthProbability {
        self.truth_probability
    }
}

/// Bounds on Rényi divergences at ascending orders.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RenyiCurve {
    points: Vec<(Order, Epsilon)>,
}

impl RenyiCurve {
    /// Orders a curve may have.
    pub const MAX_ORDERS: usize = 10_000;

    /// Orders that ascend, with as many divergences. Bounds need not grow with the order, though
    /// divergences do.
    pub fn new(orders: &[f64], epsilons: &[f64]) -> Result<Self, EventError> {
        if orders.is_empty() || orders.len() != epsilons.len() {
            return Err(EventError::UnequalLengths { orders: orders.len(), epsilons: epsilons.len() });
        }
        if orders.len() > Self::MAX_ORDERS {
            return Err(EventError::TooManyOrders { orders: orders.len(), limit: Self::MAX_ORDERS });
        }
        let mut points: Vec<(Order, Epsilon)> = Vec::with_capacity(orders.len());
        for (order, epsilon) in orders.iter().zip(epsilons) {
            let (order, epsilon) = (Order::new(*order)?, Epsilon::new(*epsilon)?);
            if let Some((previous, _)) = points.last().filter(|(previous, _)| *previous >= order) {
                return Err(EventError::OrdersNotAscending { previous: previous.get(), next: order.get() });
            }
            points.push((order, epsilon));
        }
        Ok(Self { points })
    }

    /// Orders with their divergences, ascending.
    pub fn points(&self) -> &[(Order, Epsilon)] {
        &self.points
    }

    /// The orders.
    pub fn orders(&self) -> Vec<f64> {
        self.points.iter().map(|(order, _)| order.get()).collect()
    }

    /// The divergences.
    pub fn epsilons(&self) -> Vec<f64> {
        self.points.iter().map(|(_, epsilon)| epsilon.get()).collect()
    }
}

/// Law of the secret number of runs of a private selection (Papernot, Steinke, "Hyperparameter
/// Tuning with Renyi Differential Privacy", 2022).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Trials {
    /// Poisson.
    Poisson {
        /// Its mean.
        mean: MeanTrials,
    },
    /// Negative binomial, never 0.
    TruncatedNegativeBinomial {
        /// η.
        shape: Shape,
        /// γ.
        gamma: Gamma,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(value: u64) -> Count {
        Count::new(value).unwrap()
    }

    #[test]
    fn samples_fit_their_population() {
        assert!(FixedSample::distinct(count(5), count(5)).is_ok());
        assert_eq!(
            FixedSample::distinct(count(6), count(5)).unwrap_err().to_string(),
            "sample size must be at most the population, got 6 of 5"
        );
        assert_eq!(FixedSample::draws(count(6), count(5)).sample_size().get(), 6);
    }

    #[test]
    fn randomized_response_is_no_worse_than_guessing() {
        let make = |k, p| RandomizedResponseLaw::new(count(k), TruthProbability::new(p).unwrap());
        for (k, p) in [(2, 0.5), (10, 0.1), (3, 1.0 / 3.0), (2, 1.0)] {
            assert!(make(k, p).is_ok(), "{k} {p}");
        }
        let error = make(10, 0.05).unwrap_err().to_string();
        assert!(error.contains("at least 1/10") && error.ends_with("got 0.05"), "{error}");
        assert!(make(1, 1.0).is_err());
    }

    #[test]
    fn renyi_curves_ascend() {
        assert!(RenyiCurve::new(&[2.0, 4.0, 8.0], &[0.1, 0.2, 0.4]).is_ok());
        for (orders, epsilons) in [
            (&[][..], &[][..]),
            (&[2.0], &[]),
            (&[2.0, 2.0], &[0.1, 0.1]),
            (&[4.0, 2.0], &[0.1, 0.2]),
            (&[1.0], &[0.1]),
            (&[f64::INFINITY], &[0.1]),
            (&[2.0], &[f64::NAN]),
        ] {
            assert!(RenyiCurve::new(orders, epsilons).is_err(), "{orders:?} {epsilons:?}");
        }
    }
}
