//! `haul man`: manual pages, for those who make packages.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, roman};
use haulage::Error;

use super::help;
use crate::cli::grammar;
use crate::stop::Ending;

/// Write a manual page for each command into a folder
// Hidden, since packages bring the pages.
#[derive(Args, Debug)]
#[command(hide = true, after_help = help!("  haul man ~/.local/share/man/man1"))]
pub struct Man {
    /// The folder; it is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub(super) fn run(self) -> Ending {
        let failed = |error| Error::from_io("write", self.folder.display().to_string(), error);
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut whole = grammar().disable_help_subcommand(true);
        whole.build();
        write(&whole, &self.folder).map_err(failed)?;
        Ok(0)
    }
}

/// Writes the page of a command and those of what is below it.
fn write(command: &Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(below, folder)?;
    }
    let source = format!("Haulage {}", env!("CARGO_PKG_VERSION"));
    let page = Page::new(command.clone()).source(source).manual("Haulage");
    fs::write(folder.join(page.get_filename()), render(command, &page)?)
}

fn render(command: &Command, page: &Page) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    let usage = command.clone().render_usage().to_string();
    section(&mut text, "SYNOPSIS", usage.trim_start_matches("Usage: "))?;
    page.render_description_section(&mut text)?;
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        page.render_options_section(&mut text)?;
    }
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        page.render_subcommands_section(&mut text)?;
    }
    let end = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for (title, lines) in sections(&end) {
        section(&mut text, &title, &lines)?;
    }
    let parent = command.get_bin_name().and_then(|name| name.rsplit_once(' '));
    if let Some((parent, _)) = parent {
        section(&mut text, "SEE ALSO", &format!("{}(1)", parent.replace(' ', "-")))?;
    }
    Ok(text)
}

/// A section whose lines stay as they are.
fn section(text: &mut Vec<u8>, title: &str, lines: &str) -> io::Result<()> {
    let mut roff = Roff::default();
    roff.control("SH", [title]);
    roff.control("nf", []);
    for line in lines.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    text.write_all(roff.to_roff().as_bytes())
}

/// The end of a help as sections: those that have a heading, and before the last, the exit codes, the rest.
fn sections(end: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for paragraph in end.split("\n\n") {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        let heading = first.strip_suffix(':').filter(|_| !rest.is_empty() && !first.starts_with(' '));
        match heading {
            Some(heading) if heading.starts_with("Exit codes") => {
                found.push(("EXIT STATUS".to_owned(), rest.to_owned()));
            }
            Some(heading) => found.push((heading.to_uppercase(), rest.to_owned())),
            None => match found.last_mut().filter(|(title, _)| title == "NOTES") {
                Some((_, lines)) => *lines = format!("{lines}\n\n{paragraph}"),
                None => found.push(("NOTES".to_owned(), paragraph.to_owned())),
            },
        }
    }
    found.retain(|(_, lines)| !lines.trim().is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_help_is_sections() {
        let end = "Examples:\n  haul a\n\nOne\ntwo.\n\nThree.\n\nExit codes:\n  0  all done";
        let found: Vec<_> = sections(end).into_iter().collect();
        let pair = |title: &str, lines: &str| (title.to_owned(), lines.to_owned());
        assert_eq!(
            found,
            [
                pair("EXAMPLES", "  haul a"),
                pair("NOTES", "One\ntwo.\n\nThree."),
                pair("EXIT STATUS", "  0  all done")
            ]
        );
        assert!(sections("").is_empty());
    }

    #[test]
    fn each_command_has_a_page_that_names_its_options() {
        let folder = tempfile::tempdir().unwrap();
        Man { folder: folder.path().join("man1") }.run().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join("man1").join(name)).unwrap();
        assert!(read("haul.1").contains("haul\\-cp(1)"));
        assert!(read("haul-cp.1").contains("\\-\\-block\\-size"));
        assert!(read("haul-lab-run.1").contains("\\-\\-continue"));
        assert!(read("haul-doctor.1").contains(".SH EXAMPLES\n.nf\n  haul doctor"));
        assert!(!folder.path().join("man1/haul-man.1").exists());
    }
}
