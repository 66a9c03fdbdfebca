// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The kernel's command line: armvisor's own words, then the user's.

use crate::layout;
use crate::outcome::Refusal;

/// What an arm64 kernel takes: its COMMAND_LINE_SIZE without the NUL. It cuts off the rest silently.
const LONGEST: usize = 2047;

/// The whole command line: what the user says, after a console unless the user names one.
pub fn build(append: &str) -> Result<String, Refusal> {
    let own = own_words(append);
    let line = match (own.is_empty(), append.is_empty()) {
        (false, false) => format!("{own} {append}"),
        _ => own.clone() + append,
    };
    if line.len() <= LONGEST {
        return Ok(line);
    }
    let mut sentence = format!(
        "--append: an arm64 kernel takes a command line of {LONGEST} bytes and this one has {}; \
         shorten it by {}",
        line.len(),
        line.len() - LONGEST,
    );
    if !own.is_empty() {
        sentence += &format!(" (armvisor's own words are '{own}')");
    }
    Err(Refusal::usage(sentence))
}

fn own_words(append: &str) -> String {
    let names_console = append
        .split_whitespace()
        .any(|word| word.starts_with("console=") || word.split('=').next() == Some("earlycon"));
    if names_console {
        return String::new();
    }
    format!(
        "earlycon=uart8250,mmio,{:#x} console=ttyS0",
        layout::UART_BASE
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ExitCode;

    const CONSOLE: &str = "earlycon=uart8250,mmio,0x9000000 console=ttyS0";

    #[test]
    fn a_console_comes_first_unless_one_is_named() {
        assert_eq!(build("").unwrap(), CONSOLE);
        assert_eq!(build("quiet").unwrap(), format!("{CONSOLE} quiet"));
        for named in ["console=hvc0 quiet", "quiet earlycon", "earlycon=pl011,0"] {
            assert_eq!(build(named).unwrap(), named);
        }
    }

    #[test]
    fn what_the_kernel_would_cut_off_is_refused() {
        let most = LONGEST - CONSOLE.len() - 1;
        assert_eq!(build(&"x".repeat(most)).unwrap().len(), LONGEST);
        let refusal = build(&"x".repeat(most + 3)).unwrap_err();
        assert_eq!(refusal.code, ExitCode::Usage);
        assert!(refusal.sentence.contains("shorten it by 3 "), "{refusal}");
        assert!(refusal.sentence.contains(CONSOLE), "{refusal}");
        let refusal = build(&format!("console=x {}", "x".repeat(LONGEST))).unwrap_err();
        assert!(refusal.sentence.ends_with("shorten it by 10"), "{refusal}");
    }
}
