//! `sordino completions` and `sordino man`: shell completions and manual pages, made from the
//! definition of the flags.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use sordino_spelling::hint;

use crate::args::Arguments;

use crate::error::Error;
use crate::output;

const NAME: &str = "sordino";

const COMPLETION_EXAMPLES: &str = "\
Examples:
  sordino completions bash > ~/.local/share/bash-completion/completions/sordino
  sordino completions zsh > ~/.zfunc/_sordino
  sordino completions fish > ~/.config/fish/completions/sordino.fish";

#[derive(Debug, Args)]
#[command(after_help = COMPLETION_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  sordino man | man -l -
  sordino man train > ~/.local/share/man/man1/sordino-train.1
  sordino man ledger create | man -l -";

#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// The page of this verb, such as `train` or `ledger create` [default: the page of the whole
    /// command]
    #[arg(value_name = "VERB", num_args = 0..)]
    verbs: Vec<String>,
}

pub(crate) fn completions(args: CompletionsArgs) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), NAME, &mut script);
    output::result(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(args: ManArgs) -> Result<(), Error> {
    let mut command = Arguments::command();
    command.build();
    for verb in &args.verbs {
        // The commands are built above, so the page has the full name `sordino-train`.
        let Some(found) = command.find_subcommand(verb) else {
            let hint = hint(verb, command.get_subcommands().map(clap::Command::get_name));
            return Err(Error::NoVerb { verb: verb.clone(), hint });
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(|source| Error::Write { source })?;
    output::result(&String::from_utf8_lossy(&page))
}
