//! The real commands describe, query, learn from and predict the same images in every format.

mod command;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt8Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use command::{Run, ends, folder, sordino_in};
use parquet::data_type::Int32Type;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// The number of images; half of them are bright on the left, the others on the right.
const PICTURES: usize = 240;

fn label(picture: usize) -> u8 {
    (picture % 2) as u8
}

/// A pixel: above 200 on the bright side, small on the other.
fn pixel(picture: usize, column: usize, width: usize) -> u8 {
    let is_right = column % width >= width / 2;
    let some = ((picture * 31 + column * 17) % 50) as u8;
    if is_right == (label(picture) == 1) { 200 + some } else { some }
}

fn pixels(width: usize, size: usize) -> impl Iterator<Item = (u8, Vec<u8>)> {
    (0..PICTURES)
        .map(move |picture| (label(picture), (0..size).map(|column| pixel(picture, column, width)).collect()))
}

/// The columns of the 4 by 4 images, the label last.
fn columns() -> Vec<(String, Vec<u8>)> {
    let of = |column| (0..PICTURES).map(|picture| pixel(picture, column, 4)).collect();
    let mut columns: Vec<_> = (0..16).map(|column| (format!("pixel_{column}"), of(column))).collect();
    columns.push(("label".to_owned(), (0..PICTURES).map(label).collect()));
    columns
}

fn csv() -> Vec<u8> {
    let columns = columns();
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let line = |row: usize| columns.iter().map(|(_, values)| values[row].to_string()).collect::<Vec<_>>();
    let lines = (0..PICTURES).map(|row| line(row).join(","));
    std::iter::once(names.join(",")).chain(lines).map(|line| line + "\n").collect::<String>().into_bytes()
}

fn write_parquet(path: &Path) {
    let fields: String = columns().iter().map(|(name, _)| format!("required int32 {name}; ")).collect();
    let message = Arc::new(parse_message_type(&format!("message table {{ {fields} }}")).unwrap());
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, message, Arc::new(WriterProperties::default())).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    for (_, values) in columns() {
        let values: Vec<i32> = values.into_iter().map(i32::from).collect();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    rows.close().unwrap();
    writer.close().unwrap();
}

fn write_arrow(path: &Path) {
    let columns = columns();
    let fields: Vec<Field> =
        columns.iter().map(|(name, _)| Field::new(name, DataType::UInt8, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, values)| Arc::new(UInt8Array::from(values)) as _).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    let mut writer = FileWriter::try_new(fs::File::create(path).unwrap(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

/// Writes the images, and their labels in a file beside them.
fn write_idx(folder: &Path) {
    let n = (PICTURES as u32).to_be_bytes();
    let mut images = [&[0, 0, 8, 3][..], &n, &4u32.to_be_bytes(), &4u32.to_be_bytes()].concat();
    let mut labels = [&[0, 0, 8, 1][..], &n].concat();
    for (label, pixels) in pixels(4, 16) {
        images.extend(pixels);
        labels.push(label);
    }
    fs::write(folder.join("train-images-idx3-ubyte"), images).unwrap();
    fs::write(folder.join("train-labels-idx1-ubyte"), labels).unwrap();
}

/// One array of 17 columns; the last is the label.
fn npy() -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({PICTURES}, 17), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    for (label, pixels) in pixels(4, 16) {
        pixels.into_iter().chain([label]).for_each(|byte| file.extend(f32::from(byte).to_le_bytes()));
    }
    file
}

/// A label, then 32 by 32 pixels in each of three colours.
fn cifar() -> Vec<u8> {
    pixels(32, 3072).flat_map(|(label, pixels)| std::iter::once(label).chain(pixels)).collect()
}

fn schema(pixel: &str, label: &str) -> String {
    format!(
        "[columns.'{pixel}*']\nkind = 'integer'\nbounds = [0, 255]\n[columns.{label}]\nkind = \
        'category'\nvalues = [0, 1]\n"
    )
}

fn write_all(folder: &Path) {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&csv()).unwrap();
    fs::write(folder.join("plain.csv"), csv()).unwrap();
    fs::write(folder.join("packed.csv.gz"), gzip.finish().unwrap()).unwrap();
    fs::write(folder.join("packed.csv.zst"), zstd::encode_all(&csv()[..], 1).unwrap()).unwrap();
    write_parquet(&folder.join("table.parquet"));
    write_arrow(&folder.join("table.arrow"));
    write_idx(folder);
    fs::write(folder.join("array.npy"), npy()).unwrap();
    fs::write(folder.join("batch.bin"), cifar()).unwrap();
    fs::write(folder.join("pictures.toml"), schema("pixel_", "label")).unwrap();
    fs::write(folder.join("array.toml"), schema("x", "x16")).unwrap();
}

/// Each file with its format, its columns, its schema, its target and its first pixel.
const FILES: [(&str, &str, usize, &str, &str, &str); 8] = [
    ("plain.csv", "CSV", 17, "pictures.toml", "label", "pixel_0"),
    ("packed.csv.gz", "CSV", 17, "pictures.toml", "label", "pixel_0"),
    ("packed.csv.zst", "CSV", 17, "pictures.toml", "label", "pixel_0"),
    ("table.parquet", "Parquet", 17, "pictures.toml", "label", "pixel_0"),
    ("table.arrow", "Arrow IPC", 17, "pictures.toml", "label", "pixel_0"),
    ("train-images-idx3-ubyte", "IDX", 17, "pictures.toml", "label", "pixel_0"),
    ("array.npy", "NPY", 17, "array.toml", "x16", "x0"),
    ("batch.bin", "CIFAR binary", 3073, "pictures.toml", "label", "pixel_0"),
];

fn sordino(folder: &Path, line: &str) -> Run {
    sordino_in(folder, &line.split_whitespace().collect::<Vec<_>>())
}

/// The number of right predictions.
#[track_caller]
fn right(predictions: &Run) -> usize {
    assert_eq!(predictions.code, 0, "{predictions:?}");
    let said: Vec<u8> = predictions.stdout.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    assert_eq!(said.len(), PICTURES);
    said.into_iter().enumerate().filter(|(picture, said)| *said == label(*picture)).count()
}

/// Files with the same records give the same schema, the same answers and, with the same seed, the
/// same model to the last bit.
#[test]
fn every_command_reads_every_format() {
    let here = folder("formats");
    write_all(&here);
    let mut first: Option<(Vec<u8>, String)> = None;
    for (at, (file, format, columns, schema, target, pixel)) in FILES.into_iter().enumerate() {
        let object = sordino(&here, &format!("schema {file} --json")).object();
        assert_eq!(object["format"], format, "{file}");
        assert_eq!(object["columns"].as_array().unwrap().len(), columns, "{file}");
        let query = |what: &str| {
            let line = format!("query {file} {what} --schema {schema} --epsilon 1000 --json");
            sordino(&here, &line).object()
        };
        let answer = query("count")["value"].clone();
        assert!((answer.as_f64().unwrap() - PICTURES as f64).abs() < 1.0, "{file}: {answer}");
        let mean = query(&format!("mean {pixel}"))["value"].as_f64().unwrap();
        let bright = (0..PICTURES).map(|picture| f64::from(self::pixel(picture, 0, 4))).sum::<f64>();
        assert!((mean - bright / PICTURES as f64).abs() < 5.0, "{file}: {mean}");

        let out = format!("m{at}");
        let line = format!(
            "train {file} --schema {schema} --target {target} --epsilon 8 --steps 10 --danger-seed 7 --out \
            {out} --json"
        );
        let guarantee = sordino(&here, &line).object()["guarantee"].clone();
        assert!(ends(&guarantee["epsilon"]).1 <= 8.0, "{file}: {guarantee}");
        let predictions = sordino(&here, &format!("predict {out} {file}"));
        assert!(right(&predictions) > PICTURES * 9 / 10, "{file}: {predictions:?}");
        if columns == 17 {
            let weights = fs::read(here.join(&out).join("model.safetensors")).unwrap();
            let (same, text) = first.get_or_insert_with(|| (weights.clone(), predictions.stdout.clone()));
            assert!(*same == weights, "{file}: other weights than from {}", FILES[0].0);
            // Except for the header, which has the target's name.
            assert_eq!(text.split_once('\n').unwrap().1, predictions.stdout.split_once('\n').unwrap().1);
        }
    }
}

/// Images as arrays: NPY does not state their shape, IDX and CIFAR do.
#[test]
fn networks_learn_from_arrays_of_every_kind() {
    let here = folder("networks");
    write_all(&here);
    let small = "[[layers]]\ntype = 'conv2d'\nchannels = 2\nkernel = 4\nstride = 4\n[[layers]]\ntype = \
        'tanh'\n\
                 [[layers]]\ntype = 'flatten'\n[[layers]]\ntype = 'linear'\n";
    fs::write(here.join("small.toml"), small).unwrap();
    for (file, schema, target, model, image) in [
        ("array.npy", "array.toml", "x16", "cnn --image 1x4x4", "1x4x4"),
        ("train-images-idx3-ubyte", "pictures.toml", "label", "cnn", "1x4x4"),
        ("batch.bin", "pictures.toml", "label", "small.toml", "3x32x32"),
    ] {
        let out = format!("{file}.model");
        let line = format!(
            "train {file} --schema {schema} --target {target} --epsilon 8 --delta 1e-6 --model {model} \
            --batch-size 40 --epochs 8 --out {out}"
        );
        let run = sordino(&here, &line);
        assert_eq!(run.code, 0, "{run:?}");
        let configuration = fs::read_to_string(here.join(&out).join("configuration.toml")).unwrap();
        assert!(configuration.contains(&format!("image = \"{image}\"")), "{configuration}");
        let right = right(&sordino(&here, &format!("predict {out} {file}")));
        // Guessing would be right half of the time. The difference between the two halves of an
        // image is a hundred times the noise.
        assert!(right > PICTURES * 3 / 4, "{file}: {right}, {run:?}");
    }
    // Without a stated shape, an array is rows of numbers.
    let line = "train array.npy --schema array.toml --target x16 --epsilon 8 --model cnn";
    sordino(&here, line).refuses(&["an image"]);
}
