//! How the cost of a step grows: its time with the number of examples and of layers, and the memory
//! of one more example with the number of weights.

use std::error::Error;

use serde_json::json;
use sordino_bench::process::peak_bytes;
use sordino_bench::{Options, emit};
use sordino_nn::{Layer, Shape};

use crate::step::{timed, train};
use crate::work::Work;

/// Batch sizes, for the MNIST network.
const BATCHES: [usize; 7] = [64, 128, 256, 512, 1024, 2048, 4096];

/// Numbers of hidden layers, on batches of 512.
const DEPTHS: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Neurons in each of these layers.
const DEPTHS_WIDTH: usize = 256;

/// Neurons of a single hidden layer.
const HIDDEN: [usize; 6] = [2, 8, 32, 128, 512, 2048];
/// Inputs and hidden neurons together, so that the number of activations is constant while that of
/// weights grows.
const INPUTS_AND_HIDDEN: usize = 4096;

/// Two batch sizes. The difference of their memory is that of the examples between them.
const SMALL_BATCH: usize = 512;
const LARGE_BATCH: usize = 1536;

/// All points of all curves, each with its axis and size.
pub(crate) fn points(options: Options) -> impl Iterator<Item = (&'static str, usize)> {
    let most = if options.quick { 2 } else { usize::MAX };
    let batches = BATCHES.into_iter().take(most).map(|size| ("batch", size));
    let depths = DEPTHS.into_iter().take(most).map(|size| ("depth", size));
    let hidden = HIDDEN.into_iter().take(most);
    let memory = hidden.flat_map(|size| [("memory few", size), ("memory many", size)]);
    batches.chain(depths).chain(memory)
}

/// Measures one point in this process.
pub(crate) fn one(options: Options, axis: &str, size: usize) -> Result<(), Box<dyn Error>> {
    match axis {
        "batch" => time(options, "time by batch", size, &Work::named(&format!("mnist-cnn:{size}"))?),
        "depth" => time(options, "time by depth", size, &deep(size)),
        "memory few" => memory("memory few", size, &wide(size, SMALL_BATCH)),
        "memory many" => memory("memory many", size, &wide(size, LARGE_BATCH)),
        _ => Err(format!("no axis `{axis}`").into()),
    }
}

fn deep(depth: usize) -> Work {
    let hidden = (0..depth).flat_map(|_| [Layer::linear(DEPTHS_WIDTH), Layer::tanh()]);
    Work {
        name: format!("deep:{depth}"),
        input: Shape::Features(DEPTHS_WIDTH),
        layers: hidden.chain([Layer::linear(10)]).collect(),
        batch: 512,
        operations: 0.0,
    }
}

fn wide(hidden: usize, batch: usize) -> Work {
    Work {
        name: format!("wide:{hidden}"),
        input: Shape::Features(INPUTS_AND_HIDDEN - hidden),
        layers: vec![Layer::linear(hidden), Layer::relu(), Layer::linear(10)],
        batch,
        operations: 0.0,
    }
}

fn time(options: Options, axis: &str, size: usize, work: &Work) -> Result<(), Box<dyn Error>> {
    let (network, examples) = (work.network()?, work.examples());
    let objective = work.objective(&network, &examples)?;
    let timed = timed(options, |steps, moment| train(work, &objective, network.initial(1), steps, moment))?;
    let config = json!({ "size": size, "processor_s": timed.processor, "peak_bytes": peak_bytes() });
    emit(&format!("{axis}, {size}"), "s", timed.seconds, config);
    Ok(())
}

/// The peak memory of some steps, without the examples themselves.
fn memory(axis: &str, size: usize, work: &Work) -> Result<(), Box<dyn Error>> {
    let (network, examples) = (work.network()?, work.examples());
    train(work, &work.objective(&network, &examples)?, network.initial(1), 3, &mut || {})?;
    let data = (work.batch * (work.input.size() + 1) * size_of::<f32>()) as f64;
    let peak = peak_bytes().ok_or("this system does not tell how much memory a process takes")?;
    let config = json!({ "size": size, "batch": work.batch, "parameters": network.parameters() });
    emit(&format!("{axis}, {size}"), "bytes", peak - data, config);
    Ok(())
}
