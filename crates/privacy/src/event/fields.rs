//! Fields of events in JSON.

/// A key of an event, or of the claim around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Type,
    NoiseMultiplier,
    Sigma,
    Scale,
    Sensitivity,
    Categories,
    TruthProbability,
    Epsilon,
    Delta,
    Rho,
    Mu,
    Orders,
    Epsilons,
    SamplingRate,
    SampleSize,
    Population,
    Count,
    Epochs,
    Bins,
    Reports,
    Steps,
    StepSize,
    StrongConvexity,
    Smoothness,
    Size,
    Trials,
    Participations,
    Bands,
    Separation,
    Nodes,
    Event,
    Events,
    Neighbours,
    FormatVersion,
}

impl Field {
    /// All of them, in the order of declaration.
    const ALL: [(Self, &'static str); 34] = [
        (Self::Type, "type"),
        (Self::NoiseMultiplier, "noise_multiplier"),
        (Self::Sigma, "sigma"),
        (Self::Scale, "scale"),
        (Self::Sensitivity, "sensitivity"),
        (Self::Categories, "categories"),
        (Self::TruthProbability, "truth_probability"),
        (Self::Epsilon, "epsilon"),
        (Self::Delta, "delta"),
        (Self::Rho, "rho"),
        (Self::Mu, "mu"),
        (Self::Orders, "orders"),
        (Self::Epsilons, "epsilons"),
        (Self::SamplingRate, "sampling_rate"),
        (Self::SampleSize, "sample_size"),
        (Self::Population, "population"),
        (Self::Count, "count"),
        (Self::Epochs, "epochs"),
        (Self::Bins, "bins"),
        (Self::Reports, "reports"),
        (Self::Steps, "steps"),
        (Self::StepSize, "step_size"),
        (Self::StrongConvexity, "strong_convexity"),
        (Self::Smoothness, "smoothness"),
        (Self::Size, "size"),
        (Self::Trials, "trials"),
        (Self::Participations, "participations"),
        (Self::Bands, "bands"),
        (Self::Separation, "separation"),
        (Self::Nodes, "nodes"),
        (Self::Event, "event"),
        (Self::Events, "events"),
        (Self::Neighbours, "neighbours"),
        (Self::FormatVersion, "format_version"),
    ];

    /// How many there are.
    pub(super) const LEN: usize = Self::ALL.len();

    /// The key in JSON.
    pub(super) fn name(self) -> &'static str {
        Self::ALL[self.index()].1
    }

    /// The field with this key.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(field, _)| *field)
    }

    /// All keys.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|(_, name)| *name)
    }

    /// Place in a table with one entry a field.
    pub(super) fn index(self) -> usize {
        self as usize
    }

    /// Every field, once.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().map(|(field, _)| *field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_declaration() {
        for (place, (field, name)) in Field::ALL.iter().enumerate() {
            assert_eq!(field.index(), place);
            assert_eq!(Field::named(name), Some(*field));
            assert_eq!(field.name(), *name);
        }
    }
}
