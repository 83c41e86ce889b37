//! Tests of the samplers as users hold them: histograms against probabilities, the textbook
//! algorithms beside them, the mistakes of others, pinned values.

mod histograms;
mod pitfalls;
mod stability;
mod textbook;
