"""Interrupted chains, and the example of a body in two orthoses (fig. 4 to 6)."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.literature.examples import mechanics_example
from benchmarks.literature.popovic.constraints import ROD, rods
from benchmarks.literature.statements import Statement, undecidable
from benchmarks.measures import max_abs
from dynamics.mechanics.chains import (
    Assembly,
    Attachment,
    Chain,
    ChainsResult,
    FreeBase,
    PinClosure,
    simulate_chains,
)


def example() -> dict[str, Any]:
    """Return the names of `examples/mechanics/three_chains.py`."""
    return mechanics_example("three_chains")


@cache
def driven() -> ChainsResult:
    """Return the motion of the example."""
    return example()["simulate"]()


def in_parts(count: int, parts: int, closed: bool = False) -> Assembly:
    """Return a row of rods in parts, the first on the ground; closed, pins join the parts."""
    cuts = np.array_split(np.arange(count), parts)
    chains = tuple(
        Chain(f"part {k}", tuple(rods(count)[i] for i in cut), (0.0, 0.0) if k == 0 else FreeBase())
        for k, cut in enumerate(cuts)
    )
    end, start = np.array([ROD.length, 0.0]), np.zeros(2)
    pins = tuple(
        PinClosure(f"pin {k}", (f"part {k}", f"rod {left[-1]}"), end,
                   (f"part {k + 1}", f"rod {right[0]}"), start)
        for k, (left, right) in enumerate(pairwise(cuts))
    )  # fmt: skip
    return Assembly(chains, closures=pins if closed else ())


def closed_again() -> float:
    """Return how far accelerations of a row in two parts, pinned, are from the whole [rad/s²]."""
    angles, rates = np.array([-1.2, -1.7, -0.9, -1.4]), np.array([1.0, -2.0, 0.5, 1.5])
    whole = in_parts(4, 1)
    spin = ROD.length * np.exp(1j * angles[:2])
    place, speed = spin.sum(), (1j * spin * rates[:2]).sum()
    bases = (np.array([each.real, each.imag]) for each in (place, speed))
    state = (
        np.concatenate([each, base]) for each, base in zip((angles, rates), bases, strict=True)
    )
    found = in_parts(4, 2, closed=True).accelerations(0.0, *state)[:4]
    return max_abs(found - whole.accelerations(0.0, angles, rates))


def interrupted() -> Statement:
    count = 6
    sizes = [len(in_parts(count, parts).coordinate_names) for parts in range(1, count + 1)]
    more = [2 * (size - count) for size in sizes]
    off = closed_again()
    return Statement(
        "after eq. 11",
        "the algorithm is the same for interrupted chains: the state has 2(N - n) more entries, "
        "position and velocity of one centre of mass in every part but one",
        f"n = {count} in 1 to {count} parts: {', '.join(map(str, more))} more entries; two parts "
        f"pinned together move as the whole within {off:.0e} rad/s²",
        more == [4 * (parts - 1) for parts in range(1, count + 1)] and off < 1e-9,
        "the part without such entries is the part on the ground; if all float, N = 3n of the "
        "range is reached",
    )


def trees(system: Assembly) -> list[list[str]]:
    """Return the names of the chains of every kinematic chain; attached chains are branches."""
    found = {
        each.name: [each.name] for each in system.chains if not isinstance(each.base, Attachment)
    }
    for each in system.chains:
        if isinstance(each.base, Attachment):
            found[each.base.chain].append(each.name)
    return list(found.values())


def order_of_steps() -> float:
    """Return the order at which the end of 0.02 s of the example converges over the step."""
    names = example()
    start = names["start"]()
    ends = [
        simulate_chains(names["assembly"](), [0.0, 0.02], **start, method="RK4", step=step).angles[
            -1
        ]
        for step in (2.5e-4, 1.25e-4, 6.25e-5)
    ]
    coarse, fine = (np.linalg.norm(b - a) for a, b in pairwise(ends))
    return float(np.log2(coarse / fine))


def linked_segments(system: Assembly) -> list[tuple[str, str]]:
    """Return the names of the segments that links join, without the chains."""
    return [(each.first[1], each.second[1]) for each in system.links]


def orthoses() -> Statement:
    system, found, names = example()["assembly"](), driven(), example()
    groups, pairs = trees(system), linked_segments(system)
    segments = len(system.columns)
    steps = np.diff(names["TIMES"])
    load = found.base_forces[:, :, 1]
    order = order_of_steps()
    return Statement(
        "fig. 4, example",
        "16 segments in three chains: the body in lasting contact with the ground, its segments 1 "
        "to 8 on a table of angles at equal steps; two orthoses without contact, segment linked to "
        "segment; Runge-Kutta method of order 4",
        f"`three_chains.py`: {len(groups)} kinematic chains, {segments} segments, "
        f"{len(system.coordinate_names)} coordinates besides the table of "
        f"{names['TABLE'].shape[1]} angles at {len(steps) + 1} instants; {len(pairs)} links; "
        f"ground force on the body {load[:, 0].min():.0f} to {load[:, 0].max():.0f} N, on the "
        f"orthoses {max_abs(load[:, 3:]):.0e} N; halving the step: order {order:.1f}",
        (len(groups), segments, names["TABLE"].shape[1]) == (3, 16, 8)
        and len(pairs) == 8 and all(a == b for a, b in pairs)
        and np.allclose(steps, steps[0], rtol=1e-9) and load[:, 0].min() > 0.0
        and max_abs(load[:, 3:]) < 1e-8 and abs(order - 4.0) < 0.6,
        "the document gives no lengths, masses, links or angles, and fig. 4 is missing: ours are "
        "shares of Winter (2009) and a step by hand, feet, shanks, thighs, pelvis and trunk",
    )  # fmt: skip


def results() -> Statement:
    names, found = example(), driven()
    later = names["TIMES"] >= names["TAKEN"]
    legs = [1, 2, 3, 5, 6, 7]
    peaks = np.abs(found.torques).max(axis=0)
    alone = max_abs(names["alone"]().torques[later][:, legs])
    left = max_abs(found.torques[later][:, legs])
    forces = np.linalg.norm(found.joint_forces, axis=-1).max(axis=0)
    link = np.linalg.norm(found.link_forces, axis=-1).max()
    turned = found.angles[:, 8:] - found.angles[:, :8]
    slip = np.degrees(max_abs(turned - turned[0]))
    torques = ", ".join(f"{name} {peaks[k]:.0f}" for name, k in names["JOINTS"].items())
    return undecidable(
        "fig. 5 and 6, results",
        "driving torques in the joints of the orthosis and its motion, largest loads of the outer "
        "and inner skeleton, forces on the body; other methods agree satisfactorily",
        "fig. 6 and the results of the other methods are missing, and the document does not state "
        "how muscles and orthosis share the torques",
        f"the orthoses take the torques of the legs: {torques} N m; the largest that the legs "
        f"need, {alone:.0f} N m, becomes {left:.0f} N m; the orthoses turn by up to {slip:.1f}° "
        f"on the body; forces in the joints of the body up to {forces[:8].max():.0f} N, in those "
        f"of the orthoses {forces[8:].max():.0f} N, of a link {link:.0f} N",
    )


STATEMENTS = (
    interrupted,
    orthoses,
    results,
)
