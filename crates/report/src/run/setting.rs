//! Public settings as ordered pairs.

use serde::{Deserialize, Serialize};

/// One public setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name in the configuration.
    pub name: String,
    /// Its value.
    pub value: SettingValue,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Whole(u64),
    /// Any finite number.
    Number(f64),
    /// A word.
    Text(String),
}

impl<V: Into<SettingValue>> From<(&str, V)> for Setting {
    fn from((name, value): (&str, V)) -> Self {
        Self { name: name.to_owned(), value: value.into() }
    }
}

impl From<bool> for SettingValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<u64> for SettingValue {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for SettingValue {
    /// Infinities and NaN become texts, because JSON has neither.
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Number(value) } else { Self::Text(value.to_string()) }
    }
}

impl From<&str> for SettingValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for SettingValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}
