"""Data of the section in which the surrogate and the simulator of a run are computed by the page.

The page calls the library of `foundation/core` and `dynamics/core`, compiled to WebAssembly
(`make wasm`), so that no number is computed in two ways.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np

from dynamics.core.rosenbrock import DISLOCATED, STEP_TOO_SMALL, STOPPED, TOO_MANY_STEPS
from dynamics.core.tableaus import TABLEAUS
from dynamics.simulator.integrator import prepared
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import COORDINATES
from foundation.core.building import PAGE_LIBRARY
from foundation.core.image import BASE, STRUCTS_32, Image
from foundation.core.library import FARTHEST, TOLERANCE, Struct
from pipeline.files import plain
from pipeline.simulation import GaitSimulation
from surrogates.formulations.contact_surrogate import ContactSurrogate

#: Flexion of the pose that the page begins with [deg].
_BEGIN = 20.0
#: Flags by the variable that is beyond its range: words, with a place for the distance.
_WORDS = {
    **{
        f"outside_{name}": f"{name} {{}} {unit} outside the trained domain"
        for name, unit in (
            ("flexion", "°"), ("adduction", "°"), ("rotation", "°"), ("anterior", "mm"),
            ("lateral", "mm"), ("superior", "mm"),
        )
    },
    "outside_load": "axial load {} N beyond the trained domain",
    "outside_samples": "loads like these are no part of the samples ({} times the limit)",
}  # fmt: skip
#: The same of each variable.
_KINDS = [
    f"outside_{name}"
    for name in ("flexion", "adduction", "rotation", "anterior", "lateral", "load", "samples")
]
#: Loads of a cycle by their name in the page.
_LOADS = {"axial": "axial_force", "ap": "ap_force", "torque": "internal_torque"}
_OUTCOMES = {
    STEP_TOO_SMALL: "the integrator stopped: its step collapsed",
    TOO_MANY_STEPS: "the end of the cycle is not reached",
    DISLOCATED: "the knee dislocated: nothing balances the applied loads",
    STOPPED: "the motion left the trained domain",
}


def live_data(knee: ContactSurrogate, gait: GaitSimulation) -> dict[str, Any] | None:
    """Return the surrogate and the gait cycle of a run for the page, None unless it is a knee."""
    if knee.compartments != COMPARTMENTS:
        return None
    config, image = gait.config, Image()
    equations, limits, _, times, percent = prepared(
        knee, gait.simulator, gait.cycle, cycles=config.cycles, samples=config.samples,
        rtol=config.relative_tolerance, start=gait.start,
    )  # fmt: skip
    parts, scratch = image.pointers(knee.packed.parts), image.room(knee.packed.scratch)
    problem = image.struct(equations.problem.packed)
    simulation = STRUCTS_32["simulation"]
    trained = Struct("trained", {"parts": parts, "stops": 0, "scratch": scratch})
    bounds = Struct("step_limits", {**limits._asdict(), "sizes": len(limits.size)})
    addresses = {
        "parts": parts,
        "scratch": scratch,
        "problem": problem,
        "trained": image.struct(trained),
        "tableau": image.struct(TABLEAUS[config.method].packed),
        "limits": image.struct(bounds),
        "mass": image.array(equations.problem.mass),
        "times": image.array(times),
    }
    content = image.content
    coefficients = simulation.from_buffer_copy(content, problem - BASE).pieces
    rows = {name: COORDINATES.index(name) for name in COORDINATES}
    return dict(plain({
        **addresses,
        "pieces": coefficients,
        "knots": len(equations.problem.breaks) - 1,
        "fields": {n: getattr(simulation, n).offset for n in ("reference", "offset", "stiffness")},
        "base": BASE,
        "image": _packed(content),
        "wasm": base64.b64encode(PAGE_LIBRARY.read_bytes()).decode("ascii"),
        "count": len(times),
        "percent": percent,
        "free": [rows[name] for name in equations.free],
        "inertial": [rows[name] for name in equations.inertial],
        "compartments": knee.compartments,
        "outcomes": _OUTCOMES,
        "begin": knee.reference_pose(_BEGIN).array,
        "path": {
            "flexion": knee.spaces[0].path.flexion, "pieces": knee.spaces[0].path.pieces,
        },
        "flexion": knee.spaces[0].flexion,
        "offsets": np.max([space.offsets for space in knee.spaces], axis=0),
        "half": [space.centre_and_half[1] for space in knee.spaces],
        "load": [space.load[1] for space in knee.spaces],
        "words": _WORDS,
        "kinds": _KINDS,
        "farthest": FARTHEST,
        "tolerance": TOLERANCE,
        "driven": ["flexion", *(short for short, name in _LOADS.items()
                                if name in gait.cycle.signals)],
    }))  # fmt: skip


def _packed(content: bytes) -> str:
    """Return bytes for a page, compressed, the same ones each time."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")
