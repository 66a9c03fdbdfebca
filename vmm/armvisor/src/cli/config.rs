// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `--config FILE`: options of `armvisor run` from a TOML file. A key is an option's name without dashes:
//!
//! ```toml
//! memory = "1G"
//! cpus = 2
//! cloud-init = true
//! publish = ["8080:80", "127.0.0.1:2222:22"]
//! ```
//!
//! The file becomes words of the command line, so both say the same. What is wrong is refused with its
//! line and column, also where the option's own parser finds it.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use clap::error::{ContextKind, Error};
use clap::{ArgAction, CommandFactory};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Cli;
use crate::open::{self, REGULAR_FILE};
use crate::outcome::Refusal;

const OPTION: &str = "--config";
/// More than any such file has.
const LONGEST: u64 = 1 << 20;

/// Words of a command line, some of which a file may have said.
#[derive(Debug, Default)]
pub struct Words {
    /// All of them.
    pub words: Vec<String>,
    /// Option, value and place of those of the file.
    said: Vec<(String, String, String)>,
}

impl Words {
    /// Puts what the file says in the place of `--config FILE`, which may be among the words once.
    pub fn expand(words: &[String]) -> Result<Self, Refusal> {
        let mut expanded = Words::default();
        let mut given = words.iter();
        let mut read = false;
        while let Some(word) = given.next() {
            let file = match word.strip_prefix(OPTION) {
                Some("") => given.next().map(String::as_str),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            match file {
                None => expanded.words.push(word.clone()),
                Some(_) if read => return Err(Refusal::usage(OPTION, "given twice; give it once")),
                Some(file) => {
                    read = true;
                    expanded.read(Path::new(file))?;
                }
            }
        }
        Ok(expanded)
    }

    /// The place in the file of what the error is about.
    pub fn place(&self, error: &Error) -> Option<&str> {
        let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
        let argument = text(ContextKind::InvalidArg);
        let option = argument.split([' ', '=', '[']).next()?;
        let value = text(ContextKind::InvalidValue);
        let mut of_option = self.said.iter().filter(|(name, ..)| name == option);
        let first = of_option.clone().next()?;
        let found = of_option.find(|(_, said, _)| *said == value);
        Some(&found.unwrap_or(first).2)
    }

    fn read(&mut self, path: &Path) -> Result<(), Refusal> {
        let text = contents(path)?;
        let place = |span: Range<usize>| {
            let before = text.get(..span.start).unwrap_or(&text);
            let line = before.matches('\n').count() + 1;
            let start = before.rfind('\n').map_or(0, |end| end + 1);
            let column = before[start..].chars().count() + 1;
            format!("{}:{line}:{column}", path.display())
        };
        let table = DeTable::parse(&text).map_err(|error| {
            let at = place(error.span().unwrap_or_default());
            let said = error.message().lines().collect::<Vec<_>>().join(", ");
            Refusal::usage(at, format!("is no TOML: {said}"))
        })?;
        for (key, value) in table.get_ref() {
            let refuse = |span, problem: &str| Err(Refusal::usage(place(span), problem));
            let name = key.get_ref();
            let Some(action) = action(name) else {
                let problem = format!(
                    "{name}: no such option of 'armvisor run'; 'armvisor run --help' lists what there is"
                );
                return refuse(key.span(), &problem);
            };
            let option = format!("--{name}");
            match (action, value.get_ref()) {
                (ArgAction::SetTrue, DeValue::Boolean(true)) => {
                    self.said
                        .push((option.clone(), String::new(), place(key.span())));
                    self.words.push(option);
                }
                (ArgAction::SetTrue, DeValue::Boolean(false)) => {}
                (ArgAction::SetTrue, _) => {
                    return refuse(value.span(), &format!("{name}: write true or false"));
                }
                (ArgAction::Append, DeValue::Array(values)) => {
                    for value in values.iter() {
                        self.push(name, value, &place)?;
                    }
                }
                _ => self.push(name, value, &place)?,
            }
        }
        Ok(())
    }

    fn push(
        &mut self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        place: &impl Fn(Range<usize>) -> String,
    ) -> Result<(), Refusal> {
        let at = place(value.span());
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            other => {
                let problem = format!(
                    "{name}: is of type {}; write a text in quotes or a number",
                    other.type_str()
                );
                return Err(Refusal::usage(at, problem));
            }
        };
        // One word: what begins with a dash is a value all the same.
        self.words.push(format!("--{name}={text}"));
        self.said.push((format!("--{name}"), text, at));
        Ok(())
    }
}

/// What the option of this name does with its value; None where `run` has no such option.
fn action(name: &str) -> Option<ArgAction> {
    let mut cli = Cli::command();
    let run = cli.find_subcommand_mut("run")?;
    let mut options = run.get_arguments();
    let own = |long: &str| long == name && format!("--{long}") != OPTION;
    let found = options.find(|option| option.get_long().is_some_and(own))?;
    Some(found.get_action().clone())
}

fn contents(path: &Path) -> Result<String, Refusal> {
    const WHAT: &str = "configuration";
    let opened = open::open(path, File::options().read(true), REGULAR_FILE);
    let (file, _) = opened.map_err(|problem| problem.refusal(WHAT, path))?;
    let mut text = String::new();
    match file.take(LONGEST + 1).read_to_string(&mut text) {
        Ok(len) if len as u64 <= LONGEST => Ok(text),
        Ok(_) => Err(Refusal::file(WHAT, path, "has more than 1 MiB")),
        Err(error) => Err(Refusal::open(WHAT, path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Command, RunArgs, refusal};

    /// What the options in a file and these words come to.
    fn run(toml: &str, words: &[&str]) -> Result<RunArgs, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vm.toml");
        std::fs::write(&path, toml).unwrap();
        let folder = format!("{}/", folder.path().display());
        let own = |text: String| text.replace(&folder, "");
        let config = format!("--config={}", path.display());
        let all = ["armvisor", "run", &config].into_iter();
        let all = all.chain(words.iter().copied());
        let all: Vec<String> = all.map(str::to_owned).collect();
        let words = Words::expand(&all).map_err(|refusal| own(refusal.to_string()))?;
        match Cli::try_parse_from(&words.words) {
            Ok(cli) => match cli.command {
                Command::Run(args) => Ok(*args),
                other => panic!("{other:?}"),
            },
            Err(error) => {
                let refusal = refusal(&error, ["run"].into_iter()).unwrap();
                let place = words.place(&error).map(|place| format!("{place}: "));
                Err(own(format!("{}{refusal}", place.unwrap_or_default())))
            }
        }
    }

    #[test]
    fn a_file_says_what_the_options_say() {
        let toml = "\
            # A web server.\n\
            image = \"disk.qcow2\"\n\
            memory = \"1G\"\n\
            cpus = 2\n\
            cloud-init = true\n\
            ephemeral = false\n\
            append = '-quiet'\n\
            net = 'passt'\n\
            publish = ['8080:80', \"127.0.0.1:2222:22\"]\n";
        let args = run(toml, &["--name", "web"]).unwrap();
        let words = "armvisor run --image disk.qcow2 --memory 1G --cpus 2 --cloud-init --append=-quiet \
                     --net passt -p 8080:80 -p 127.0.0.1:2222:22 --name web";
        let same = match Cli::try_parse_from(words.split_whitespace())
            .unwrap()
            .command
        {
            Command::Run(args) => *args,
            other => panic!("{other:?}"),
        };
        assert_eq!(format!("{args:?}"), format!("{same:?}"));
    }

    #[test]
    fn what_is_wrong_has_a_line_and_a_column() {
        for (toml, words, sentence) in [
            (
                "kernel = 'k'\nmemory = 'lots'",
                "",
                "vm.toml:2:10: --memory lots: is not a size",
            ),
            (
                "kernel = 'k'\nnet = ['passt',\n  'x']",
                "",
                "vm.toml:3:3: --net x: lacks a key",
            ),
            (
                "kernel = 'k'\n kernal = 'k'",
                "",
                "vm.toml:2:2: kernal: no such option of",
            ),
            ("config = 'x'", "", "vm.toml:1:1: config: no such option"),
            ("pmu = 'yes'", "", "vm.toml:1:7: pmu: write true or false"),
            (
                "cpus = 1.5",
                "",
                "vm.toml:1:8: cpus: is of type float; write a text",
            ),
            ("[net]\na = 1", "", "vm.toml:1:1: net: is of type table"),
            ("cpus = ", "", "vm.toml:1:8: is no TOML: "),
            (
                "cpus = 1\ncpus = 2",
                "",
                "vm.toml:2:1: is no TOML: duplicate key",
            ),
            (
                "kernel = 'k'\ncpus = 1",
                "--cpus=2",
                "vm.toml:2:8: --cpus: given twice",
            ),
            (
                "cpus = 1",
                "",
                "armvisor run: lacks --image FILE or --kernel IMAGE",
            ),
            ("", "--config=/none", "--config: given twice"),
        ] {
            let words: Vec<&str> = words.split_whitespace().collect();
            let said = run(toml, &words).unwrap_err();
            assert!(said.starts_with(sentence), "{toml}: {said}");
        }
        let words = ["--config".to_owned(), "/none".to_owned()];
        let said = Words::expand(&words).unwrap_err().to_string();
        assert_eq!(said, "configuration /none: no such file");
        let lone = Words::expand(&words[..1]).unwrap();
        assert_eq!(lone.words, words[..1]);
    }
}
