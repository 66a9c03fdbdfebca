// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The kernel's command line: armvisor's own words, then the user's.

use crate::layout;
use crate::outcome::Refusal;

/// What an arm64 kernel takes: its COMMAND_LINE_SIZE without the NUL. It cuts off the rest silently.
const LONGEST: usize = 2047;

/// A kernel that panics resets the machine, rather than wait for ever.
const PANIC: &str = "panic=-1";
/// The reset after a panic, and only that one, is a warm one: PSCI SYSTEM_RESET2. It is how a panic is told from
/// another reset. A pvpanic device would tell, too, but Debian's arm64 kernels have no driver for one.
const PANIC_IS_WARM: &str = "reboot=panic_warm";

/// A kernel's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The text for `bootargs` in the device tree.
    pub text: String,
    /// Whether a warm reset is the sign of a panic.
    pub panic_is_warm: bool,
}

/// The whole command line. armvisor's words come first, so that the user's undo them; a console is
/// among them unless the user names one, and what resets are is the user's if they say anything of it.
pub fn build(append: &str) -> Result<CommandLine, Refusal> {
    let panic_is_warm = !append
        .split_whitespace()
        .any(|word| word.starts_with("reboot="));
    let mut own = vec![PANIC];
    own.extend(panic_is_warm.then_some(PANIC_IS_WARM));
    let console = console();
    own.extend((!names_console(append)).then_some(console.as_str()));
    let own = own.join(" ");
    let text = format!("{own} {append}").trim_end().to_owned();
    if text.len() > LONGEST {
        let problem = format!(
            "an arm64 kernel takes a command line of {LONGEST} bytes and this one has {}; shorten it by \
             {} (armvisor's own words are '{own}')",
            text.len(),
            text.len() - LONGEST,
        );
        return Err(Refusal::usage("--append", problem));
    }
    Ok(CommandLine {
        text,
        panic_is_warm,
    })
}

fn names_console(append: &str) -> bool {
    append
        .split_whitespace()
        .any(|word| word.starts_with("console=") || word.split('=').next() == Some("earlycon"))
}

fn console() -> String {
    let base = layout::UART_BASE;
    format!("earlycon=uart8250,mmio,{base:#x} console=ttyS0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ExitCode;

    const OWN: &str = "panic=-1 reboot=panic_warm earlycon=uart8250,mmio,0x9000000 console=ttyS0";

    fn text(append: &str) -> String {
        build(append).unwrap().text
    }

    #[test]
    fn a_console_comes_first_unless_one_is_named() {
        assert_eq!(text(""), OWN);
        assert_eq!(text("quiet"), format!("{OWN} quiet"));
        for named in ["console=hvc0 quiet", "quiet earlycon", "earlycon=pl011,0"] {
            assert_eq!(text(named), format!("{PANIC} {PANIC_IS_WARM} {named}"));
        }
    }

    #[test]
    fn what_resets_are_is_the_users() {
        assert!(build("panic=0 quiet").unwrap().panic_is_warm);
        let own = build("reboot=warm console=x").unwrap();
        assert_eq!(own.text, "panic=-1 reboot=warm console=x");
        assert!(!own.panic_is_warm);
    }

    #[test]
    fn what_the_kernel_would_cut_off_is_refused() {
        let most = LONGEST - OWN.len() - 1;
        assert_eq!(text(&"x".repeat(most)).len(), LONGEST);
        let refusal = build(&"x".repeat(most + 3)).unwrap_err();
        assert_eq!(refusal.code, ExitCode::Usage);
        let refusal = refusal.to_string();
        assert!(refusal.contains("shorten it by 3 "), "{refusal}");
        assert!(refusal.contains(OWN), "{refusal}");
    }
}
