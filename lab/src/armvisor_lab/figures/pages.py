# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`hidden_faults.4k.*`, `hidden_faults.2m.*`: faults of a VM's memory that its guest does not see.

A Debian guest boots, and reads random words in 128 MiB like `lab reach`, all with pages of 4 KiB;
once the host's pages are of 4 KiB, too, once of 2 MiB. On KVM these are the stage 2 faults, by its
tracepoint kvm_guest_fault, without those of devices; on the module those of its one stage that are
not the guest's own. Each is of one board and one VM, from start to power-off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armvisor_lab.boards.board import describe
from armvisor_lab.boards.results import all_counts
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, Progress, vms

HOST_PAGES = {"4k": "off", "2m": "thp"}
_ROW = "random-128-small"
_HIDDEN = ("dabt_hidden_translation", "dabt_hidden_permission", "pabt_hidden")
_DEVICES = ("mmio_user", "mmio_kernel")
_VARIANTS = ("kvm", "armvisor")

# The number of traced events: those in the ring buffer, and those that it had to overwrite.
_TRACED = """
at=/sys/kernel/tracing
echo >$at/trace && echo 1 >$at/events/kvm/kvm_guest_fault/enable || exit
"$@" || exit
echo 0 >$at/events/kvm/kvm_guest_fault/enable
n=0
while read -r key value; do
	case $key in entries: | overrun:) n=$((n + value)) ;; esac
done <$at/per_cpu/cpu0/stats
echo "result pages.traced $n count"
"""


def _on(variant: vms.Variant, host: str) -> vms.Variant:
    """The same with pages of the host's of one size, and with what counts its faults."""
    with_report = vms.with_report(variant)

    def command(append: str) -> list[str]:
        words = [*with_report.command(append), "--huge-pages", host]
        return ["sh", "-c", _TRACED, "sh", *words] if variant.el2 else words

    return replace(with_report, command=command)


def faults(exits: Mapping[str, int], traced: float | None) -> float:
    """The faults of a VM: by its statistics, and on KVM by the trace without those of devices.

    LabError if the trace has fewer faults than the devices had exits.
    """
    if traced is None:
        return sum(exits[name] for name in _HIDDEN)
    found = traced - sum(exits[name] for name in _DEVICES)
    if found <= 0:
        raise LabError(f"{traced:.0f} faults were traced, and devices have had more",
                       "the board's kernel lacks the tracepoint kvm_guest_fault")  # fmt: skip
    return found


def _measurement(variant: vms.Variant) -> Measurement:
    figures = tuple(f"hidden_faults.{pages}.{variant.name}" for pages in HOST_PAGES)
    appends = [f"armvisor.test=reach armvisor.rows={_ROW}"]

    def run(progress: Progress) -> Outcome:
        values: dict[str, float] = {}
        packages: Sequence[str] = ()
        for figure, host in zip(figures, HOST_PAGES.values(), strict=True):
            board, result, packages = vms.run(_on(variant, host), appends, progress)
            [exits] = vms.reports(result.text)
            traced = all_counts(result.text, "pages.traced")[0] if variant.el2 else None
            values[figure] = faults(exits, traced)
        return Outcome(values, describe(board, result.kernel), tuple(packages))

    what = f"faults of a VM's memory by the host's pages: {variant.what}"
    return Measurement(figures, what, run, unit="times", slow=variant.slow)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [_measurement(each) for each in vms.VARIANTS if each.name in _VARIANTS]
