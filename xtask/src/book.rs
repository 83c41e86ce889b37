//! Checks of the README and the book: every page is in the table of contents, and every command
//! prints what its page shows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::console::{self, Shown};
use crate::failure::Failure;
use crate::run;

/// Checks that every page of the book is in its table of contents, that every listed page exists,
/// and that every relative link in the book and in the root's documents leads to a file.
pub(crate) fn check_contents() -> Result<(), Failure> {
    let source = run::root().join("docs");
    let summary = source.join("SUMMARY.md");
    let listed: BTreeSet<PathBuf> = links(&read(&summary)?).map(|link| source.join(link)).collect();
    let pages: BTreeSet<PathBuf> =
        markdown_below(&source)?.into_iter().filter(|page| *page != summary).collect();
    let missing =
        listed.difference(&pages).map(|page| format!("listed, but there is no file {}", page.display()));
    let unlisted = pages.difference(&listed).map(|page| format!("not listed: {}", page.display()));
    let mut problems: Vec<String> = missing.chain(unlisted).collect();
    for page in pages.iter().cloned().chain(root_documents()?) {
        let folder = page.parent().unwrap_or(Path::new("."));
        let text = read(&page)?;
        let dead = links(&text).filter(|link| !folder.join(link).exists());
        problems.extend(dead.map(|link| format!("{}: no file {link}", page.display())));
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::check(problems.join("\n"))) }
}

/// Checks that every command on a page has the exit code and the output that the page shows.
pub(crate) fn check_outputs() -> Result<(), Failure> {
    let mut count = 0;
    for (page, text, commands) in pages_with_commands()? {
        let lines: Vec<&str> = text.lines().collect();
        let folder = fresh_folder()?;
        for shown in &commands {
            let came = execute(shown, &folder).map_err(|f| at(&page, shown, &f.to_string()))?;
            let claimed = lines[shown.output.clone()].join("\n");
            if !console::agree(&claimed, &came, shown.is_random) {
                let story = format!(
                    "the page shows\n{claimed}\nbut the output is\n{came}\n`cargo xtask outputs` writes it"
                );
                return Err(at(&page, shown, &story));
            }
            count += 1;
        }
    }
    println!("{count} commands do what their pages show");
    Ok(())
}

/// Writes the real output of every command into its page.
pub(crate) fn write_outputs() -> Result<(), Failure> {
    for (page, text, commands) in pages_with_commands()? {
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        let folder = fresh_folder()?;
        let run = |shown: &Shown| execute(shown, &folder).map_err(|f| at(&page, shown, &f.to_string()));
        let outputs = commands.iter().map(run).collect::<Result<Vec<_>, _>>()?;
        // Last command first, so that the line numbers of the others stay valid.
        for (shown, came) in commands.iter().zip(&outputs).rev() {
            let claimed = lines[shown.output.clone()].join("\n");
            if shown.is_random && console::agree(&claimed, came, true) {
                continue; // only the random numbers differ
            }
            lines
                .splice(shown.output.clone(), came.trim_end().lines().map(|line| line.trim_end().to_owned()));
        }
        let new = lines.join("\n") + "\n";
        if new != text {
            std::fs::write(&page, new).map_err(|error| Failure::file(&page, &error))?;
            println!("rewritten: {}", page.display());
        }
    }
    Ok(())
}

fn pages_with_commands() -> Result<Vec<(PathBuf, String, Vec<Shown>)>, Failure> {
    let mut pages = root_documents()?;
    pages.extend(markdown_below(&run::root().join("docs"))?);
    let mut found = Vec::new();
    for page in pages {
        let text = read(&page)?;
        let commands =
            console::commands(&text).map_err(|why| Failure::check(format!("{}: {why}", page.display())))?;
        if !commands.is_empty() {
            found.push((page, text, commands));
        }
    }
    if !found.is_empty() {
        run::shown(run::cargo().args(["build", "--quiet", "--package", "sordino-cli"]))?;
    }
    Ok(found)
}

/// A fresh folder for the commands of one page, with a copy of `examples` as in the root folder.
/// Files that commands write stay in it.
fn fresh_folder() -> Result<PathBuf, Failure> {
    let folder = run::target_dir().join("pages");
    let _ = std::fs::remove_dir_all(&folder);
    let failed = |error| Failure::file(&folder, &error);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    copy(&run::root().join("examples"), &folder.join("examples")).map_err(failed)?;
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let (entry, to) = (entry?.path(), to.to_owned());
        let to = to.join(entry.file_name().unwrap_or_default());
        if entry.is_dir() { copy(&entry, &to)? } else { std::fs::copy(&entry, &to).map(drop)? }
    }
    Ok(())
}

/// Runs one command and returns what a reader would see.
fn execute(shown: &Shown, folder: &Path) -> Result<String, Failure> {
    let program = run::target_dir().join("debug").join(format!("sordino{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(program);
    command.args(&shown.arguments).current_dir(folder).env("NO_COLOR", "1").env("COLUMNS", "100");
    command.stdin(match &shown.input {
        Some(name) => {
            let path = folder.join(name);
            std::fs::File::open(&path).map_err(|error| Failure::file(&path, &error))?.into()
        }
        None => Stdio::null(),
    });
    let output =
        command.output().map_err(|error| Failure::usage(format!("{}: {error}", run::written(&command))))?;
    let (stdout, stderr) = (text_of(output.stdout), text_of(output.stderr));
    if output.status.code() != Some(shown.exit_code) {
        let story = format!("expected exit code {}, got {}\n{stderr}", shown.exit_code, output.status);
        return Err(Failure::check(story));
    }
    Ok(if shown.exit_code == 0 { stdout } else { stderr })
}

/// The Markdown files beside the workspace's `Cargo.toml`.
fn root_documents() -> Result<Vec<PathBuf>, Failure> {
    Ok(entries(run::root())?.into_iter().filter(|path| is_markdown(path)).collect())
}

fn markdown_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            found.extend(markdown_below(&path)?);
        } else if is_markdown(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let list = std::fs::read_dir(folder).map_err(|error| Failure::file(folder, &error))?;
    let mut paths: Vec<PathBuf> = list.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// The relative targets of `[text](target)`, without their `#fragment`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let files = targets.map(|target| target.split('#').next().unwrap_or(target));
    files.filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' '))
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn at(page: &Path, shown: &Shown, story: &str) -> Failure {
    Failure::check(format!("{}:{}: {story}", page.display(), shown.line))
}

#[cfg(test)]
mod tests {
    use super::links;

    #[test]
    fn only_relative_links_are_followed() {
        let text = "[a](guide/a.md#part) [b](https://example.org/b.md) [c](#here) [d](d.md)";
        assert_eq!(links(text).collect::<Vec<_>>(), ["guide/a.md", "d.md"]);
    }
}
