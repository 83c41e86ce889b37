//! What `--model` and `--image` name.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sordino_data::Encoding;
use sordino_nn::{Description, Loss, Network, Shape, preset};

use crate::error::Error;
use crate::train::args::Settings;

/// The longest description that is read.
const LONGEST: u64 = 1 << 20;

/// Channels, height and width of a picture, as `1x28x28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ImageShape {
    channels: usize,
    height: usize,
    width: usize,
}

impl ImageShape {
    /// Of a file's pictures, where the format says so: IDX has them grey and square, CIFAR in colour.
    pub(crate) fn of_format(format: &str, columns: usize) -> Option<Self> {
        let side = (columns as f64).sqrt().round() as usize;
        match format {
            "IDX" if side * side == columns => Some(Self { channels: 1, height: side, width: side }),
            "CIFAR binary" if columns == 3072 => Some(Self { channels: 3, height: 32, width: 32 }),
            _ => None,
        }
    }

    fn shape(self) -> Shape {
        let Self { channels, height, width } = self;
        Shape::Image { channels, height, width }
    }
}

impl FromStr for ImageShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides: Option<Vec<usize>> = text
            .split('x')
            .map(|side| side.trim().parse().ok().filter(|side| (1..=1 << 14).contains(side)))
            .collect();
        match sides.as_deref() {
            Some(&[channels, height, width]) => Ok(Self { channels, height, width }),
            _ => Err(format!("a picture is CHANNELSxHEIGHTxWIDTH, such as 1x28x28; got `{text}`")),
        }
    }
}

impl TryFrom<String> for ImageShape {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ImageShape> for String {
    fn from(shape: ImageShape) -> Self {
        shape.to_string()
    }
}

impl fmt::Display for ImageShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.channels, self.height, self.width)
    }
}

/// The network for encoded records.
pub(crate) fn network(name: &str, settings: &Settings, encoding: &Encoding) -> Result<Network, Error> {
    let input = match settings.image {
        Some(image) if image.shape().size() == encoding.width() => image.shape(),
        Some(image) => {
            return Err(Error::OtherPicture { image: image.to_string(), numbers: encoding.width() });
        }
        None => Shape::Features(encoding.width()),
    };
    let (loss, outputs) = match encoding.classes() {
        Some(classes) => (Loss::CrossEntropy, classes.len()),
        None => (Loss::Squared, 1),
    };
    let mut description = description(name, settings.hidden.as_deref())?;
    match description.loss {
        Some(stated) if stated != loss => return Err(Error::OtherLoss { target: kind(loss) }),
        _ => description.loss = Some(loss),
    }
    described(name, description.network_for(input, outputs))
}

/// A file if it looks like one, else a preset.
fn description(name: &str, hidden: Option<&[usize]>) -> Result<Description, Error> {
    let path = Path::new(name);
    if !is_file(path) {
        return described(name, preset::named(name, hidden));
    }
    if hidden.is_some() {
        return Err(Error::HiddenAndFile { name: name.to_owned() });
    }
    let failed = |source| Error::Read { name: format!("`{name}`"), source };
    if fs::metadata(path).map_err(failed)?.len() > LONGEST {
        return Err(Error::Config {
            name: name.to_owned(),
            reason: format!("it has more than {LONGEST} bytes"),
        });
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    described(name, if is_json { Description::from_json(&text) } else { Description::from_toml(&text) })
}

fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml" || extension == "json")
        || path.components().count() > 1
}

fn described<T>(name: &str, result: Result<T, sordino_nn::DescriptionError>) -> Result<T, Error> {
    result.map_err(|source| Error::Description { name: name.to_owned(), source: Box::new(source) })
}

fn kind(loss: Loss) -> &'static str {
    match loss {
        Loss::CrossEntropy => "classes, which cross_entropy is for",
        Loss::Squared => "a number, which squared is for",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_three_numbers() {
        let shape: ImageShape = "3x32x32".parse().unwrap();
        assert_eq!(shape.to_string(), "3x32x32");
        assert_eq!(ImageShape::of_format("CIFAR binary", 3072), Some(shape));
        assert_eq!(ImageShape::of_format("IDX", 784).unwrap().to_string(), "1x28x28");
        assert_eq!(ImageShape::of_format("IDX", 785), None);
        assert_eq!(ImageShape::of_format("CSV", 784), None);
        for text in ["", "3", "3x32", "0x1x1", "1x1x99999999", "1x2x3x4", "axbxc"] {
            assert!(text.parse::<ImageShape>().is_err(), "{text}");
        }
    }
}
