//! The digest of a schema: equal for schemas with equal declarations, however they are written.
//!
//! # Definition
//! The SHA-256 of a text that names the format and its version, and of the schema's parts in a
//! fixed order, with columns, aliases and texts for missing values sorted. Each text follows its
//! length in bytes, and each list its length. A number is the bits of a double; negative zero
//! counts as zero, so equal numbers have equal bits. Options that later versions added come first,
//! under a text of their own, and only if one of them differs from its default.

use sha2::{Digest, Sha256};

use super::{CategoryColumn, Column, CsvOptions, NumberColumn, Rule, Schema, UnitRule};

pub(super) fn of(schema: &Schema) -> [u8; 32] {
    let mut hash = Hash(Sha256::new());
    hash.later_csv(&schema.csv);
    hash.0.update(b"sordino schema, version 1\n");
    hash.unit(&schema.unit);
    hash.csv(&schema.csv);
    let mut columns: Vec<&(String, Column)> = schema.columns.iter().collect();
    columns.sort_unstable_by_key(|(name, _)| name);
    hash.list(&columns, |hash, (name, column)| {
        hash.text(name);
        match column {
            Column::Ignore => hash.tag(0),
            Column::Number(number) => hash.number(number),
            Column::Category(category) => hash.category(category),
        }
    });
    hash.0.finalize().into()
}

struct Hash(Sha256);

impl Hash {
    fn tag(&mut self, tag: u8) {
        self.0.update([tag]);
    }

    fn whole(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    /// Adds a number; negative zero counts as zero.
    fn real(&mut self, number: f64) {
        self.whole((number + 0.0).to_bits());
    }

    fn text(&mut self, text: &str) {
        self.whole(text.len() as u64);
        self.0.update(text);
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.whole(items.len() as u64);
        items.iter().for_each(|it| item(self, it));
    }

    fn texts<S: AsRef<str>>(&mut self, texts: &[S]) {
        self.list(texts, |hash, text| hash.text(text.as_ref()));
    }

    fn rule<T>(&mut self, rule: Rule<T>, value: impl FnOnce(&mut Self, T)) {
        match rule {
            Rule::Undeclared => self.tag(0),
            Rule::Drop => self.tag(1),
            Rule::Become(to) => {
                self.tag(2);
                value(self, to);
            }
        }
    }

    fn unit(&mut self, unit: &UnitRule) {
        match unit {
            UnitRule::Record => self.tag(0),
            UnitRule::Column { column, max_records } => {
                self.tag(1);
                self.text(column);
                self.whole(max_records.get());
            }
        }
    }

    /// Adds the options that the first version did not have. Adds nothing if all have their
    /// defaults, so that older digests hold.
    fn later_csv(&mut self, options: &CsvOptions) {
        let usual = CsvOptions::default();
        let of = |options: &CsvOptions| (options.header, options.decimal, options.thousands);
        if of(options) != of(&usual) {
            self.0.update(b"sordino schema, header, decimal and thousands\n");
            self.tag(options.header.into());
            self.tag(options.decimal);
            // 0 means that there is no separator: it is the code of none.
            self.tag(options.thousands.unwrap_or_default());
        }
    }

    fn csv(&mut self, options: &CsvOptions) {
        let CsvOptions { names, delimiter, comment, missing, header: _, decimal: _, thousands: _ } =
            options.canonical();
        self.tag(names.is_some().into());
        self.texts(&names.unwrap_or_default());
        self.tag(delimiter);
        self.tag(comment.is_some().into());
        self.tag(comment.unwrap_or_default());
        self.texts(&missing);
    }

    fn number(&mut self, column: &NumberColumn) {
        self.tag(if column.is_whole() { 1 } else { 2 });
        self.real(column.bounds().lower());
        self.real(column.bounds().upper());
        self.rule(column.missing_rule(), Self::real);
    }

    fn category(&mut self, column: &CategoryColumn) {
        self.tag(if column.is_boolean() { 3 } else { 4 });
        self.texts(column.values());
        let mut aliases: Vec<(&str, &str)> = column.aliases().collect();
        aliases.sort_unstable();
        self.list(&aliases, |hash, (spelling, value)| {
            hash.text(spelling);
            hash.text(value);
        });
        let code = |hash: &mut Self, code: u32| hash.whole(code.into());
        self.rule(column.missing_rule(), code);
        self.rule(column.other_rule(), code);
    }
}
