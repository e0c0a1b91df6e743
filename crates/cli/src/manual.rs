//! `undertone completions` and `undertone man`.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
use crate::run::shelf::whole;

/// Print completions for a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone completions bash > ~/.local/share/bash-completion/completions/undertone
  undertone completions zsh > ~/.zfunc/_undertone
  undertone completions fish > ~/.config/fish/completions/undertone.fish")]
pub struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let mut out = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "undertone", &mut out);
        String::from_utf8(out).map_err(|error| error.to_string())
    }
}

/// Print the manual page, or write one for every command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone man | man -l -
  undertone man --out ~/.local/share/man/man1")]
pub struct Man {
    /// Write undertone.1, undertone-run.1 and so on into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let mut command = Cli::command();
        command.build();
        let Some(folder) = self.out else {
            return String::from_utf8(page(command, "undertone")?)
                .map_err(|error| error.to_string());
        };
        let mut count = 0;
        let mut open = vec![("undertone".to_string(), command)];
        while let Some((name, command)) = open.pop() {
            let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
            open.extend(inner.map(|inner| (format!("{name}-{}", inner.get_name()), inner.clone())));
            whole(&folder.join(format!("{name}.1")), &page(command, &name)?)
                .map_err(|error| format!("{error}; choose another --out"))?;
            count += 1;
        }
        Ok(format!("wrote {count} pages into {}", folder.display()))
    }
}

fn page(command: Command, name: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    clap_mangen::Man::new(command)
        .title(name)
        .render(&mut out)
        .map_err(|error| error.to_string())?;
    Ok(out)
}
