"""A made-up walk: smooth angles and ground forces of the size of walking ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from dynamics.walking import MotionTable, gait_trial, inverse_dynamics, leg_segments

MASS, HEIGHT, PERIOD = 45.0, 1.60, 1.1
#: Names of a laboratory of its own, by quantity; the sign of its knee angle is ours.
OWN_COLUMNS = {
    "pelvis_x": "forward",
    "pelvis_y": "up",
    "pelvis_tilt": "tilt_deg",
    "hip_flexion": "hip_deg",
    "knee_flexion": "knee_deg",
    "ankle_dorsiflexion": "ankle_deg",
    "force": "plate_f",
    "point": "plate_p",
    "torque": "plate_t",
}
_RATE = 100.0


def bell(part, middle, width):
    """Return a periodic bell curve over parts of the stride."""
    distance = np.mod(part - middle + 0.5, 1.0) - 0.5
    return np.exp(-0.5 * (distance / width) ** 2)


def walk_tables(*, mass: float = MASS, side: str = "right") -> tuple[MotionTable, MotionTable]:
    """Return motion and ground force of two strides of one leg, with OpenSim's names."""
    time = np.arange(0.0, 2.2 * PERIOD, 1.0 / _RATE)
    part = time / PERIOD - 0.1
    end = side[0]
    angles = {
        "pelvis_tilt": 2.0 + 0.0 * part,
        f"hip_flexion_{end}": 8.0 + 20.0 * np.cos(2.0 * np.pi * (part + 0.05)),
        f"knee_angle_{end}": -4.0 - 14.0 * bell(part, 0.14, 0.06) - 55.0 * bell(part, 0.73, 0.08),
        f"ankle_angle_{end}": 9.0 * bell(part, 0.42, 0.12) - 16.0 * bell(part, 0.63, 0.05),
    }
    pelvis = {"pelvis_tx": 1.2 * time, "pelvis_ty": 0.95 + 0.0 * time}
    columns = {**pelvis, **angles}
    motion = MotionTable(tuple(columns), time, np.column_stack([*columns.values()]), True)
    return motion, _ground(time, part, motion, mass, side)


def _ground(time, part, motion, mass, side) -> MotionTable:
    weight = 9.81 * mass
    stance = np.mod(part, 1.0)
    inside = np.clip(np.minimum(stance / 0.04, (0.62 - stance) / 0.04), 0.0, 1.0)
    vertical = (
        weight * inside * (0.75 + 0.35 * bell(part, 0.15, 0.07) + 0.38 * bell(part, 0.47, 0.07))
    )
    forward = weight * inside * 0.16 * np.sin(2.0 * np.pi * (part - 0.31) / 0.62) * (inside > 0)
    force = np.column_stack([forward, vertical, 0.03 * vertical])
    # The foot rolls from heel to toe under its ankle.
    names = [f"{name}{axis}" for name in ("f", "p", "t") for axis in "xyz"]
    nothing = MotionTable(tuple(names), time, np.zeros((len(time), 9)))
    columns = {"force": "f", "point": "p", "torque": "t"}
    still = gait_trial(
        motion, nothing, side, columns=columns, stride=(time[0], time[-1]), samples=len(time)
    )
    ankle = inverse_dynamics(still, leg_segments(MASS, HEIGHT)).ankle.centre
    roll = -0.03 + 0.17 * np.clip(stance / 0.55, 0.0, 1.0)
    outward = 1.0 if side == "right" else -1.0
    force[:, 2] *= -outward
    point = np.column_stack([ankle[:, 0] + roll, 0.0 * time, outward * (ankle[:, 2] + 0.005)])
    torque = np.zeros((len(time), 3))
    torque[:, 1] = outward * 4.0 * (mass / MASS) * inside * np.sin(2.0 * np.pi * part)
    head = "ground_force_" if side == "right" else "1_ground_force_"
    turn = "ground_torque_" if side == "right" else "1_ground_torque_"
    names = [*(f"{head}v{a}" for a in "xyz"), *(f"{head}p{a}" for a in "xyz")]
    names += [f"{turn}{a}" for a in "xyz"]
    return MotionTable(tuple(names), time, np.hstack([force, point, torque]), True)


def write_csv(table: MotionTable, path: Path, order: list[str], names: dict[str, str]) -> Path:
    """Write columns of a table in an order, with the time among them, under other names."""
    shuffled = {names[name]: table.column(name) for name in order}
    items = list(shuffled.items())
    items.insert(len(items) // 2, ("time", table.time))
    lines = [",".join(name for name, _ in items)]
    lines += [",".join(map(repr, row)) for row in np.column_stack([v for _, v in items]).tolist()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def walk_config(folder: Path, run: Path, motion: Path, ground: Path, **sections: Any) -> Path:
    """Write the file of a walk and return it."""
    tree: dict[str, Any] = {
        "walk": {"name": "made", "run": str(run)},
        "subject": {"mass_kg": MASS, "height_m": HEIGHT},
        "measured": {"motion": str(motion), "ground": str(ground)},
    }
    for name, section in sections.items():
        tree[name] = tree.get(name, {}) | section
    path = folder / "walk.toml"
    path.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return path
