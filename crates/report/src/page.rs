//! A report as a document: sections of paragraphs, tables, figures and code, before it is written
//! as HTML or Markdown.
//!
//! HTML and Markdown are written from the same [`Section`]s, so they cannot say different things.

pub(crate) mod content;
pub(crate) mod html;
pub(crate) mod icons;
pub(crate) mod markdown;

use sordino_plot::Plot;

/// A part of the page with a title.
pub(crate) struct Section {
    /// The stable target of links.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) blocks: Vec<Block>,
}

pub(crate) enum Block {
    Paragraph(Text),
    List(Vec<Text>),
    /// Names on the left, values on the right.
    Facts(Vec<(Text, Text)>),
    Table(Table),
    Figure(Figure),
    Bar(Bar),
    Code(String),
    /// Lines to fill in by hand.
    Blanks(Vec<&'static str>),
    /// A long part that is folded at first.
    Folded {
        title: &'static str,
        blocks: Vec<Block>,
    },
}

/// Rows of values under a heading; the first column names the row.
pub(crate) struct Table {
    pub(crate) caption: Text,
    pub(crate) head: Vec<Text>,
    pub(crate) rows: Vec<Vec<Text>>,
}

/// A plot. Its title and description serve readers who cannot see it, and Markdown.
pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) plot: Plot,
}

/// Parts of a whole, in a row.
pub(crate) struct Bar {
    pub(crate) title: String,
    pub(crate) parts: Vec<Part>,
}

/// A part of a bar.
pub(crate) struct Part {
    pub(crate) label: Text,
    /// Between 0 and 1.
    pub(crate) share: f64,
}

/// A line of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text(pub(crate) Vec<Inline>);

#[derive(Clone, Debug)]
pub(crate) enum Inline {
    /// Text of this program.
    Words(String),
    /// Text of this program, emphasised.
    Strong(String),
    /// A name that somebody else chose, in any script.
    Name(String),
    /// A word of the configuration or of the command line.
    Code(String),
    /// A number: as it is shown, and its exact value.
    Number { shown: String, exact: f64 },
}

impl Text {
    pub(crate) fn words(words: impl Into<String>) -> Self {
        Self::default().and(words)
    }

    pub(crate) fn strong(words: impl Into<String>) -> Self {
        Self::default().with(Inline::Strong(words.into()))
    }

    pub(crate) fn name(name: &str) -> Self {
        Self::default().and_name(name)
    }

    pub(crate) fn code(code: impl Into<String>) -> Self {
        Self::default().and_code(code)
    }

    pub(crate) fn number(shown: impl Into<String>, exact: f64) -> Self {
        Self::default().and_number(shown, exact)
    }

    pub(crate) fn and(self, words: impl Into<String>) -> Self {
        self.with(Inline::Words(words.into()))
    }

    pub(crate) fn and_name(self, name: &str) -> Self {
        self.with(Inline::Name(name.to_owned()))
    }

    pub(crate) fn and_code(self, code: impl Into<String>) -> Self {
        self.with(Inline::Code(code.into()))
    }

    pub(crate) fn and_number(self, shown: impl Into<String>, exact: f64) -> Self {
        self.with(Inline::Number { shown: shown.into(), exact })
    }

    fn with(mut self, part: Inline) -> Self {
        self.0.push(part);
        self
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::words(words)
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::words(words)
    }
}
