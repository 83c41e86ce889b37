//! MNIST as published: 60 000 images of handwritten digits to train on and 10 000 to test.

use std::error::Error;
use std::path::Path;

use sordino_data::{Door, Encoded, Encoding, EncodingOptions, Loader, Scaling, Schema, Source, Split};
use sordino_noise::danger::seeded;

pub(crate) const TRAIN: &str = "train-images-idx3-ubyte.gz";
pub(crate) const TEST: &str = "t10k-images-idx3-ubyte.gz";

/// Encodes pixels as numbers in [0, 1].
pub(crate) fn pixels() -> EncodingOptions {
    EncodingOptions {
        target: Some("label".to_owned()),
        scaling: Scaling::Unit,
        intercept: false,
        row_norm: None,
    }
}

/// All images of one file.
pub(crate) fn all(folder: &Path, file: &str, options: EncodingOptions) -> Result<Encoded, Box<dyn Error>> {
    let (source, encoding) = open(folder, file, options)?;
    Ok(loader(&source, &encoding).read(&encoding, &mut seeded(1))?)
}

/// Five sixths of the training images to fit on, and the rest to validate on while settings are
/// chosen.
pub(crate) fn held_out(
    folder: &Path,
    options: EncodingOptions,
) -> Result<(Encoded, Encoded), Box<dyn Error>> {
    let (source, encoding) = open(folder, TRAIN, options)?;
    let held_out = Split::new(1.0 / 6.0, 1)?;
    Ok(loader(&source, &encoding).split(&encoding, &held_out, &mut seeded(1))?)
}

fn open(folder: &Path, file: &str, options: EncodingOptions) -> Result<(Source, Encoding), Box<dyn Error>> {
    let schema = Schema::from_toml(include_str!("../../../../examples/mnist.toml"))?;
    let source = Source::open(&folder.join("mnist").join(file), schema.csv())?;
    let names: Vec<String> = source.header().iter().map(|column| column.name.clone()).collect();
    Ok((source, Encoding::new(&schema, &names, options)?))
}

fn loader<'a>(images: &'a Source, encoding: &'a Encoding) -> Loader<'a> {
    Loader::new(images, encoding.schema(), Door::Strict)
}
