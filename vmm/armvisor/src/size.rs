// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Sizes as people write them: `512M`, `2G`, `1.5G` is refused. Binary units, any case.

use thiserror::Error;

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;
pub const TIB: u64 = 1 << 40;

/// Guest memory comes in blocks of this size: the mapping, the guest address and the length are all
/// multiples of it, so that host huge pages can back all of it.
pub const MEMORY_BLOCK: u64 = 2 * MIB;

/// A stock distribution kernel needs 30 MiB for itself before it has run an instruction.
pub const MEMORY_MIN: u64 = 32 * MIB;

#[derive(Debug, Error, PartialEq, Eq)]
pub enum SizeError {
    #[error("'{0}' is not a size; write a whole number with a unit, such as 512M or 2G")]
    Syntax(String),
    #[error("'{0}' is more than 64 bits can count")]
    Overflow(String),
    #[error("a VM with no memory cannot run; give it at least 32M")]
    Zero,
    #[error("{0} is too small: a kernel and its initrd need at least 32M (512M suits Debian)")]
    TooSmall(String),
    #[error("{text} is not a multiple of 2 MiB; the nearest are {below} and {above}")]
    Unaligned {
        text: String,
        below: String,
        above: String,
    },
}

/// Parses a size with an optional unit K, M, G or T (also `KiB`, `MB`, ...: all binary).
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let syntax = || SizeError::Syntax(text.to_owned());
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    if digits.is_empty() {
        return Err(syntax());
    }
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => KIB,
        "m" | "mb" | "mib" => MIB,
        "g" | "gb" | "gib" => GIB,
        "t" | "tb" | "tib" => TIB,
        _ => return Err(syntax()),
    };
    let overflow = || SizeError::Overflow(text.to_owned());
    let number: u64 = digits.parse().map_err(|_| overflow())?;
    number.checked_mul(factor).ok_or_else(overflow)
}

/// Parses the size of a guest's memory and applies the rules that need no knowledge of the host.
pub fn parse_memory(text: &str) -> Result<u64, SizeError> {
    let bytes = parse(text)?;
    if bytes == 0 {
        return Err(SizeError::Zero);
    }
    if bytes < MEMORY_MIN {
        return Err(SizeError::TooSmall(display(bytes)));
    }
    if bytes % MEMORY_BLOCK != 0 {
        let below = bytes - bytes % MEMORY_BLOCK;
        return Err(SizeError::Unaligned {
            text: text.to_owned(),
            below: display(below),
            above: display(below.saturating_add(MEMORY_BLOCK)),
        });
    }
    Ok(bytes)
}

/// The shortest exact way to write `bytes` that [`parse`] reads back.
pub fn display(bytes: u64) -> String {
    for (factor, unit) in [(TIB, "T"), (GIB, "G"), (MIB, "M"), (KIB, "K")] {
        if bytes >= factor && bytes % factor == 0 {
            return format!("{}{unit}", bytes / factor);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_binary_and_case_does_not_matter() {
        assert_eq!(parse("512M"), Ok(512 * MIB));
        assert_eq!(parse("512m"), Ok(512 * MIB));
        assert_eq!(parse("2GiB"), Ok(2 * GIB));
        assert_eq!(parse("1T"), Ok(TIB));
        assert_eq!(parse("4096"), Ok(4096));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "M", "-1G", "1.5G", "2 G", "2X", "0x10M", "١M"] {
            assert_eq!(
                parse(text),
                Err(SizeError::Syntax(text.to_owned())),
                "{text}"
            );
        }
        for text in ["18446744073709551616", "16777216T"] {
            assert_eq!(
                parse(text),
                Err(SizeError::Overflow(text.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn memory_has_a_least_size() {
        assert_eq!(parse_memory("0"), Err(SizeError::Zero));
        assert_eq!(parse_memory("0G"), Err(SizeError::Zero));
        assert_eq!(parse_memory("30M"), Err(SizeError::TooSmall("30M".into())));
        assert_eq!(
            parse_memory("512"),
            Err(SizeError::TooSmall("512 bytes".into()))
        );
        assert_eq!(parse_memory("32M"), Ok(32 * MIB));
    }

    #[test]
    fn unaligned_memory_names_its_neighbours() {
        let error = parse_memory("513M").unwrap_err();
        assert_eq!(
            error.to_string(),
            "513M is not a multiple of 2 MiB; the nearest are 512M and 514M"
        );
    }

    #[test]
    fn display_reads_back() {
        for bytes in [32 * MIB, 3 * GIB, TIB, 5 * KIB] {
            assert_eq!(parse(&display(bytes)), Ok(bytes));
        }
    }
}
