"""OpenSim-JAM's walking example, its replays and starts: `python -m benchmarks.comak`.

Agreement with OpenSim-JAM's published solution, times on one core, starts displaced by 2 mm or 2
degrees, and variations of a recorded plant against OpenSim. The tables are those of
docs/muscle_walks.md. It needs `$KNEE_DATA` and OpenSim.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.comak_reference import (
    acceleration_differences,
    agreement,
    input_difference,
    jam_solution,
)
from benchmarks.timing import table
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
    """Return the shipped example with plane triangles, as OpenSim-JAM has them."""
    file = load_muscle_walk(shipped_config("comak_walking"), ("walk.surface=flat", *overrides))
    return prepare_walk(file)


def units(setup: WalkSetup) -> FloatArray:
    """Return 1 mm or 1 degree of each secondary coordinate (S,) [rad, m]."""
    motion = setup.plant.motion
    rotational = np.array(motion.rotational)[motion.index(setup.plant.secondary)]
    return np.where(rotational, np.pi / 180.0, 1e-3)


def against_jam(setup: WalkSetup, result: ComakResult) -> str:
    """Return a table of the agreement with OpenSim-JAM's solution."""
    jam = jam_solution(setup)
    away = acceleration_differences(setup, jam)
    rows: dict[str, float] = {
        **{f"input {name}": value for name, value in input_difference(setup, jam).items()},
        "acceleration, its solution put in, largest": float(away.max()),
        **agreement(setup, result, jam),
    }
    return table(
        "OpenSim-JAM",
        ["quantity", "value"],
        [[name, f"{value:.3g}"] for name, value in rows.items()],
    )


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


def forces_of(result: ComakResult) -> FloatArray:
    """Return the forces (N, C, 3) [N] of the contacts."""
    return np.array([[loads.force for loads in frame] for frame in result.loads])


def variations(setup: WalkSetup, replayed: WalkSetup, start: FloatArray) -> str:
    """Return a table of variations: how far they move, and how a replay differs from OpenSim."""
    nominal, unit = replayed.comak.run(start), units(setup)
    rows = []
    for values in _VARIATIONS:
        varied = varied_walk(replayed, values)
        ours = varied.comak.run(start)
        theirs = with_opensim(setup, varied).comak.run(start)
        moved = np.abs(theirs.values - nominal.values) / unit
        apart = np.abs(ours.values - theirs.values) / unit
        force = np.linalg.norm(forces_of(ours) - forces_of(theirs), axis=-1)
        name = ", ".join(f"{key} {value:g}" for key, value in values.items()) or "none"
        share = 100.0 * np.sqrt((force**2).mean()) / body_weight(setup)
        rows.append(
            [name, f"{moved.max():.2f}", f"{apart.max():.3f}", f"{np.sqrt((force**2).mean()):.2f}",
             f"{share:.3f}", f"{force.max():.1f}"]
        )  # fmt: skip
    header = [
        "variation", "moves at most [mm or deg]", "replay off [mm or deg]",
        "contact force off, RMS [N]", "RMS [% of body weight]", "largest [N]",
    ]  # fmt: skip
    return table("variations of the record", header, rows)


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
    begun = time.process_time()
    result = setup.comak.run(start)
    return result, time.process_time() - begun


def main() -> None:
    """Print the tables."""
    begun = time.process_time()
    setup = walk()
    prepared = time.process_time() - begun
    begun = time.process_time()
    start = setup.first_values()
    settled = time.process_time() - begun
    result, seconds = timed(setup, start)
    print(against_jam(setup, result))
    print(f"\nprepared in {prepared:.1f} s, settled in {settled:.1f} s, {seconds:.1f} s a cycle")
    print(displaced_starts(setup, result))
    record = record_plant(setup.plant, result, start, setup.settings)  # type: ignore[arg-type]
    replayed = replace(setup, plant=record)
    print(f"replayed in {timed(replayed, start)[1]:.1f} s\n")
    print(variations(setup, replayed, start))


if __name__ == "__main__":
    main()
