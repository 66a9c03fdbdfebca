// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Sizes as people write them: `512M`, `2G`; `1.5G` is refused. Binary units, any case.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// 2^10 bytes.
pub const KIB: u64 = 1 << 10;
/// 2^20 bytes.
pub const MIB: u64 = 1 << 20;
/// 2^30 bytes.
pub const GIB: u64 = 1 << 30;
/// 2^40 bytes.
pub const TIB: u64 = 1 << 40;

/// Guest memory comes in blocks of this size: the mapping, the guest address and the length are all
/// multiples of it, so that host huge pages can back all of it.
pub const MEMORY_BLOCK: u64 = 2 * MIB;

/// A stock distribution kernel needs 30 MiB for itself before it has run an instruction.
pub const MEMORY_MIN: u64 = 32 * MIB;

/// Why a size is refused. Its text ends a sentence that begins with what the user wrote.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SizeError {
    /// Not a whole number with a unit.
    #[error("is not a size; write a whole number with a unit, such as 512M or 2G")]
    Syntax,
    /// More than 64 bits.
    #[error("is more than 64 bits can count; write a smaller size")]
    Overflow,
    /// A number without a unit; the user probably meant MiB.
    #[error("is {0} bytes, for it has no unit; did you mean {0}M?")]
    NoUnit(u64),
    /// No memory at all.
    #[error("no VM runs without memory; give it at least 32M")]
    Zero,
    /// Less than [`MEMORY_MIN`].
    #[error("is too small for a kernel and its initrd; give it at least 32M (512M suits Debian)")]
    TooSmall,
    /// Not a multiple of [`MEMORY_BLOCK`].
    #[error("is not a multiple of 2 MiB; the nearest are {below} and {above}")]
    Unaligned {
        /// The next smaller size that would do.
        below: String,
        /// The next larger one.
        above: String,
    },
}

/// A unit that a size is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// 1 byte.
    Bytes,
    /// [`KIB`].
    K,
    /// [`MIB`].
    M,
    /// [`GIB`].
    G,
    /// [`TIB`].
    T,
}

/// From the largest down.
const UNITS: [(Unit, u64, &str); 5] = [
    (Unit::T, TIB, "T"),
    (Unit::G, GIB, "G"),
    (Unit::M, MIB, "M"),
    (Unit::K, KIB, "K"),
    (Unit::Bytes, 1, " bytes"),
];

/// A size as someone wrote it, and as they are shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The size.
    pub bytes: u64,
    /// The unit in which it is shown.
    pub unit: Unit,
}

impl Size {
    /// Another number of bytes in this one's unit, with a digit after the point where it is not whole;
    /// in a smaller unit what is less than one.
    pub fn beside(&self, bytes: u64) -> String {
        let units = UNITS.iter().skip_while(|(unit, ..)| *unit != self.unit);
        let fits = units.copied().find(|(_, factor, _)| bytes >= *factor);
        let Some((_, factor, name)) = fits else {
            return format!("{bytes} bytes");
        };
        let (whole, rest) = (bytes / factor, bytes % factor);
        if rest == 0 {
            return format!("{whole}{name}");
        }
        // Rounded down: a message must not promise more than is left.
        format!(
            "{whole}.{}{name}",
            u128::from(rest) * 10 / u128::from(factor)
        )
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.beside(self.bytes))
    }
}

/// A number of bytes that nobody wrote, in MiB or less.
pub fn in_mib(bytes: u64) -> String {
    let unit = Unit::M;
    Size { bytes, unit }.to_string()
}

/// Parses a size with an optional unit K, M, G or T (also `KiB`, `MB`, ...: all binary).
pub fn parse(text: &str) -> Result<Size, SizeError> {
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    if digits.is_empty() {
        return Err(SizeError::Syntax);
    }
    let (unit, factor) = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => (Unit::Bytes, 1),
        "k" | "kb" | "kib" => (Unit::K, KIB),
        "m" | "mb" | "mib" => (Unit::M, MIB),
        "g" | "gb" | "gib" => (Unit::G, GIB),
        "t" | "tb" | "tib" => (Unit::T, TIB),
        _ => return Err(SizeError::Syntax),
    };
    let number: u64 = digits.parse().map_err(|_| SizeError::Overflow)?;
    let bytes = number.checked_mul(factor).ok_or(SizeError::Overflow)?;
    Ok(Size { bytes, unit })
}

/// Parses the size of a part of a guest's memory. Bytes without a unit that are less than a MiB are
/// somebody's MiB.
pub fn parse_part(text: &str) -> Result<Size, SizeError> {
    let size = parse(text)?;
    let bare = text.bytes().all(|byte| byte.is_ascii_digit());
    if bare && (1..MIB).contains(&size.bytes) {
        return Err(SizeError::NoUnit(size.bytes));
    }
    Ok(size)
}

/// Parses the size of a guest's memory and applies the rules that need no knowledge of the host.
pub fn parse_memory(text: &str) -> Result<Size, SizeError> {
    let size = parse_part(text)?;
    if size.bytes == 0 {
        return Err(SizeError::Zero);
    }
    if size.bytes < MEMORY_MIN {
        return Err(SizeError::TooSmall);
    }
    if size.bytes % MEMORY_BLOCK != 0 {
        let below = size.bytes - size.bytes % MEMORY_BLOCK;
        // In whole units, so that a user can type it.
        let typed = |bytes: u64| {
            let units = UNITS.iter().skip_while(|(unit, ..)| *unit != size.unit);
            let mut whole = units.filter(|(_, factor, _)| bytes.is_multiple_of(*factor));
            let (_, factor, name) = whole.next().unwrap_or(&UNITS[4]);
            format!("{}{}", bytes / factor, name.trim_start_matches(" bytes"))
        };
        return Err(SizeError::Unaligned {
            below: typed(below),
            above: typed(below.saturating_add(MEMORY_BLOCK)),
        });
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(bytes: u64, unit: Unit) -> Size {
        Size { bytes, unit }
    }

    #[test]
    fn units_are_binary_and_case_does_not_matter() {
        assert_eq!(parse("512M"), Ok(size(512 * MIB, Unit::M)));
        assert_eq!(parse("512m"), Ok(size(512 * MIB, Unit::M)));
        assert_eq!(parse("2GiB"), Ok(size(2 * GIB, Unit::G)));
        assert_eq!(parse("1T"), Ok(size(TIB, Unit::T)));
        assert_eq!(parse("4096"), Ok(size(4096, Unit::Bytes)));
    }

    #[test]
    fn sizes_are_shown_as_they_were_typed() {
        for text in ["2048M", "2G", "1T", "5120K"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("1024kib").unwrap().to_string(), "1024K");
        assert_eq!(parse("4096").unwrap().to_string(), "4096 bytes");
        assert_eq!(parse("0M").unwrap().to_string(), "0 bytes");
    }

    #[test]
    fn other_sizes_are_shown_beside_it() {
        let typed = parse("64G").unwrap();
        assert_eq!(typed.beside(3 * GIB), "3G");
        assert_eq!(typed.beside(3 * GIB - 1), "2.9G");
        assert_eq!(typed.beside(700 * MIB), "700M");
        assert_eq!(typed.beside(12), "12 bytes");
        assert_eq!(parse("1K").unwrap().beside(GIB), "1048576K");
        assert_eq!(in_mib(GIB + MIB / 2), "1024.5M");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "M", "-1G", "1.5G", "2 G", "2X", "0x10M", "١M"] {
            assert_eq!(parse(text), Err(SizeError::Syntax), "{text}");
        }
        for text in ["18446744073709551616", "16777216T"] {
            assert_eq!(parse(text), Err(SizeError::Overflow), "{text}");
        }
    }

    #[test]
    fn memory_has_a_least_size() {
        assert_eq!(parse_memory("0"), Err(SizeError::Zero));
        assert_eq!(parse_memory("0G"), Err(SizeError::Zero));
        assert_eq!(parse_memory("30M"), Err(SizeError::TooSmall));
        assert_eq!(parse_memory("512K"), Err(SizeError::TooSmall));
        assert_eq!(parse_memory("32M"), Ok(size(32 * MIB, Unit::M)));
    }

    #[test]
    fn a_number_without_a_unit_is_asked_about() {
        let error = parse_memory("512").unwrap_err().to_string();
        assert_eq!(
            error,
            "is 512 bytes, for it has no unit; did you mean 512M?"
        );
        assert_eq!(parse_part("128"), Err(SizeError::NoUnit(128)));
        for bytes in ["0", "512b", "1048576"] {
            assert!(parse_part(bytes).is_ok(), "{bytes}");
        }
    }

    #[test]
    fn unaligned_memory_names_its_neighbours() {
        let error = parse_memory("513M").unwrap_err();
        assert_eq!(
            error.to_string(),
            "is not a multiple of 2 MiB; the nearest are 512M and 514M"
        );
        let cases = [
            ("1048577K", "1048576K and 1050624K"),
            ("33554433", "33554432 and 35651584"),
        ];
        for (text, nearest) in cases {
            let error = parse_memory(text).unwrap_err().to_string();
            assert!(error.ends_with(nearest), "{error}");
        }
    }
}
