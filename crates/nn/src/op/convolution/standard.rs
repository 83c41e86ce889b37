//! Weight standardisation: weights to mean 0 and variance 1, and gradients back.

/// Added to variances, so that equal weights do not become infinite.
const VARIANCE_EPSILON: f64 = 1e-5;

/// Brings each column (an output's weights) to mean 0 and variance 1; returns the factors.
pub(super) fn standardise(weights: &mut [f64], outputs: usize) -> Vec<f64> {
    let depth = (weights.len() / outputs) as f64;
    let column = |weights: &[f64], output: usize, f: &dyn Fn(f64) -> f64| {
        weights.iter().skip(output).step_by(outputs).map(|w| f(*w)).sum::<f64>() / depth
    };
    (0..outputs)
        .map(|output| {
            let mean = column(weights, output, &|w| w);
            let variance = column(weights, output, &|w| (w - mean) * (w - mean));
            let factor = (variance + VARIANCE_EPSILON).sqrt().recip();
            weights.iter_mut().skip(output).step_by(outputs).for_each(|w| *w = (*w - mean) * factor);
            factor
        })
        .collect()
}

/// Turns gradients by standardised weights into gradients by weights, in place. With few weights per output
/// nearly everything cancels, so differences are in double precision.
pub(super) fn standardise_backward(gradients: &mut [f32], standard: &[f64], factors: &[f64]) {
    let outputs = factors.len();
    let depth = (gradients.len() / outputs) as f64;
    let (mut means, mut products) = (vec![0.0; outputs], vec![0.0; outputs]);
    for (d, w) in gradients.chunks_exact(outputs).zip(standard.chunks_exact(outputs)) {
        for output in 0..outputs {
            means[output] += f64::from(d[output]) / depth;
            products[output] += f64::from(d[output]) * w[output] / depth;
        }
    }
    for (d, w) in gradients.chunks_exact_mut(outputs).zip(standard.chunks_exact(outputs)) {
        for output in 0..outputs {
            let left = f64::from(d[output]) - means[output] - w[output] * products[output];
            d[output] = (factors[output] * left) as f32;
        }
    }
}
