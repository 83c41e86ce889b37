//! Runs on well-known data sets that the project does not ship. They need `SORDINO_DATA` to name
//! the folder that `cargo xtask data` filled; otherwise they print a note and pass.

mod command;

use std::path::PathBuf;

use command::{Run, example, folder, sordino_in};

/// The files of a data set; `None`, with a printed note, if they are not there.
fn files<const N: usize>(names: [&str; N]) -> Option<[String; N]> {
    let folder = std::env::var_os("SORDINO_DATA").map(PathBuf::from);
    let there = folder.filter(|folder| names.iter().all(|name| folder.join(name).is_file()));
    if there.is_none() {
        eprintln!("skipped: {} is not in SORDINO_DATA; `cargo xtask data` gets it", names[0]);
    }
    there.map(|folder| names.map(|name| folder.join(name).display().to_string()))
}

fn accuracy(run: &Run) -> f64 {
    run.line("accuracy").split(' ').next().unwrap().parse().unwrap()
}

/// Census: who has a high income? The best constant, nobody, is right 76 times in 100.
#[test]
fn a_census_office_predicts_incomes() {
    let Some([data, test]) = files(["adult/adult.data.gz", "adult/adult.test.gz"]) else { return };
    let here = folder("adult");
    let schema = example("adult.toml");
    let line = format!(
        "train {data} --schema {schema} --target income --epsilon 1 --steps 30 --public-test {test} --out m"
    );
    let run = sordino_in(&here, &line.split(' ').collect::<Vec<_>>());
    assert!(accuracy(&run) > 0.8, "{run:?}");
    assert!(run.line("learned by").contains("32561 records"), "{run:?}");
}

/// MNIST, one pass over the data with the network of the literature.
#[test]
fn a_post_office_reads_mnist() {
    let names = ["mnist/train-images-idx3-ubyte.gz", "mnist/t10k-images-idx3-ubyte.gz"];
    let Some([data, test]) = files(names) else { return };
    let here = folder("mnist");
    let schema = example("mnist.toml");
    // No --image is needed: the file states that it holds images.
    let line = format!(
        "train {data} --schema {schema} --target label --epsilon 3 --delta 1e-5 --model tanh_cnn --epochs 1 \
        --batch-size 1000 --public-test {test} --out m"
    );
    let run = sordino_in(&here, &line.split_whitespace().collect::<Vec<_>>());
    assert!(accuracy(&run) > 0.8, "{run:?}");
    assert!(run.line("learned by").starts_with("tanh_cnn by sgd"), "{run:?}");
}
