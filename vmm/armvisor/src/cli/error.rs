// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Errors of the parser, in the form of all other refusals (`outcome`).

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::outcome::Refusal;

/// The refusal for `error`, of a command line that begins with these words. None where it is no error
/// but a text that was asked for: help, or the version.
pub fn refusal<'a>(error: &Error, mut words: impl Iterator<Item = &'a str>) -> Option<Refusal> {
    let commands = super::command_names();
    let command = words.find(|word| commands.iter().any(|name| name == word));
    let command = command.map_or("armvisor".into(), |name| format!("armvisor {name}"));
    let (subject, problem) = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::UnknownArgument => unknown(error, &command),
        ErrorKind::InvalidSubcommand => {
            let name = text(error, ContextKind::InvalidSubcommand);
            (name, format!("no such command; {}", hint(error, &command)))
        }
        ErrorKind::ArgumentConflict => conflict(error),
        ErrorKind::MissingRequiredArgument => {
            let mut lacks = text(error, ContextKind::InvalidArg).replace(['<', '>'], "");
            if lacks == "--kernel IMAGE" {
                lacks = format!("--image FILE or {lacks}");
            }
            (
                command.clone(),
                format!("lacks {lacks}; '{command} --help' has an example"),
            )
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => value(error),
        _ => {
            let said = error.to_string();
            let first = said.lines().next().unwrap_or_default();
            let first = first.strip_prefix("error: ").unwrap_or(first);
            (command.clone(), format!("{first}; see '{command} --help'"))
        }
    };
    Some(Refusal::usage(subject, problem))
}

fn text(error: &Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}

/// `--memory` of `--memory <SIZE>`; a place of no name is named by what it is for.
fn option_of(argument: &str) -> String {
    let name = argument.split([' ', '=', '[']).next().unwrap_or_default();
    name.trim_matches(['<', '>', '.']).to_owned()
}

fn hint(error: &Error, command: &str) -> String {
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    let near = kinds.iter().find_map(|kind| match error.get(*kind)? {
        ContextValue::String(near) => Some(near.clone()),
        ContextValue::Strings(near) => near.first().cloned(),
        _ => None,
    });
    match near {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("'{command} --help' lists what there is"),
    }
}

fn unknown(error: &Error, command: &str) -> (String, String) {
    let argument = text(error, ContextKind::InvalidArg);
    let what = if argument.starts_with('-') {
        "no such option"
    } else {
        "one word too many"
    };
    let problem = format!("{what} of '{command}'; {}", hint(error, command));
    (argument, problem)
}

fn conflict(error: &Error) -> (String, String) {
    let one = option_of(&text(error, ContextKind::InvalidArg));
    let other = option_of(&text(error, ContextKind::PriorArg));
    let problem = if one == other {
        "given twice; give it once".into()
    } else {
        format!("does not go with {other}; leave one of them out")
    };
    (one, problem)
}

/// A value that its option cannot have: the option's own sentence, or the words to choose from.
fn value(error: &Error) -> (String, String) {
    let argument = text(error, ContextKind::InvalidArg);
    let given = text(error, ContextKind::InvalidValue);
    let option = option_of(&argument);
    if given.is_empty() && error.kind() == ErrorKind::InvalidValue {
        let form = argument.replace(['<', '>'], "");
        return (option, format!("lacks its value; write '{form}'"));
    }
    let problem = match (
        std::error::Error::source(error),
        error.get(ContextKind::ValidValue),
    ) {
        (Some(own), _) => own.to_string(),
        (None, Some(ContextValue::Strings(words))) => {
            format!("no such choice; write {}", or(words))
        }
        _ => "cannot be used".into(),
    };
    (format!("{option} {given}").trim_end().to_owned(), problem)
}

/// `a, b or c`.
fn or(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;
    use crate::outcome::ExitCode;

    fn said(line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        let error = Cli::try_parse_from(&words).unwrap_err();
        let refusal = refusal(&error, words.iter().copied()).unwrap();
        assert_eq!(refusal.code, ExitCode::Usage);
        refusal.to_string()
    }

    #[test]
    fn every_kind_of_error_has_a_subject_and_says_what_to_do() {
        for (line, sentence) in [
            (
                "armvisor run --kernel k --consle x",
                "--consle: no such option of 'armvisor run'; did you mean '--console'?",
            ),
            (
                "armvisor run --kernel k --zzz",
                "--zzz: no such option of 'armvisor run'; 'armvisor run --help' lists what there is",
            ),
            (
                "armvisor stat vm more",
                "more: one word too many of 'armvisor stat'; 'armvisor stat --help' lists what there is",
            ),
            (
                "armvisor stap vm",
                "stap: no such command; did you mean 'stat'?",
            ),
            (
                "armvisor run",
                "armvisor run: lacks --image FILE or --kernel IMAGE; 'armvisor run --help' has an example",
            ),
            (
                "armvisor run --kernel",
                "--kernel: lacks its value; write '--kernel IMAGE'",
            ),
            (
                "armvisor run --kernel k --memory 1G --memory 2G",
                "--memory: given twice; give it once",
            ),
            (
                "armvisor -q -v list",
                "--quiet: does not go with --verbose; leave one of them out",
            ),
            (
                "armvisor run --kernel k --huge-pages big",
                "--huge-pages big: no such choice; write off, thp or hugetlb",
            ),
            (
                "armvisor stat vm --watch=soon",
                "--watch soon: write a number of seconds from 0.1 to 86400",
            ),
            ("armvisor balloon vm much", "SIZE much: "),
        ] {
            let said = said(line);
            assert!(said.starts_with(sentence), "{said}");
        }
    }

    #[test]
    fn what_is_asked_for_is_no_refusal() {
        for line in [
            "armvisor --help",
            "armvisor run --help",
            "armvisor --version",
        ] {
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
            assert!(refusal(&error, line.split(' ')).is_none(), "{line}");
        }
    }
}
