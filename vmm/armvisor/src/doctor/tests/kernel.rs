// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use super::*;

const WHAT_THE_MODULE_REFUSES: &[Case] = &[
    ("config", |_| {}, Fine, ""),
    ("config", |m| m.config = None, Unknown, "headers"),
    ("release", |_| {}, Fine, "6.12.9-arm64"),
    (
        "release",
        |m| m.release = "5.13.19".into(),
        Bad,
        "builds for 5.14 and later",
    ),
    (
        "release",
        |m| m.release = "5.14.0-570.el9".into(),
        Warn,
        "not tried",
    ),
    ("release", |m| m.release = "6.1.0".into(), Fine, ""),
    ("release", |m| m.release = "6.8.0".into(), Warn, "not tried"),
    (
        "release",
        |m| m.version = "#6-Ubuntu SMP".into(),
        Warn,
        "not tried",
    ),
    ("release", |m| m.release = "odd".into(), Unknown, ""),
    ("asid", |m| m.release = "4.19.0".into(), Bad, "TTBR0"),
    ("asid", |m| m.release = "5.0.0".into(), Fine, ""),
    (
        "page_size",
        |m| m.page_size = 65536,
        Bad,
        "than 4 KiB (64 KiB)",
    ),
    ("page_size", |m| m.page_size = 1, Bad, "1 bytes"),
    ("page_size", |m| m.page_size = 0, Unknown, "getconf"),
    ("granule", |_| {}, Fine, ""),
    ("granule", |m| m.page_size = 16384, Unknown, ""),
    ("address_bits", |_| {}, Fine, ""),
    (
        "address_bits",
        |m| m.address_bits = Some(42),
        Bad,
        "(42 bits) / boot one built with ARM64_VA_BITS=48",
    ),
    ("address_bits", |m| m.address_bits = Some(39), Fine, "39"),
    ("address_bits", |m| m.address_bits = Some(52), Fine, "52"),
    (
        "address_bits",
        |m| m.address_bits = None,
        Unknown,
        "ARM64_VA_BITS",
    ),
    (
        "address_bits",
        |m| {
            m.address_bits = None;
            set(m, "ARM64_VA_BITS", "52");
        },
        Fine,
        "",
    ),
    (
        "address_bits",
        |m| {
            m.address_bits = None;
            set(m, "ARM64_VA_BITS", "48");
        },
        Fine,
        "",
    ),
    ("realtime", |_| {}, Fine, ""),
    (
        "realtime",
        |m| m.version = "#1 SMP PREEMPT_RT Debian".into(),
        Bad,
        "spinlocks sleep",
    ),
    ("realtime", |m| put(m, REALTIME, "1\n"), Bad, ""),
    ("realtime", |m| set(m, "PREEMPT_RT", "y"), Bad, ""),
    (
        "pseudo_nmi",
        |m| put(m, CMDLINE, "irqchip.gicv3_pseudo_nmi=1"),
        Bad,
        "boot without irqchip.gicv3_pseudo_nmi=1",
    ),
    (
        "pseudo_nmi",
        |m| {
            put(
                m,
                CMDLINE,
                "irqchip.gicv3_pseudo_nmi=1 irqchip.gicv3_pseudo_nmi=0",
            )
        },
        Fine,
        "",
    ),
    (
        "pseudo_nmi",
        |m| {
            set(m, "ARM64_PSEUDO_NMI", "y");
            put(m, CMDLINE, "irqchip.gicv3_pseudo_nmi=y");
        },
        Bad,
        "",
    ),
    (
        "pseudo_nmi",
        |m| log(m, &["CPU features: detected: IRQ priority masking"]),
        Bad,
        "",
    ),
    ("sdei", |_| {}, Fine, ""),
    (
        "sdei",
        |m| names(m, SDEI_DRIVER, &["bind", "sdei.0"]),
        Bad,
        "sdei.0",
    ),
    ("sdei", |m| m.folders.clear(), Fine, ""),
];

#[test]
fn what_the_module_refuses() {
    check(WHAT_THE_MODULE_REFUSES);
    // A kernel whose configuration is known not to have pseudo-NMIs ignores the parameter.
    let mut m = good();
    put(&mut m, CMDLINE, "irqchip.gicv3_pseudo_nmi=1");
    m.config = None;
    assert_eq!(ask("pseudo_nmi", &m).verdict, Bad);
}
