//! A network is written in a file, read, and built; what is wrong with it is said with its place.

use sordino_nn::{
    Activation, Description, DescriptionError, Layer, Network, NetworkLoss, Shape, View, preset,
};

const IMAGE: Shape = Shape::Image { channels: 1, height: 8, width: 8 };

/// Every kind of layer, with options that are not the default.
fn everything() -> Description {
    let convolution = Layer::Conv2d {
        channels: 4,
        kernel: [3, 2],
        stride: [2, 1],
        padding: [1, 0],
        dilation: [1, 2],
        groups: 2,
        bias: false,
        standardised: true,
    };
    let functions = [
        Activation::Relu,
        Activation::LeakyRelu { slope: 0.1 },
        Activation::Tanh,
        Activation::Sigmoid,
        Activation::TemperedSigmoid { height: 2.0, slope: 1.5, shift: 0.25 },
        Activation::Gelu,
        Activation::Silu,
        Activation::Softmax,
    ];
    let mut layers = vec![
        Layer::Embedding { words: 9, features: 4, padding: Some(0) },
        convolution.clone(),
        Layer::MaxPool { kernel: [2, 3], stride: [1, 2] },
        Layer::avg_pool(2, 2),
        Layer::AdaptiveAvgPool { output: [3, 2] },
        Layer::AdaptiveMaxPool { output: [1, 1] },
        Layer::Flatten,
        Layer::GroupNorm { groups: 2, affine: false },
        Layer::LayerNorm { affine: true },
        Layer::RmsNorm { affine: true },
        Layer::Dropout { rate: 0.5 },
        Layer::Residual { body: vec![convolution, Layer::tanh()], shortcut: vec![Layer::linear(4)] },
        Layer::Frozen { layer: Box::new(Layer::Linear { outputs: 1, bias: false }), values: vec![0.1, -2.5] },
        Layer::head(),
    ];
    layers.extend(functions.map(|function| Layer::Activation { function }));
    Description {
        input: Some(Shape::Image { channels: 3, height: 5, width: 4 }),
        loss: Some(NetworkLoss::Squared),
        views: vec![View::Same, View::Mirrored, View::Shifted { lines: -1, columns: 2 }],
        layers,
    }
}

#[test]
fn what_is_written_is_read_again() {
    let description = everything();
    assert_eq!(Description::from_toml(&description.to_toml().unwrap()).unwrap(), description);
    assert_eq!(Description::from_json(&description.to_json().unwrap()).unwrap(), description);
    let inputs =
        [Shape::Features(3), Shape::Sequence { length: 2, features: 3 }, Shape::Tokens { length: 4 }];
    for input in inputs {
        let description = Description { input: Some(input), ..Description::new(vec![Layer::linear(2)]) };
        assert_eq!(Description::from_toml(&description.to_toml().unwrap()).unwrap(), description);
    }
}

#[test]
fn a_file_by_hand_has_the_defaults_of_pytorch() {
    let text = r#"
        input = { image = { channels = 1, height = 8, width = 8 } }
        [[layers]]
        type = "conv2d"
        channels = 4
        kernel = [3, 3]
        [[layers]]
        type = "leaky_relu"
        [[layers]]
        type = "max_pool"
        kernel = 2
        [[layers]]
        type = "residual"
        body = [{ type = "conv2d", channels = 4, kernel = 3, padding = 1 }, { type = "group_norm", groups = 2 }]
        [[layers]]
        type = "flatten"
        [[layers]]
        type = "linear"
        outputs = 3
    "#;
    let description = Description::from_toml(text).unwrap();
    let body = vec![Layer::conv2d(4, 3, 1, 1), Layer::GroupNorm { groups: 2, affine: true }];
    let layers = vec![
        Layer::conv2d(4, 3, 1, 0),
        Layer::Activation { function: Activation::LeakyRelu { slope: 0.01 } },
        Layer::max_pool(2, 2),
        Layer::Residual { body, shortcut: Vec::new() },
        Layer::Flatten,
        Layer::linear(3),
    ];
    assert_eq!(description, Description { input: Some(IMAGE), ..Description::new(layers.clone()) });
    let network = description.network().unwrap();
    assert_eq!(network.loss(), NetworkLoss::CrossEntropy);
    assert_eq!(network.parameters(), 40 + (4 * 4 * 9 + 4) + 8 + (36 * 3 + 3));
    let whole = Description::from(&network);
    assert_eq!(
        (whole.input, whole.loss, &whole.layers),
        (Some(IMAGE), Some(NetworkLoss::CrossEntropy), &layers)
    );
}

#[test]
fn data_completes_what_was_left_out() {
    let head = Description::from_json(r#"{"preset": "mlp", "hidden": [5]}"#).unwrap();
    assert_eq!(head, preset::mlp(&[5]));
    let network = head.network_for(Shape::Features(7), 3).unwrap();
    assert_eq!((network.parameters(), network.output()), (8 * 5 + 6 * 3, Shape::Features(3)));
    // A table's columns may be a picture.
    let picture = Description { input: Some(IMAGE), ..preset::cnn() };
    assert_eq!(picture.network_for(Shape::Features(64), 10).unwrap().input(), IMAGE);
    let message = |result: Result<Network, DescriptionError>| result.map(drop).unwrap_err().to_string();
    assert_eq!(
        message(picture.network_for(Shape::Features(63), 10)),
        "the description's input is an image of 1 × 8 × 8, and the data has 63 features; both must have as many numbers: \
         correct `input`, or leave it out"
    );
    assert!(
        message(preset::cnn().network_for(Shape::Features(64), 10)).starts_with(
            "layers[0] (conv2d) needs an image, but gets 64 features; state the input as an image"
        )
    );
    let other = Description::new(vec![Layer::linear(4)]);
    assert!(message(other.network_for(Shape::Features(2), 3)).starts_with(
        "the network ends in 4 features, and the data needs 3 features; let the last layer be `linear` without `outputs`"
    ));
    let positions = Description::new(vec![Layer::conv2d(4, 3, 1, 0), Layer::head()]);
    assert!(message(positions.network_for(IMAGE, 3)).contains("after `flatten`"));
    assert_eq!(
        message(head.network()),
        "the description has no input; write one, such as `input = { features = 64 }`, or build the network for data"
    );
    let open = Description { input: Some(Shape::Features(7)), ..head };
    assert_eq!(
        message(open.network()),
        "layers[3] (linear): outputs is left to the data; write a number, or build the network for data"
    );
    let inner = Description::new(vec![Layer::linear(0), Layer::head()]);
    assert_eq!(
        message(inner.network_for(Shape::Features(2), 2)),
        "layers[0] (linear): outputs must be at least 1, got 0"
    );
}

#[test]
fn messages_name_the_place_and_the_way_out() {
    let refused =
        |layers: &str| Description::from_json(&format!("{{\"layers\": {layers}}}")).unwrap_err().to_string();
    let cases = [
        (r#"[{"type": "con2d"}]"#, "layers[0]: there is no layer `con2d`; did you mean `conv2d`?"),
        (
            r#"[{"type": "GroupNorm"}]"#,
            "layers[0]: there is no layer `GroupNorm`; did you mean `group_norm`?",
        ),
        (
            r#"[{"outputs": 2}]"#,
            "layers[0]: type is missing; write the name of a layer, such as `type = \"linear\"`",
        ),
        (
            r#"[{"type": "flatten"}, {"type": "conv2d", "chanels": 2}]"#,
            "layers[1] (conv2d): there is no field `chanels`; did you mean `channels`?",
        ),
        (
            r#"[{"type": "conv2d", "channels": 2}]"#,
            "layers[0] (conv2d): kernel is missing; write a whole number, or two as [lines, columns]",
        ),
        (
            r#"[{"type": "relu"}, {"type": "residual", "body": [{"type": "relu"}, {"type": "conv2d", "channels": 2, "kernel": "3x3"}]}]"#,
            "layers[1].body[1] (conv2d): kernel must be a whole number, or two as [lines, columns], got a text",
        ),
        (
            r#"[{"type": "residual", "body": [], "shortcut": [{"type": "frozen", "layer": {"type": "max_pool", "kernel": [1, 2, 3]}}]}]"#,
            "layers[0].shortcut[0].layer (max_pool): kernel must be a whole number, or two as [lines, columns], got [1,2,3]",
        ),
        (
            r#"[{"type": "linear", "outputs": -1}]"#,
            "layers[0] (linear): outputs must be a whole number up to 2^24, got -1",
        ),
        (
            r#"[{"type": "leaky_relu", "slope": 1e300}]"#,
            "layers[0] (leaky_relu): slope must be a number of single precision, got 1e+300",
        ),
        (r#"[{"type": "linear", "bias": 1}]"#, "layers[0] (linear): bias must be true or false, got 1"),
        (r#"[7]"#, "the description: layers[0] must be a table with `type`, got 7"),
        (r#"7"#, "the description: layers must be a list, got 7"),
    ];
    for (layers, message) in cases {
        assert_eq!(refused(layers), message);
    }
    assert!(
        refused(r#"[{"type": "lstm"}]"#)
            .starts_with("layers[0]: there is no layer `lstm`; there are linear, conv2d,")
    );
    for name in ["batch_norm", "BatchNorm2d"] {
        let message = refused(&format!(r#"[{{"type": "{name}", "features": 3}}]"#));
        assert!(
            message.starts_with("layers[0] (batch_norm) normalises by statistics of the batch"),
            "{message}"
        );
        assert!(message.contains("use group_norm or layer_norm"), "{message}");
    }
}

/// A file that is one value was shown in the refusal.
#[test]
fn what_is_no_description_is_not_shown() {
    for (text, kind) in [(r#""hunter2""#, "a text"), ("271828", "a number"), (r#"["hunter2"]"#, "a list")] {
        let refused = Description::from_json(text).unwrap_err();
        assert!(refused.to_string().ends_with(&format!("must be a table, got {kind}")), "{refused}");
    }
    for field in ["layers", "input", "format_version", "hidden"] {
        let refused = Description::from_json(&format!(r#"{{"{field}": "hunter2"}}"#)).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused}");
    }
}

#[test]
fn messages_about_the_whole_say_what_belongs_there() {
    let refused = |text: &str| Description::from_toml(text).unwrap_err().to_string();
    assert_eq!(
        refused("preset = \"tanhcnn\""),
        "the description: there is no preset `tanhcnn`; did you mean `tanh_cnn`?"
    );
    assert_eq!(
        refused("preset = \"cnn\"\nlayers = []"),
        "the description has a preset and layers of its own; write one of them"
    );
    assert_eq!(
        refused("preset = \"cnn\"\nhidden = [3]"),
        "`hidden` is for the preset `mlp`, and the preset is `cnn`; leave it out, or write layers"
    );
    assert_eq!(refused("layer = []"), "the description: there is no field `layer`; did you mean `layers`?");
    assert_eq!(
        refused("loss = \"squared\""),
        "the description: layers is missing; write a list of layers, or `preset` with a name"
    );
    assert!(
        refused("preset = \"cnn\"\ninput = { picture = 3 }")
            .contains("input must be such as { features = 64 } or")
    );
    assert!(refused("preset = \"cnn\"\nloss = \"l1\"").contains("`cross_entropy`"));
    assert_eq!(
        refused("format_version = 2\ncolour = 3"),
        "the description has format_version 2; this version of the program reads 1: update it"
    );
    assert!(
        refused("format_version = 0\npreset = \"cnn\"")
            .contains("format_version must be a whole number from 1, got 0")
    );
    let twice = Description::from_json(r#"{"layers": [{"type": "linear", "outputs": 2, "outputs": 3}]}"#);
    assert!(twice.unwrap_err().to_string().contains("field `outputs` is given twice"));
    assert!(refused("preset = ").starts_with("the description is no TOML: "));
    assert!(Description::from_json("{").unwrap_err().to_string().starts_with("the description is no JSON: "));
}

#[test]
fn shipped_examples_are_networks() {
    let folder = std::path::PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("../../examples/networks");
    let mut weights = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let description = Description::from_toml(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let network = description.network_for(description.input.unwrap_or(Shape::Features(30)), 10);
        weights.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), network.unwrap().parameters()));
    }
    weights.sort();
    let weights: Vec<(&str, usize)> =
        weights.iter().map(|(name, weights)| (name.as_str(), *weights)).collect();
    let block = 9 * 16 * 32 + 64 + 9 * 32 * 32 + 64 + 17 * 32;
    let residual = 9 * 3 * 16 + 32 + block + 9 * 32 * 32 + 64 + 33 * 10;
    let words = 5000 * 16 + 32 + 17 * 8 + (64 * 8 + 1) * 10;
    let known = [
        ("digits-cnn", 9258),
        ("mnist-shifted", 26_010),
        ("residual", residual),
        ("table", 12_874),
        ("words", words),
    ];
    assert_eq!(weights, known);
}

/// Whatever stands in a file: it is refused, or it is a description that can be written and read again.
#[test]
fn any_text_is_read_or_refused() {
    let sound = everything().to_json().unwrap().into_bytes();
    let pieces: [&[u8]; 8] = [b"\"type\":", b"{", b"]", b"-1", b"1e999", b"null", b"\"frozen\"", b"\xff"];
    let mut state = 1u64;
    let mut below = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let mut read = 0;
    for _ in 0..4000 {
        let mut bytes = sound.clone();
        for _ in 0..1 + below(3) {
            let at = below(bytes.len());
            match below(3) {
                0 => bytes[at] = b' ' + below(95) as u8,
                1 => drop(bytes.splice(at..at, pieces[below(pieces.len())].iter().copied())),
                _ => drop(bytes.drain(at..(at + 1 + below(12)).min(bytes.len()))),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Ok(description) = Description::from_json(&text) {
            read += 1;
            assert_eq!(Description::from_json(&description.to_json().unwrap()).unwrap(), description);
        }
    }
    assert!(read > 50, "only {read} were still descriptions");
}

/// Blocks are lists of their own, and layer 0 of one is not layer 0 of another: frozen random weights, and what dropout leaves out, differ.
#[test]
fn no_two_places_make_the_same_random_choices() {
    let frozen =
        Layer::Frozen { layer: Box::new(Layer::Linear { outputs: 3, bias: false }), values: Vec::new() };
    let block = |layer: &Layer| Layer::Residual { body: vec![layer.clone()], shortcut: vec![layer.clone()] };
    let layers = [block(&frozen), block(&frozen), frozen.clone(), frozen, Layer::linear(2)];
    let network = Network::new(Shape::Features(3), &layers, NetworkLoss::CrossEntropy).unwrap();
    let bytes = network.to_safetensors(&network.initial(1)).unwrap();
    let whole = network.with_frozen_weights(&bytes).unwrap();
    let Layer::Residual { body, shortcut } = &whole.layers()[0] else {
        panic!("the first layer is a block");
    };
    assert_ne!(body, shortcut);
    assert_ne!(whole.layers()[0], whole.layers()[1]);
    assert_ne!(whole.layers()[2], whole.layers()[3]);
    let inputs = [0.3, -1.0, 0.7];
    let outputs = |network: &Network| network.outputs(&network.initial(1), &inputs).unwrap();
    assert_eq!(outputs(&network), outputs(&whole));
}

/// Numbers that no computer holds are refused before anything of their size is made.
#[test]
fn a_hostile_description_takes_no_memory() {
    let image = Shape::Image { channels: 1, height: 28, width: 28 };
    let wide = 1 << 24;
    let convolution =
        |kernel: usize, stride: usize, padding: usize| Layer::conv2d(2, kernel, stride, padding);
    let cases = [
        (Shape::Features(wide), vec![Layer::linear(wide)]),
        (Shape::Sequence { length: wide, features: 2 }, vec![Layer::linear(wide)]),
        (Shape::Features(usize::MAX), vec![Layer::linear(1)]),
        (Shape::Features(0), vec![Layer::linear(1)]),
        (Shape::Image { channels: 0, height: 4, width: 4 }, vec![Layer::conv2d(1, 1, 1, 0)]),
        (
            Shape::Image { channels: usize::MAX, height: usize::MAX, width: 4 },
            vec![Layer::Flatten, Layer::linear(1)],
        ),
        (Shape::Tokens { length: 4 }, vec![Layer::Embedding { words: wide, features: wide, padding: None }]),
        (Shape::Tokens { length: 4 }, vec![Layer::Embedding { words: 3, features: 2, padding: Some(3) }]),
        (image, vec![convolution(3, wide, 1)]),
        (image, vec![convolution(wide, 1, wide)]),
        (image, vec![convolution(3, 1, usize::MAX)]),
        (image, vec![Layer::conv2d(wide, 3, 1, 1), Layer::conv2d(wide, 3, 1, 1)]),
        (image, vec![Layer::Flatten, Layer::linear(1 << 17), Layer::linear(1 << 11), Layer::linear(1 << 17)]),
    ];
    for (input, layers) in cases {
        let refused = Network::new(input, &layers, NetworkLoss::CrossEntropy);
        assert!(refused.is_err(), "{input} into {layers:?}");
    }
    let deep = format!("{}{}", r#"{"layers":[{"type":"residual","body":["#.repeat(1000), "]}]}".repeat(1000));
    assert!(Description::from_json(&deep).unwrap_err().to_string().starts_with("the description is no JSON"));
    let deep = format!("layers = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Description::from_toml(&deep).unwrap_err().to_string().starts_with("the description is no TOML"));
}

/// Whoever may name a network's file can name any file: of one that is none, nothing is shown but a short
/// name.
#[test]
fn a_file_that_is_no_network_is_not_shown() {
    let passwd = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/bin/sh\n";
    let toml = |text: &str| Description::from_toml(text).unwrap_err().to_string();
    let json = |text: &str| Description::from_json(text).unwrap_err().to_string();
    for (error, says) in [
        (toml(passwd), "line 1, column "),
        (json(passwd), "line 1 column 1"),
        (toml("[client]\npassword = hunter2\n"), "line 2, column "),
        (toml("password = 'hunter2'\n"), "there is no field `password`"),
        (toml("'root:x:0:0' = 'hunter2'\n"), "there is no field `…`"),
        (json("[\"root:x:0:0\", \"hunter2\"]"), "must be a table, got a list"),
        (json("\"root:x:0:0 hunter2\""), "must be a table, got a text"),
        (json("{\"root:x:0:0\": 1, \"root:x:0:0\": 2}"), "field `…` is given twice"),
        (toml("input = 'root:x:0:0'\nlayers = []\n"), "input must be such as"),
        (toml("loss = 'root:, expected hunter2'\nlayers = []\n"), "expected `cross_entropy`"),
        (toml("views = [{ 'root:x' = 'hunter2' }]\nlayers = []\n"), "views must be such as"),
        (toml("layers = 'root:x:0:0'\n"), "must be a list, got a text"),
        (toml("layers = [{ type = 'root:x:0:0' }]\n"), "layers[0]: there is no layer `…`"),
        (toml("preset = 'root:x:0:0'\n"), "there is no preset `…`"),
    ] {
        assert!(error.contains(says), "{error}");
        assert!(!error.contains("hunter2") && !error.contains("root:") && !error.contains("/bin"), "{error}");
    }
}
