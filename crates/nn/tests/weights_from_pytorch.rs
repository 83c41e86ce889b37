//! Weights that PyTorch has written are read, and outputs are those of PyTorch; what is written is read again. `fixtures/pytorch.py` made
//! the files.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use sordino_nn::{Description, Layer, Network, NetworkLoss, Shape, WeightsError, preset};
use sordino_testing::{Scratch, ScratchFile};

/// Of the largest output of an example.
const CLOSE: f32 = 1e-5;

/// A network of the fixture.
#[derive(Deserialize)]
struct Case {
    name: String,
    classes: usize,
    description: Description,
    inputs: Vec<f32>,
    outputs: Vec<f32>,
}

impl Case {
    fn all() -> Vec<Self> {
        serde_json::from_slice(&fs::read(fixture("pytorch.json")).unwrap()).unwrap()
    }

    fn network(&self) -> Network {
        self.description.network_for(self.description.input.unwrap(), self.classes).unwrap()
    }

    fn weights(&self) -> PathBuf {
        fixture(&format!("{}.safetensors", self.name))
    }

    fn assert_outputs(&self, network: &Network, parameters: &[f64]) {
        let outputs = network.outputs(parameters, &self.inputs).unwrap();
        assert_eq!(outputs.len(), self.outputs.len());
        let examples = outputs.chunks_exact(self.classes).zip(self.outputs.chunks_exact(self.classes));
        for (ours, theirs) in examples {
            let largest = theirs.iter().fold(0.0, |most: f32, y| most.max(y.abs()));
            let error =
                ours.iter().zip(theirs).fold(0.0, |most: f32, (a, b)| most.max((a - b).abs())) / largest;
            assert!(error < CLOSE, "{}: {error:e}, {ours:?} for {theirs:?}", self.name);
        }
    }
}

fn fixture(name: &str) -> PathBuf {
    [&std::env::var("CARGO_MANIFEST_DIR").unwrap(), "tests", "fixtures", name].iter().collect()
}

#[test]
fn networks_of_pytorch_give_its_outputs() {
    let cases = Case::all();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let network = case.network();
        let parameters = network.load_safetensors(case.weights()).unwrap();
        case.assert_outputs(&network, &parameters);
    }
}

/// Public features of PyTorch, frozen; only what comes after them is learned.
#[test]
fn frozen_layers_take_over_weights() {
    let case = Case::all().into_iter().find(|case| case.name == "blocks").unwrap();
    let mut description = case.description.clone();
    for layer in &mut description.layers[..6] {
        *layer = Layer::Frozen { layer: Box::new(layer.clone()), values: Vec::new() };
    }
    let begun = description.network_for(description.input.unwrap(), case.classes).unwrap();
    assert_eq!(begun.parameters(), 48 * 5 + 5);
    let bytes = fs::read(case.weights()).unwrap();
    let refused = begun.read_safetensors(&bytes).unwrap_err().to_string();
    assert_eq!(
        refused,
        "tensor `0.weight` belongs to a frozen layer with other weights; take them over first, by `with_frozen_weights`"
    );
    let network = begun.with_frozen_weights(&bytes).unwrap();
    let parameters = network.read_safetensors(&bytes).unwrap();
    let three = description.network_for(description.input.unwrap(), 3).unwrap();
    let three = three.with_frozen_weights(&bytes).unwrap(); // the file's last layer has five classes
    assert_eq!(three.layers()[..9], network.layers()[..9]);
    case.assert_outputs(&network, &parameters);
    // The description holds the frozen weights, so it is the whole network.
    let again =
        Description::from_json(&Description::from(&network).to_json().unwrap()).unwrap().network().unwrap();
    assert_eq!(
        again.outputs(&parameters, &case.inputs).unwrap(),
        network.outputs(&parameters, &case.inputs).unwrap()
    );
}

#[test]
fn what_is_written_is_read_to_the_last_bit() {
    let image = Shape::Image { channels: 3, height: 16, width: 16 };
    let mut networks: Vec<Network> = Case::all().iter().map(Case::network).collect();
    networks.push(preset::resnet20().network_for(image, 4).unwrap());
    networks.push(standardised());
    let folder = Scratch::new("weights");
    for network in networks {
        let mut parameters = network.initial(3);
        if let Some(Layer::Embedding { features, .. }) = network.layers().first() {
            parameters[..*features].fill(0.0); // the padding word has none
        }
        let path = folder.join("weights.safetensors");
        network.save_safetensors(&parameters, &path).unwrap();
        assert_eq!(network.load_safetensors(&path).unwrap(), parameters);
    }
}

/// Frozen with random weights, which the file holds too, and with standardised ones.
fn standardised() -> Network {
    let convolution = Layer::Conv2d {
        channels: 4,
        kernel: [3, 2],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 1],
        groups: 2,
        bias: true,
        standardised: true,
    };
    let frozen = Layer::Frozen { layer: Box::new(convolution.clone()), values: Vec::new() };
    let layers = [frozen, convolution, Layer::Flatten, Layer::linear(2)];
    Network::new(Shape::Image { channels: 2, height: 6, width: 5 }, &layers, NetworkLoss::CrossEntropy)
        .unwrap()
}

fn dense(inputs: usize, outputs: usize) -> Network {
    Network::new(Shape::Features(inputs), &[Layer::linear(outputs)], NetworkLoss::CrossEntropy).unwrap()
}

/// A file by hand: an eight-byte length, a header, numbers.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

#[test]
fn messages_name_the_tensor_and_both_shapes() {
    let network = dense(3, 2);
    let refused = |bytes: &[u8]| network.read_safetensors(bytes).unwrap_err().to_string();
    let other = |inputs: usize, outputs: usize| {
        let network = dense(inputs, outputs);
        network.to_safetensors(&network.initial(1)).unwrap()
    };
    assert!(refused(&other(4, 2)).starts_with("tensor `0.weight` must have shape [2, 3], got [2, 4];"));
    let deeper = Network::new(
        Shape::Features(3),
        &[Layer::linear(2), Layer::tanh(), Layer::linear(2)],
        NetworkLoss::Squared,
    );
    let deeper = deeper.unwrap();
    assert!(
        refused(&deeper.to_safetensors(&deeper.initial(1)).unwrap())
            .starts_with("tensor `2.bias` has no place in the network;")
    );
    assert_eq!(
        deeper.read_safetensors(&other(3, 2)).unwrap_err().to_string(),
        "tensor `2.weight` of shape [2, 2] is missing; layers are numbered as in torch.nn.Sequential, activations and `flatten` counted"
    );
    let tensor = |name: &str, kind: &str, shape: &str, from: usize, to: usize| {
        format!("\"{name}\":{{\"dtype\":\"{kind}\",\"shape\":{shape},\"data_offsets\":[{from},{to}]}}")
    };
    let both = |weight: &str, kind: &str, size: usize| {
        let (weights, all) = (6 * size, 8 * size);
        let header = [tensor(weight, kind, "[2,3]", 0, weights), tensor("0.bias", kind, "[2]", weights, all)];
        format!("{{{}}}", header.join(","))
    };
    assert_eq!(
        refused(&file(&both("_module.0.weight", "F32", 4), &[0; 32])),
        "tensor `0.weight` of shape [2, 3] is missing; there is `_module.0.weight`: remove the prefix from all names"
    );
    assert_eq!(
        refused(&file(&both("0.weight", "F16", 2), &[0; 16])),
        "tensor `0.weight` must hold F32 or F64, got F16; convert it, in PyTorch by `.float()`"
    );
    assert!(network.read_safetensors(&file(&both("0.weight", "F32", 4), &[0; 32])).is_ok());
    let refused_nan = refused(&file(&both("0.weight", "F32", 4), &[255; 32]));
    assert!(refused_nan.starts_with("tensor `0.weight` has numbers that are not finite"), "{refused_nan}");
    let infinite = network.to_safetensors(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, f64::INFINITY]).unwrap_err();
    assert!(infinite.to_string().starts_with("tensor `0.bias` has numbers that are not finite"));
    assert!(network.to_safetensors(&[0.0; 7]).unwrap_err().to_string().contains("must have 8 numbers"));
}

/// A stranger's file cannot make us read past its end, take more memory than it has bytes, or panic.
#[test]
fn damaged_and_hostile_files_are_refused() {
    let network = dense(3, 2);
    let sound = network.to_safetensors(&network.initial(1)).unwrap();
    for end in 0..sound.len() {
        assert!(network.read_safetensors(&sound[..end]).is_err(), "cut at {end}");
    }
    for at in 0..sound.len() {
        for flip in [1, 0x20, 0x80] {
            let mut bytes = sound.clone();
            bytes[at] ^= flip;
            drop(network.read_safetensors(&bytes)); // read or refused, and no panic
        }
    }
    let huge = r#"{"0.weight":{"dtype":"F64","shape":[4611686018427387904,8],"data_offsets":[0,8]}}"#;
    assert!(matches!(network.read_safetensors(&file(huge, &[0; 8])), Err(WeightsError::Format { .. })));
    let path = ScratchFile::new("large-weights", "weights");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let refused = network.load_safetensors(&path).unwrap_err();
    fs::remove_file(&path).unwrap();
    assert!(matches!(refused, WeightsError::Large { got, .. } if got == 1 << 40), "{refused}");
    assert!(matches!(network.load_safetensors(&path), Err(WeightsError::File { .. })));
}

#[test]
fn a_padding_word_has_no_weights() {
    let layers =
        [Layer::Embedding { words: 3, features: 2, padding: Some(1) }, Layer::Flatten, Layer::linear(2)];
    let network = Network::new(Shape::Tokens { length: 1 }, &layers, NetworkLoss::CrossEntropy).unwrap();
    let layers =
        [Layer::Embedding { words: 3, features: 2, padding: None }, Layer::Flatten, Layer::linear(2)];
    let other = Network::new(Shape::Tokens { length: 1 }, &layers, NetworkLoss::CrossEntropy).unwrap();
    let parameters = network.initial(1);
    let read = network.read_safetensors(&network.to_safetensors(&parameters).unwrap()).unwrap();
    assert_eq!(read[2..4], [0.0, 0.0]);
    assert_eq!((&read[..2], &read[4..]), (&parameters[..2], &parameters[4..]));
    let refused = network.read_safetensors(&other.to_safetensors(&parameters).unwrap()).unwrap_err();
    assert!(
        refused.to_string().starts_with("row 1 of tensor `0.weight` is that of the padding word"),
        "{refused}"
    );
}
