//! The promise as icons to count: 100 models without one unit's data, and 100 with it.
//!
//! People read shares off arrays of icons more reliably than off sentences (Nanayakkara,
//! Smart, Cummings, Kaptchuk, Redmiles, *What Are the Chances? Explaining the Epsilon
//! Parameter in Differential Privacy*, 2023).
//!
//! # Definition
//! An attacker whose two errors are equally likely says `used` for r of 100 models that used the
//! data, and for 100 - r of 100 that did not, where r is the largest number of right guesses in
//! 100, rounded up.

use std::fmt::Write;

use crate::escape::html as escaped;
use crate::explain::Whose;

/// Both arrays.
pub(crate) struct Icons {
    /// The most right guesses in 100.
    right: u32,
    whose: Whose,
}

/// One hundred icons.
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) words: String,
    filled: u32,
}

impl Icons {
    pub(crate) fn new(right: u32, whose: Whose) -> Self {
        Self { right: right.clamp(50, 100), whose }
    }

    pub(crate) fn arrays(&self) -> [Array; 2] {
        let without = 100 - self.right;
        let array = |name: String, words: String, filled| Array { name, words, filled };
        [
            array(format!("Without {}", self.whose.data), format!("{without} of 100 filled"), without),
            array(
                format!("With {}", self.whose.it),
                format!("at most {} of 100 filled", self.right),
                self.right,
            ),
        ]
    }

    pub(crate) fn caption(&self) -> String {
        format!(
            "Each dot is a model. The best attacker takes the filled ones for models that used {}. The more \
            alike both pictures are, the less a model tells; a coin fills 50 of 100 in each.",
            self.whose.it
        )
    }

    /// The picture in words, for readers who cannot see it.
    pub(crate) fn words(&self) -> String {
        format!(
            "The best attacker takes {} of 100 models without {}, and at most {} of 100 models with it, for \
            models that used {}.",
            100 - self.right,
            self.whose.data,
            self.right,
            self.whose.it
        )
    }
}

impl Array {
    /// Ten rows of ten icons; filled ones come first.
    pub(crate) fn svg(&self, id: &str) -> String {
        // Writing to a string cannot fail.
        let mut svg = format!(
            "<svg viewBox=\"0 0 100 100\" role=\"img\" aria-labelledby=\"{id}-title\">\
             <title id=\"{id}-title\">{}: {}</title>",
            escaped(&self.name),
            escaped(&self.words)
        );
        for icon in 0..100 {
            let class = if icon < self.filled { "filled" } else { "empty" };
            let (x, y) = (5 + 10 * (icon % 10), 5 + 10 * (icon / 10));
            let _ = write!(svg, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"3.6\"/>");
        }
        svg.push_str("</svg>\n");
        svg
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Unit;

    use super::*;

    #[test]
    fn the_filled_icons_match_the_words() {
        let icons = Icons::new(55, Whose::unit(&Unit::Record));
        let [without, with] = icons.arrays();
        for (array, filled) in [(&without, 45), (&with, 55)] {
            let svg = array.svg("a");
            assert_eq!((svg.matches("\"filled\"").count(), svg.matches("<circle").count()), (filled, 100));
            assert!(array.words.contains(&format!("{filled} of 100")));
        }
        assert!(icons.words().contains("45 of 100 models without one record, and at most 55 of 100"));
    }
}
