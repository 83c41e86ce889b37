//! The data of a run, opened under its owner's rules, and what pays for it.

use std::path::Path;

use sordino_data::{Door, Encoding};
use sordino_privacy::Neighbours;

use super::input::{self, Input};
use super::plan;
use super::request::Request;
use super::subject::{self, Subject};
use crate::access::{Access, DOOR_NOTE};
use crate::discovery::{self, Columns};
use crate::error::RunError;
use crate::payer::{Given, Payer};
use crate::purse::{Purse, purpose};
use crate::settings::{Relation, Settings};

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// A plan.
    Plan,
    /// A model's directory.
    Directory,
    /// A model that stays in memory.
    Memory,
}

/// Data that was opened under its owner's rules, and what pays for it.
pub(super) struct Opened {
    pub(super) input: Input,
    pub(super) subject: Subject,
    pub(super) purse: Purse,
    pub(super) notes: Vec<String>,
}

impl Opened {
    /// Reads the schema and the header. Surveys the data if this is a run, a ledger needs
    /// its content, or nobody states n.
    pub(super) fn new(request: Request<'_>, settings: &Settings, aim: Aim) -> Result<Self, RunError> {
        let Request { given: Given { table, schema, payer }, network, folder, .. } = request;
        let data = match &table {
            Some(table) => table.path().to_owned(),
            None => input::data_of(settings)?,
        };
        let mut access = access(settings, &payer, (&data, table.is_some()), aim)?;
        let schema = match schema {
            Some(schema) => schema,
            None => subject::schema_of(settings)?.ok_or(RunError::NoSchema { data })?,
        };
        // A checkpoint belongs to one table, and so does the budget of a data set.
        let is_identified = folder.is_some() || access.needs_identity();
        let table = table.map(|table| if is_identified { table.identified(&schema) } else { table });
        let mut input = Input::open(settings, table, schema, &access)?;
        let (encoding, mut notes) = (encoding_of(settings, &input)?, Vec::new());
        if aim != Aim::Plan || access.is_metered() || settings.rows.is_none() {
            input.survey(&encoding)?;
        }
        let purse = open_purse(settings, &mut access, input.content())?;
        let subject = Subject::of_input(settings, &input, encoding, &purse, &mut notes)?;
        if input.door == Door::Permissive && !settings.permissive {
            notes.push(DOOR_NOTE.to_owned());
        }
        Ok(Self { input, subject: subject.with_network(network), purse, notes })
    }
}

/// The file and what pays for it, before there is a schema.
pub(super) fn opened_to_buy(settings: &Settings) -> Result<(Access, Input, Purse), RunError> {
    let data = input::data_of(settings)?;
    let mut access = access(settings, &Payer::Settings, (&data, false), Aim::Directory)?;
    access.check_purchase()?;
    subject::target_and_epsilon(settings)?;
    let known = discovery::known(settings.schema.as_deref(), access.csv())?;
    let input = Input::open(settings, None, known, &access)?;
    access.check_columns(Columns::of(settings).names())?;
    let content = input.source.content()?;
    let purse = open_purse(settings, &mut access, Some(content))?;
    // Checked before a schema is bought for a model that cannot be trained.
    subject::public_size(&purse)?;
    Ok((access, input, purse))
}

/// Checks every rule of the owner that can be checked before the file is opened.
fn access(
    settings: &Settings,
    payer: &Payer,
    (data, is_table): (&Path, bool),
    aim: Aim,
) -> Result<Access, RunError> {
    let access = Access::by(payer, data, &settings.payment, is_table)?;
    match aim {
        Aim::Plan | Aim::Directory => access.check_place(&plan::out_of(settings)?)?,
        Aim::Memory => access.check_unlocked()?,
    }
    settings.report.as_deref().map_or(Ok(()), |report| access.check_place(report))?;
    settings.public_test.as_deref().map_or(Ok(()), |_| access.check_public_test())?;
    Ok(access)
}

pub(super) fn open_purse(
    settings: &Settings,
    access: &mut Access,
    content: Option<[u8; 32]>,
) -> Result<Purse, RunError> {
    let what = purpose("train", settings.target.as_deref());
    access.open(content, asked(settings), Neighbours::ZeroOut, what)
}

pub(super) fn asked(settings: &Settings) -> Option<Neighbours> {
    settings.neighbours.map(Relation::neighbours)
}

pub(super) fn encoding_of(settings: &Settings, input: &Input) -> Result<Encoding, RunError> {
    let (target, _) = subject::target_and_epsilon(settings)?;
    subject::encoding(&input.schema, &input.source.names(), target, settings)
}
