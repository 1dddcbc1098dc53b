"""OpenSim-JAM's walking example, its replays and starts: `python -m benchmarks.comak`.

Agreement with OpenSim-JAM's published solution, times on one core, starts displaced by 2 mm or 2
degrees, and variations of a recorded plant against OpenSim. The tables are those of
docs/muscle_walks.md. It needs `$KNEE_DATA` and OpenSim.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.comak_reference import (
    acceleration_differences,
    agreement,
    forces_of,
    input_difference,
    jam_solution,
)
from benchmarks.frame import Rows, measured, show
from benchmarks.measures import rms
from benchmarks.timing import clocked
from dynamics.musculoskeletal import ComakResult, record_plant
from foundation.base.checks import FloatArray
from pipeline.config.reading import shipped_config
from pipeline.studies.muscle_walks.setup import WalkSetup, prepare_walk
from pipeline.studies.muscle_walks.summary import body_weight
from pipeline.studies.muscle_walks.variation import varied_walk
from pipeline.studies.muscle_walks.walk import load_muscle_walk

#: Displacements of the starts [mm or deg], starts, and distance of equal solutions [mm or deg].
_AWAY, _STARTS, _SAME = 2.0, 60, 0.05
#: Variations of a recorded plant.
_VARIATIONS: tuple[dict[str, float], ...] = (
    {},
    {"ligament_all_stiffness_scale": 1.5},
    {"ligament_all_stiffness_scale": 0.5},
    {"ligament_all_slack_scale": 1.03},
    {"ligament_all_slack_scale": 0.97},
    {"tf_contact_modulus_scale": 0.5},
    {"tf_contact_thickness_scale": 1.5},
    {"tf_contact_bed_about_forward_deg": 2.0},
    {"tf_contact_bed_forward_mm": 3.0},
    {"muscle_gasmed_r_weight": 4.0},
    {"muscle_all_strength_scale": 0.8},
)


def walk(*overrides: str) -> WalkSetup:
    """Return the shipped example with plane triangles, as in OpenSim-JAM."""
    file = load_muscle_walk(shipped_config("comak_walking"), ("walk.surface=flat", *overrides))
    return prepare_walk(file)


def units(setup: WalkSetup) -> FloatArray:
    """Return 1 mm or 1 degree of each secondary coordinate (S,) [rad, m]."""
    motion = setup.plant.motion
    rotational = np.array(motion.rotational)[motion.index(setup.plant.secondary)]
    return np.where(rotational, np.pi / 180.0, 1e-3)


@measured("OpenSim-JAM", {"quantity": "", "value": ".3g"})
def against_jam(setup: WalkSetup, result: ComakResult) -> Rows:
    """Agreement with OpenSim-JAM's solution."""
    jam = jam_solution(setup)
    yield from ((f"input {name}", value) for name, value in input_difference(setup, jam).items())
    largest = float(acceleration_differences(setup, jam).max())
    yield "acceleration, its solution put in, largest", largest
    yield from agreement(setup, result, jam).items()


def displaced_starts(setup: WalkSetup, result: ComakResult) -> str:
    """Return how many frames converge to their solution from displaced starts."""
    rng, unit = np.random.default_rng(1), units(setup)
    same, iterations = 0, []
    for _ in range(_STARTS):
        frame = int(rng.integers(5, len(result.time) - 2))
        before = result.solution(frame - 1)
        moved = before.values + setup.plant.motion.step * before.speeds
        moved = moved + _AWAY * unit * rng.choice([-1.0, 1.0], len(unit))
        found, flag = setup.comak.solve(frame, before, start=moved)
        whole, _ = setup.comak.solve(frame, before)
        same += not flag and bool((np.abs(found.values - whole.values) / unit).max() < _SAME)
        iterations.append(found.iterations)
    return f"{same} of {_STARTS} displaced starts, {np.mean(iterations):.1f} iterations"


@measured(
    "variations of the record",
    {"variation": "", "moves at most, in mm or deg": ".2f", "replay off, in mm or deg": ".3f",
     "contact force off, RMS [N]": ".2f", "RMS [% of body weight]": ".3f", "largest [N]": ".1f"},
)  # fmt: skip
def variations(setup: WalkSetup, replayed: WalkSetup, start: FloatArray) -> Rows:
    """Variations: how far they move the walk, and how a replay differs from OpenSim."""
    nominal, unit = replayed.comak.run(start), units(setup)
    for values in _VARIATIONS:
        varied = varied_walk(replayed, values)
        ours = varied.comak.run(start)
        theirs = with_opensim(setup, varied).comak.run(start)
        moved = np.abs(theirs.values - nominal.values) / unit
        apart = np.abs(ours.values - theirs.values) / unit
        force = np.linalg.norm(forces_of(ours) - forces_of(theirs), axis=-1)
        name = ", ".join(f"{key} {value:g}" for key, value in values.items()) or "none"
        off = rms(force)
        yield name, moved.max(), apart.max(), off, off / body_weight(setup), force.max()


def with_opensim(setup: WalkSetup, varied: WalkSetup) -> WalkSetup:
    """Return a walk by OpenSim with the ligaments, muscles and contacts of a varied replay."""
    plant: Any = setup.plant
    for ligament, stiffness, slack in zip(
        plant.system._ligaments,
        varied.plant.ligaments.stiffness.tolist(),
        varied.plant.ligaments.slack_length.tolist(),
        strict=True,
    ):
        ligament.set_linear_stiffness(stiffness)
        ligament.set_slack_length(slack)
    plant.muscles, plant.ligaments = varied.plant.muscles, varied.plant.ligaments
    return replace(setup, settings=varied.settings, contacts=varied.contacts)


def timed(setup: WalkSetup, start: FloatArray) -> tuple[ComakResult, float]:
    """Return the result of a cycle, the second time it is simulated, and its processor time [s]."""
    setup.comak.run(start)
    return clocked(lambda: setup.comak.run(start))


def main() -> None:
    """Print the tables."""
    setup, prepared = clocked(walk)
    start, settled = clocked(setup.first_values)
    result, spent = timed(setup, start)
    record = record_plant(setup.plant, result, start, setup.settings)  # type: ignore[arg-type]
    replayed = replace(setup, plant=record)
    show([against_jam(setup, result)])
    print(f"prepared in {prepared:.1f} s, settled in {settled:.1f} s, {spent:.1f} s a cycle")
    print(f"{displaced_starts(setup, result)}, replayed in {timed(replayed, start)[1]:.1f} s\n")
    show([variations(setup, replayed, start)])


if __name__ == "__main__":
    main()
