//! `haul completion`: what makes the shell complete the command.

use clap::Args;
use clap_complete::Shell;

use super::help;
use crate::cli::grammar;
use crate::output::Lines;
use crate::stop::Ending;

/// Write the completion script for a shell to standard output
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul completion bash > ~/.local/share/bash-completion/completions/haul
  haul completion zsh > \"${fpath[1]}/_haul\"
  haul completion fish > ~/.config/fish/completions/haul.fish"
))]
pub struct Completion {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completion {
    pub(super) fn run(self) -> Ending {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut grammar(), "haul", &mut script);
        let mut lines = Lines::stdout();
        lines.text(&String::from_utf8_lossy(&script))?;
        lines.flush()?;
        Ok(0)
    }
}
