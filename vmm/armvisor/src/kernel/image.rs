// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The header of an arm64 kernel `Image` (Documentation/arch/arm64/booting.rst), and names for
//! other formats.

/// Old kernels (before 3.17) leave the size out and mean this offset.
const OLD_TEXT_OFFSET: u64 = 0x8_0000;
const HEADER: usize = 64;
const PE_MACHINE_ARM64: u16 = 0xaa64;

/// The page size that a kernel was built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// Old kernels do not say.
    Unknown,
    /// 4 KiB.
    Kib4,
    /// 16 KiB.
    Kib16,
    /// 64 KiB.
    Kib64,
}

impl PageSize {
    /// The size in KiB. None if it is unknown.
    pub fn kib(self) -> Option<u32> {
        match self {
            PageSize::Unknown => None,
            PageSize::Kib4 => Some(4),
            PageSize::Kib16 => Some(16),
            PageSize::Kib64 => Some(64),
        }
    }

    /// Whether a CPU with this ID_AA64MMFR0_EL1 can run it.
    pub fn on_cpu(self, mmfr0: u64) -> bool {
        let field = |shift: u32| mmfr0 >> shift & 0xf;
        match self {
            PageSize::Unknown => true,
            PageSize::Kib4 => field(28) != 0xf,
            PageSize::Kib16 => field(20) != 0,
            PageSize::Kib64 => field(24) != 0xf,
        }
    }
}

/// The header of an arm64 Image (Linux, Documentation/arch/arm64/booting.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where the kernel wants to be, from a 2 MiB boundary.
    pub text_offset: u64,
    /// Memory that it owns from there, zeroed data and all; 0 in old kernels.
    pub image_size: u64,
    /// Bits 1 and 2 of the header's flags.
    pub page_size: PageSize,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl Header {
    /// Reads the header from the start of a kernel; what is not an arm64 Image is named.
    pub fn parse(head: &[u8]) -> Result<Self, String> {
        if head.get(56..60) != Some(b"ARM\x64") {
            return Err(foreign(head));
        }
        let fields = (u64_at(head, 8), u64_at(head, 16), u64_at(head, 24));
        let (Some(text_offset), Some(image_size), Some(flags)) = fields else {
            return Err(truncated());
        };
        if head.len() < HEADER {
            return Err(truncated());
        }
        if flags & 1 != 0 {
            return Err("is a big-endian kernel; armvisor runs little-endian ones".into());
        }
        let page_size = match flags >> 1 & 3 {
            1 => PageSize::Kib4,
            2 => PageSize::Kib16,
            3 => PageSize::Kib64,
            _ => PageSize::Unknown,
        };
        if image_size == 0 {
            return Ok(Header {
                text_offset: OLD_TEXT_OFFSET,
                image_size,
                page_size,
            });
        }
        if text_offset % 4096 != 0 || text_offset >= 2 << 20 {
            return Err(format!(
                "has an impossible text offset of {text_offset:#x} in its header"
            ));
        }
        Ok(Header {
            text_offset,
            image_size,
            page_size,
        })
    }

    /// Memory that the kernel needs from its text offset on.
    pub fn memory_size(&self, file_len: u64) -> u64 {
        self.image_size.max(file_len)
    }

    /// Refuses a file that ends before the sections that its own (PE) header lists.
    pub fn check_length(&self, head: &[u8], len: u64) -> Result<(), String> {
        match pe_end(head) {
            Some(end) if end > len => {
                Err(format!("is truncated: {len} bytes of {end}; copy it again"))
            }
            _ => Ok(()),
        }
    }

    /// An unpacked kernel cannot be nearly nothing.
    pub fn check_length_of_unpacked(&self, len: u64) -> Result<(), String> {
        if len <= HEADER as u64 {
            Err(truncated())
        } else {
            Ok(())
        }
    }
}

fn truncated() -> String {
    "is truncated: it ends inside its header; copy it again".into()
}

/// Where the last section of a PE file ends; None where this is no (whole) PE header.
fn pe_end(head: &[u8]) -> Option<u64> {
    let pe = pe_header(head)?;
    let sections = usize::from(u16_at(head, pe + 6)?);
    let optional = usize::from(u16_at(head, pe + 20)?);
    let table = pe + 24 + optional;
    let ends = (0..sections).map(|index| {
        let row = table + index * 40;
        let size = u64::from(u32_at(head, row + 16)?);
        Some(u64::from(u32_at(head, row + 20)?) + size)
    });
    ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

fn pe_header(head: &[u8]) -> Option<usize> {
    let pe = usize::try_from(u32_at(head, 60)?).ok()?;
    (head.starts_with(b"MZ") && head.get(pe..pe.checked_add(4)?)? == b"PE\0\0").then_some(pe)
}

/// The machine that a PE file is for, if it is one and not for arm64.
pub fn foreign_pe(head: &[u8]) -> Option<&'static str> {
    match u16_at(head, pe_header(head)? + 4)? {
        PE_MACHINE_ARM64 => None,
        0x8664 => Some("x86-64"),
        0x014c => Some("32-bit x86"),
        0x01c0 | 0x01c2 | 0x01c4 => Some("32-bit Arm"),
        0x5064 => Some("RISC-V"),
        0x6264 => Some("LoongArch"),
        _ => Some("another machine"),
    }
}

/// What a file that is no arm64 kernel is, as the end of a sentence.
fn foreign(head: &[u8]) -> String {
    const WANTED: &str = "armvisor wants an arm64 Image, such as Debian's /boot/vmlinuz-*-arm64";
    let what = if head.starts_with(b"\x7fELF") {
        let machine = match u16_at(head, 18) {
            Some(183) => "arm64 (a vmlinux?)",
            Some(62) => "x86-64",
            Some(3) => "32-bit x86",
            Some(40) => "32-bit Arm",
            Some(243) => "RISC-V",
            _ => "another machine",
        };
        format!("is an ELF file for {machine}")
    } else if head.get(0x202..0x206) == Some(b"HdrS") {
        "is an x86 bzImage".into()
    } else if u32_at(head, 36) == Some(0x016f_2818) {
        "is a 32-bit Arm zImage".into()
    } else if head.get(0x38..0x3c) == Some(b"RSC\x05") {
        "is a RISC-V kernel".into()
    } else if let Some(machine) = foreign_pe(head) {
        format!("is an EFI program for {machine}")
    } else if let Some(format) = super::compressed::other_format(head) {
        return format!(
            "is compressed with {format}, which armvisor cannot unpack; unpack it first"
        );
    } else if head.len() < HEADER {
        return truncated();
    } else {
        "is not a kernel".into()
    };
    format!("{what}; {WANTED}")
}
