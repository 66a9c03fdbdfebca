// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The options of the seed for cloud-init.

use std::path::PathBuf;

use clap::Args;

/// `--cloud-init` and the options that go with it.
#[derive(Clone, Debug, Default, Args)]
pub struct SeedArgs {
    /// Set the guest up by cloud-init: a read-only disk behind all others, in the form of NoCloud, has what the
    /// options below say. With the same options, the guest is set up once
    #[arg(long, help_heading = "Cloud-init")]
    pub cloud_init: bool,
    /// A file with the SSH public keys that log in; repeatable
    #[arg(
        long,
        value_name = "FILE",
        requires = "cloud_init",
        help_heading = "Cloud-init"
    )]
    pub ssh_key: Vec<PathBuf>,
    /// The account for them, which gets sudo and no password [default: that of the image]
    #[arg(long, value_name = "NAME", requires = "cloud_init", value_parser = parse_user, help_heading = "Cloud-init")]
    pub user: Option<String>,
    /// The guest's host name [default: that of --name, else armvisor]
    #[arg(long, value_name = "NAME", requires = "cloud_init", value_parser = parse_hostname, help_heading = "Cloud-init")]
    pub hostname: Option<String>,
    /// Instead of keys and an account: a file with user-data, such as '#cloud-config'
    #[arg(long, value_name = "FILE", requires = "cloud_init", conflicts_with_all = ["ssh_key", "user"], help_heading = "Cloud-init")]
    pub user_data: Option<PathBuf>,
}

fn parse_user(text: &str) -> Result<String, String> {
    check_user(text).map(|()| text.to_owned())
}

/// Refuses what cannot be an account's name.
pub fn check_user(text: &str) -> Result<(), String> {
    let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if begins && text.len() <= 32 && text.chars().all(rest) {
        return Ok(());
    }
    Err(
        "is not a name for an account; write at most 32 of a-z, 0-9, '-' and '_', a letter first"
            .into(),
    )
}

fn parse_hostname(text: &str) -> Result<String, String> {
    check_hostname(text).map(|()| text.to_owned())
}

/// Refuses what cannot be a host name (RFC 1123).
pub fn check_hostname(text: &str) -> Result<(), String> {
    let is_label = |label: &str| {
        let known = label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        known && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    if text.len() <= 253 && text.split('.').all(is_label) {
        return Ok(());
    }
    Err("is not a host name; write letters, digits and '-', such as web-1".into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::{Cli, refusal};

    fn said(words: &[&str]) -> Option<String> {
        let all = ["armvisor", "run", "--image", "i"].iter().chain(words);
        let error = Cli::try_parse_from(all).err()?;
        Some(refusal(&error, ["run"].into_iter())?.to_string())
    }

    #[test]
    fn strange_names_are_refused_with_what_to_write() {
        let long = "x".repeat(64);
        for user in ["Me", "", "1me", "a b", "root\n", &long] {
            let said = said(&["--cloud-init", "--user", user]).unwrap();
            let text = "is not a name for an account; write at most 32 of ";
            assert!(said.starts_with("--user") && said.contains(text), "{said}");
        }
        for name in ["a\nb", "a..b", "-a", "a_b", "", &long, &"a.".repeat(127)] {
            let said = said(&["--cloud-init", &format!("--hostname={name}")]).unwrap();
            let text = "is not a host name; write letters, digits and '-'";
            assert!(
                said.starts_with("--hostname") && said.contains(text),
                "{said}"
            );
        }
        for (option, name) in [("--user", "_a-1"), ("--hostname", "A1.b-2")] {
            assert_eq!(said(&["--cloud-init", option, name]), None);
        }
    }

    #[test]
    fn the_options_need_each_other() {
        for option in ["--ssh-key", "--user", "--hostname", "--user-data"] {
            assert!(said(&[option, "x"]).unwrap().contains("lacks --cloud-init"));
        }
        let both = ["--cloud-init", "--user-data", "f", "--user", "me"];
        assert!(said(&both).unwrap().contains("does not go with"));
    }
}
