//! Weights in safetensors, by the names and in the layouts of PyTorch.
//!
//! # Definition
//! A file has one tensor for each weight and bias, named and laid out as [`tensors`] says, so that `load_state_dict` of the same
//! `torch.nn.Sequential` takes it, and the metadata `format: pt`.
//!
//! # Guarantee
//! Numbers are written as `F64`, which is what parameters are: what is read again is the same to the last bit, and so is every output. (PyTorch
//! rounds them to the type of its module.) `F32` and `F64` are read.
//!
//! # Pitfalls
//! A file may come from anywhere. It is not read if it is larger than the network's weights can be, every tensor must be there with
//! its shape, none may be left over, and all numbers must be finite: a network never runs with weights that are half a stranger's.

mod error;
mod tensors;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use sordino_spelling::quoted;

pub use error::WeightsError;
use tensors::{Tensor, TensorNumbers};

use crate::layer::Layer;
use crate::network::Network;

impl Network {
    /// Parameters as the bytes of a safetensors file, frozen weights beside them.
    ///
    /// ```
    /// use sordino_nn::{Layer, NetworkLoss, Network, Shape};
    /// let network = Network::new(Shape::Features(4), &[Layer::linear(3)], NetworkLoss::CrossEntropy)?;
    /// let parameters = network.initial(1);
    /// let bytes = network.to_safetensors(&parameters)?;
    /// assert_eq!(network.read_safetensors(&bytes)?, parameters);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_safetensors(&self, parameters: &[f64]) -> Result<Vec<u8>, WeightsError> {
        self.check_parameters(parameters)?;
        let tensors = self.tensors()?;
        let mut data = Vec::with_capacity(tensors.len());
        for tensor in &tensors {
            let numbers = match &tensor.numbers {
                TensorNumbers::Learned(range) => &parameters[range.clone()],
                TensorNumbers::Frozen(_, values) => values,
            };
            data.push(bytes(tensor, numbers)?);
        }
        let unwritable =
            |error: safetensors::SafeTensorError| WeightsError::Format { reason: error.to_string() };
        let views = tensors.iter().zip(&data).map(|(tensor, data)| {
            Ok((&tensor.name, TensorView::new(Dtype::F64, tensor.shape.clone(), data).map_err(unwritable)?))
        });
        let views = views.collect::<Result<Vec<_>, WeightsError>>()?;
        let metadata = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
        serialize(views, Some(metadata)).map_err(unwritable)
    }

    /// The parameters in the bytes of a safetensors file. Weights of frozen layers must be the network's own.
    pub fn read_safetensors(&self, bytes: &[u8]) -> Result<Vec<f64>, WeightsError> {
        let mut parameters = vec![0.0; self.parameters()];
        for (tensor, read) in self.read(bytes)? {
            match tensor.numbers {
                TensorNumbers::Learned(range) => parameters[range].copy_from_slice(&read),
                TensorNumbers::Frozen(_, values) => {
                    // A file in single precision may hold them too.
                    if values.iter().zip(&read).any(|(own, read)| *own as f32 != *read as f32) {
                        return Err(WeightsError::Frozen { tensor: tensor.name });
                    }
                }
            }
        }
        Ok(parameters)
    }

    /// The same network with frozen layers whose weights are those of a safetensors file: public features, learned elsewhere. What the file
    /// has beside them, such as a last layer for other classes, is passed over.
    pub fn with_frozen_weights(&self, bytes: &[u8]) -> Result<Self, WeightsError> {
        let file = open(bytes)?;
        let mut values: Vec<Vec<f64>> = Vec::new();
        for tensor in self.tensors()? {
            if let TensorNumbers::Frozen(number, _) = tensor.numbers {
                values.resize_with(values.len().max(number + 1), Vec::new);
                values[number].extend(numbers(&file, &tensor)?);
            }
        }
        let mut layers = self.layers().to_vec();
        fill(&mut layers, &mut values.into_iter());
        Ok(Self::with_views(self.input(), &layers, self.loss(), self.views())?)
    }

    /// Writes [`to_safetensors`](Self::to_safetensors) to a file.
    pub fn save_safetensors(&self, parameters: &[f64], path: impl AsRef<Path>) -> Result<(), WeightsError> {
        let bytes = self.to_safetensors(parameters)?;
        std::fs::write(path.as_ref(), bytes)
            .map_err(|source| WeightsError::File { path: path.as_ref().to_owned(), source })
    }

    /// Reads [`read_safetensors`](Self::read_safetensors) from a file, of which no more is read than the network's weights can have.
    pub fn load_safetensors(&self, path: impl AsRef<Path>) -> Result<Vec<f64>, WeightsError> {
        let path = path.as_ref();
        let unreadable = |source| WeightsError::File { path: path.to_owned(), source };
        let most = self.largest_file()?;
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        let stated = file.metadata().map_err(unreadable)?.len();
        // A pipe states nothing, and a file may grow.
        file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        let got = stated.max(bytes.len() as u64);
        if got > most {
            return Err(WeightsError::Large { path: path.to_owned(), got, most });
        }
        self.read_safetensors(&bytes)
    }

    fn tensors(&self) -> Result<Vec<Tensor>, WeightsError> {
        Ok(tensors::tensors(self.input(), self.layers())?)
    }

    /// Bytes of a file in double precision with long names and some metadata.
    fn largest_file(&self) -> Result<u64, WeightsError> {
        const METADATA: usize = 1 << 20;
        const HEADER: usize = 1 << 10;
        let each = self.tensors()?.iter().map(|tensor| 8 * tensor.len() + HEADER).sum::<usize>();
        Ok((METADATA + each) as u64)
    }

    /// All tensors, each with its numbers in our order, of a file that has no others.
    fn read(&self, bytes: &[u8]) -> Result<Vec<(Tensor, Vec<f64>)>, WeightsError> {
        let file = open(bytes)?;
        let mut read = Vec::new();
        for tensor in self.tensors()? {
            let numbers = numbers(&file, &tensor)?;
            read.push((tensor, numbers));
        }
        let known = |name: &str| read.iter().any(|(tensor, _)| tensor.name == name);
        // The first by name: the order of a file's header is nobody's.
        match file.names().into_iter().filter(|name| !known(name)).min() {
            Some(name) => Err(WeightsError::Unexpected { tensor: quoted(name) }),
            None => Ok(read),
        }
    }
}

fn open(bytes: &[u8]) -> Result<SafeTensors<'_>, WeightsError> {
    SafeTensors::deserialize(bytes).map_err(|error| WeightsError::Format { reason: error.to_string() })
}

/// Puts values into frozen layers, in the order in which [`tensors`] counts them.
fn fill(layers: &mut [Layer], values: &mut impl Iterator<Item = Vec<f64>>) {
    for layer in layers {
        if let Layer::Frozen { layer, values: own } = layer {
            *own = values.next().unwrap_or_default(); // the last ones may have no weights
            fill(std::slice::from_mut(layer), values);
        } else if let Layer::Residual { body, shortcut } = layer {
            fill(body, values);
            fill(shortcut, values);
        }
    }
}

/// A tensor's numbers in PyTorch's order, as bytes.
fn bytes(tensor: &Tensor, numbers: &[f64]) -> Result<Vec<u8>, WeightsError> {
    let mut ordered: Vec<f64> = tensor.places().map(|place| numbers[place]).collect();
    if let (Some(word), [_, features]) = (tensor.padding, &tensor.shape[..]) {
        ordered[word * features..][..*features].fill(0.0); // what the layer gives, whatever the parameters are
    }
    check_finite(tensor, &ordered)?;
    Ok(ordered.into_iter().flat_map(f64::to_le_bytes).collect())
}

/// A tensor's numbers in our order.
fn numbers(file: &SafeTensors<'_>, tensor: &Tensor) -> Result<Vec<f64>, WeightsError> {
    let name = || tensor.name.clone();
    let Ok(view) = file.tensor(&tensor.name) else {
        let (shape, hint) = (tensor.shape.clone(), relative(&tensor.name, file));
        return Err(WeightsError::Missing { tensor: name(), shape, hint });
    };
    if view.shape() != tensor.shape {
        let (expected, got) = (tensor.shape.clone(), view.shape().to_vec());
        return Err(WeightsError::Shape { tensor: name(), expected, got });
    }
    let ordered: Vec<f64> = if view.dtype() == Dtype::F64 {
        view.data().as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    } else if view.dtype() == Dtype::F32 {
        view.data().as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect()
    } else {
        return Err(WeightsError::Type { tensor: name(), got: format!("{:?}", view.dtype()) });
    };
    check_finite(tensor, &ordered)?;
    if let (Some(word), [_, features]) = (tensor.padding, &tensor.shape[..])
        && ordered[word * features..][..*features].iter().any(|number| *number != 0.0)
    {
        return Err(WeightsError::Padding { tensor: name(), word });
    }
    let mut ours = vec![0.0; ordered.len()];
    tensor.places().zip(ordered).for_each(|(place, number)| ours[place] = number);
    Ok(ours)
}

fn check_finite(tensor: &Tensor, numbers: &[f64]) -> Result<(), WeightsError> {
    // Beyond single precision is not finite where it counts.
    if numbers.iter().all(|number| (*number as f32).is_finite()) {
        return Ok(());
    }
    Err(WeightsError::NotFinite { tensor: tensor.name.clone() })
}

/// What to do about a missing tensor: wrappers of modules put a prefix before all names.
fn relative(name: &str, file: &SafeTensors<'_>) -> String {
    let end = format!(".{name}");
    match file.names().into_iter().filter(|other| other.ends_with(&end)).min() {
        Some(other) => format!("there is {}: remove the prefix from all names", quoted(other)),
        None => "layers are numbered as in torch.nn.Sequential, activations and `flatten` counted".to_owned(),
    }
}
