"""A gait cycle of the built-in implant by three models: `python -m benchmarks.gait_models`.

Elastic foundation, ellipsoids and quadrics fitted to the implant with Hertz's law, and the
surrogate (which is trained first, in about a minute) drive the same simulator. The table is that of
docs/fitted_surfaces.md.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from benchmarks import gait
from benchmarks.fitted_surfaces import case
from benchmarks.timing import seconds, table
from dynamics import SimulationResult, simulate
from dynamics.protocol import ContactModel
from foundation.base.loads import AREA, AXIAL_FORCE, PEAK_PRESSURE
from foundation.base.pose import ANTERIOR, ROTATION, Pose
from foundation.fitted_surfaces.stiffness import calibrated_modulus

_HEADER = [
    "contact model",
    "AP range / RMS difference [mm]",
    "rotation range / RMS difference [deg]",
    "largest medial / lateral force [N]",
    "medial force, RMS difference [N]",
    "largest peak pressure [MPa]",
    "mean area [mm²]",
    "loads and Jacobian [µs]",
    "two cycles, processor time [s]",
]


def models() -> dict[str, ContactModel]:
    """Return the contact models by name, the elastic foundation first."""
    knee = case("built-in implant")
    poses = [Pose.from_array(row) for row in knee.rows]
    modulus = calibrated_modulus(knee.fitted, knee.model, poses)
    return {
        "elastic foundation": knee.model,
        "fitted ellipsoids, Hertz, E* of the material": knee.fitted,
        "fitted ellipsoids, Hertz, E* calibrated": knee.fitted.with_law(None, modulus),
        "surrogate of the elastic foundation": gait.gait().knee,
    }


def three_models() -> str:
    """Return the table of the second of two cycles of level walking."""
    simulation = case("built-in implant").gait
    rows, reference = [], None
    for name, model in models().items():
        pose = Pose.from_array(case("built-in implant").rows[3])
        evaluated = seconds(partial(model.loads_and_jacobian, pose))
        begun = time.process_time()
        result = simulate(
            model, simulation.simulator, simulation.cycle, start=simulation.start, cycles=2,
            samples=201,
        )  # fmt: skip
        spent = time.process_time() - begun
        reference = result if reference is None else reference
        times = [f"{1e6 * evaluated:.0f}", f"{spent:.2f}"]
        rows.append([name, *_motion(result, reference), *_loads(result, reference), *times])
    title = "Built-in implant, second cycle of level walking; differences from the first row"
    return table(title, _HEADER, rows)


def _motion(result: SimulationResult, reference: SimulationResult) -> list[str]:
    cells = []
    for column, unit in ((ANTERIOR, 1e3), (ROTATION, np.degrees(1.0))):
        values = unit * result.poses[:, column]
        away = values - unit * reference.poses[:, column]
        cells.append(f"{np.ptp(values):.2f} / {np.sqrt((away**2).mean()):.3f}")
    return cells


def _loads(result: SimulationResult, reference: SimulationResult) -> list[str]:
    loads = result.compartment_loads
    force = loads[:, :, AXIAL_FORCE]
    away = force[0] - reference.compartment_loads[0, :, AXIAL_FORCE]
    return [
        f"{force[0].max():.0f} / {force[1].max():.0f}",
        f"{np.sqrt((away**2).mean()):.1f}",
        f"{1e-6 * loads[:, :, PEAK_PRESSURE].max():.1f}",
        f"{1e6 * loads[:, :, AREA].sum(axis=0).mean():.0f}",
    ]


if __name__ == "__main__":
    print(three_models())
