# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A row of `lat` in another configuration: native, and its traps at the cost of each kind.

The VM's statistics give the number of a row's traps by kind (`traps.ROW.*`). A bare-metal guest
that does nothing else gives the cost of a trap of each kind (`units.*`, and `hypercall.*` for an
exit that is answered at once). Nothing is fitted: neither depends on the cost of the row. Kinds
without a cost count as free, and are named.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from armvisor_lab.errors import LabError, remedy
from armvisor_lab.figures import lat, traps, units
from armvisor_lab.model.record import Record

WITHIN = 10.0  # percent

Costs = Mapping[str, float]

# Registers that the window handles in its general way.
_WINDOW = (
    "daif", "tcr_el1", "far_el1", "esr_el1", "elr_el1", "spsr_el1", "cntv_ctl_el0",
    "cntv_cval_el0", "icc_iar1_el1", "icc_eoir1_el1", "icc_pmr_el1", "midr_el1", "tpidr_el0",
    "tpidr_el1", "tpidrro_el0", "contextidr_el1", "sp_el0", "par_el1", "vbar_el1", "spsel",
    "currentel", "cntvct_el0",
)  # fmt: skip
# Exits that the module's C code answers at once.
_EXITS = (
    "sysreg", "id_reg", "pstate", "cache_op", "gic_reg", "timer_reg", "fp_first_use", "svc",
    "eret", "undef", "hvc", "exception_reg", "translation_reg", "wfi", "wfe",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A row's prediction, in instructions an operation.

    `traps` has for each kind how many there are, and their cost in all.
    """

    name: str
    native: float
    counted: float
    traps: Mapping[str, tuple[float, float]]
    unknown: Mapping[str, float] = field(default_factory=dict)
    own: float | None = None  # the guest's own instructions, if counted

    @property
    def added(self) -> float:
        """The predicted cost of all traps, in instructions."""
        return sum(cost for _, cost in self.traps.values())

    @property
    def predicted(self) -> float:
        """The predicted row: native and its traps, in instructions."""
        return self.native + self.added

    @property
    def error(self) -> float:
        """The prediction's error, in percent of the counted instructions."""
        return (self.predicted / self.counted - 1) * 100

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        kinds = {kind: {"times": times, "cost": cost} for kind, (times, cost) in self.traps.items()}
        return {
            "row": self.name, "native": self.native, "predicted": self.predicted,
            "counted": self.counted, "error_percent": self.error, "traps": kinds,
            "traps_without_cost": dict(self.unknown), "guest_own": self.own,
        }  # fmt: skip


def _unit(record: Record, operation: str) -> float:
    """What an operation's traps cost: what it takes more than where it does not trap."""
    here, there = (record.figure(f"units.{operation}.{who}") for who in ("armvisor", "kvm-nvhe"))
    return here.value - there.value


def _armvisor(record: Record) -> Costs:
    """The cost of a trap of each kind. A system call is a trap in and one out, half of it each."""
    half = _unit(record, "svc") / 2
    hidden = _unit(record, "refill") - _unit(record, "tlbi-va")
    asid = _unit(record, "tlbi-asid")
    # All pages of the first place, and one of each other place.
    many = _unit(record, "refill-many")
    place = (_unit(record, "refill-places") - many) / (units.PLACES - 1) - hidden
    fetch = _unit(record, "refill-code") - asid - 2 * half - place
    fill = (many - asid - hidden - place) / (units.PAGES - 1)
    ttbr = _unit(record, "ttbr0") / 2
    space = _unit(record, "other-space") - ttbr - 2 * half
    # One that the window answers, and one of virtual EL1, which it never answers.
    window, true = (_unit(record, f"{level}-abort") - half for level in ("user", "kernel"))
    costs = {
        "fast_svc": half, "fast_eret_el0": half, "fast_eret": half,
        "dabt_guest": true, "pabt_guest": true, "fast_dabt": window, "fast_pabt": window,
        "dabt_hidden_translation": hidden, "dabt_hidden_permission": hidden, "pabt_hidden": fetch,
        "fill": fill, "tlbi_va": _unit(record, "tlbi-va"), "tlbi_asid": asid,
        "fast_ttbr0_el1": ttbr, "fast_ttbr1_el1": ttbr, "tree_miss": space, "place": place,
        "fast_brk": half, "fast_undef": half,
        "mmio_user": record.figure("mmio_user.armvisor").value,
        "mmio_kernel": record.figure("mmio_kernel.armvisor").value,
    }  # fmt: skip
    costs["translation_reg"] = _unit(record, "other-pair")
    costs |= dict.fromkeys((f"fast_{name}" for name in _WINDOW), _unit(record, "timer"))
    call = record.figure("hypercall.armvisor").value
    return dict.fromkeys(_EXITS, call) | costs


_ARMVISOR_TRAPS = (
    "fast_svc", "fast_eret_el0", "fast_eret", "fast_brk", "fast_undef",
    "fast_ttbr0_el1", "fast_ttbr1_el1",
    *(f"fast_{name}" for name in _WINDOW),
    "dabt_guest", "pabt_guest", "fast_dabt", "fast_pabt",
    "dabt_hidden_translation", "dabt_hidden_permission", "pabt_hidden", "tree_miss",
    "mmio_user", "mmio_kernel", *_EXITS,
)  # fmt: skip
# Kinds that have a statistic but no row above.
_ARMVISOR_OTHERS = ("sp_el0", "tpidr", "at", "debug", "alignment", "smc_exit_stat", "other")
# Classes and kinds that are no trap of a row: the host's interrupts, those counted as `hvc`, the
# sum of the fast kinds, and TLBIs, which the plugin's counts tell apart.
ELSEWHERE = ("host_irq", "serror", "signal", "fast_hvc", "fast", "tlbi")
ARMVISOR_KINDS = (*_ARMVISOR_TRAPS, *_ARMVISOR_OTHERS)


def _armvisor_kinds(record: Record, row: str, counts: Costs) -> dict[str, float]:
    """A row's traps by kind: TLBIs as the guest executed them, entries beside a fault's own."""
    found = {name: counts.get(name, 0.0) for name in ARMVISOR_KINDS}
    # The cost of a new root includes the exit that writes its address.
    found["translation_reg"] -= found["tree_miss"]
    for name in ("dabt", "pabt"):
        found[f"{name}_guest"] -= found[f"fast_{name}"]
    faults = sum(found[name] for name in found if "hidden" in name)
    found["fill"] = max(counts.get("shadow_fill", 0.0) - faults, 0.0)
    by = record.classes(f"lat.{row}.armvisor").tlbi.get("guest-kernel", {})
    asid = by.get("asid", 0.0)
    found["tlbi_asid"] = asid
    # After it a process finds the tables of each of its places anew, if it uses that place at all.
    found["place"] = min(asid * units.PLACES, faults)
    found["tlbi_va"] = max(counts.get("tlbi", 0.0) - asid, 0.0)
    return found


def _kvm(record: Record) -> Costs:
    """An exit that neither user space nor a device has to do with costs what a call does."""
    return {
        "exits": record.figure("hypercall.kvm-nvhe").value,
        "mmio_kernel": record.figure("mmio_kernel.kvm-nvhe").value,
        "mmio_user": record.figure("mmio_user.kvm-nvhe").value,
    }


def _kvm_kinds(_record: Record, _row: str, counts: Costs) -> dict[str, float]:
    mmio = {name: counts.get(name, 0.0) for name in ("mmio_kernel", "mmio_user")}
    return {"exits": traps.total(counts, "kvm") - sum(mmio.values()), **mmio}


@dataclass(frozen=True)
class Configuration:
    """Where a row is predicted for: costs of traps by kind, and a row's traps by kind."""

    name: str
    costs: Callable[[Record], Costs]
    kinds: Callable[[Record, str, Costs], dict[str, float]]


CONFIGURATIONS = {
    each.name: each
    for each in (
        Configuration("kvm", _kvm, _kvm_kinds),
        Configuration("armvisor", _armvisor, _armvisor_kinds),
    )
}


def _own(record: Record, name: str) -> float | None:
    counted = record.figure(name).classes
    if counted is None:
        return None
    return sum(sum(counted.insns.get(who, {}).values()) for who in ("guest-user", "guest-kernel"))


def predict(configuration: Configuration, record: Record, row: str) -> Row:
    """A row's prediction."""
    costs = configuration.costs(record)
    name = f"lat.{row}.{configuration.name}"
    counts: Costs = {} if row == traps.NONE else record.traps(f"traps.{row}.{configuration.name}")
    if record.figure(name).value <= 0:
        raise LabError(f"the record has nothing counted of {name}", "measure it again")
    kinds = configuration.kinds(record, row, counts)
    # A negative difference of two guests' boots does not belong to the row.
    there = {kind: times for kind, times in kinds.items() if times > 0}
    return Row(
        row,
        record.figure(f"lat.{row}.native").value,
        record.figure(name).value,
        {kind: (times, times * costs[kind]) for kind, times in there.items() if kind in costs},
        {kind: times for kind, times in there.items() if kind not in costs},
        _own(record, name),
    )


def choose(names: Sequence[str]) -> list[str]:
    """Rows of `lat` by name; all of them without one."""
    for name in names:
        if name not in lat.ROWS:
            raise LabError(f"no row is called {name!r}", remedy(name, lat.ROWS))
    return list(dict.fromkeys(names)) or list(lat.ROWS)
