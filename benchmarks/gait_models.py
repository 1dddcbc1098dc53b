"""A gait cycle of the built-in implant by three models: `python -m benchmarks.gait_models`.

Elastic foundation, ellipsoids and quadrics fitted to the implant with Hertz's law, and the
surrogate (which is trained first, in about a minute) drive the same simulator. The table is that of
docs/fitted_surfaces.md.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks import gait
from benchmarks.fitted_surfaces import case
from benchmarks.frame import Cell, Rows, measured, run
from benchmarks.measures import rms
from benchmarks.timing import clocked, seconds
from dynamics import SimulationResult, simulate
from dynamics.protocol import ContactModel
from foundation.base.loads import AREA, AXIAL_FORCE, PEAK_PRESSURE
from foundation.base.pose import ANTERIOR, ROTATION, Pose
from foundation.fitted_surfaces.stiffness import calibrated_modulus

_COLUMNS = {
    "contact model": "",
    "AP range / RMS difference [mm]": "{:.2f} / {:.3f}",
    "rotation range / RMS difference [deg]": "{:.2f} / {:.3f}",
    "largest medial / lateral force [N]": "{:.0f} / {:.0f}",
    "medial force, RMS difference [N]": ".1f",
    "largest peak pressure [MPa]": ".1f",
    "mean area [mm²]": ".0f",
    "loads and Jacobian [µs]": ".0f",
    "two cycles, processor time [s]": ".2f",
}


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


@measured(
    "Built-in implant, second cycle of level walking; differences from the first row", _COLUMNS
)
def three_models() -> Rows:
    """The second of two cycles of level walking by each model."""
    simulation, reference = case("built-in implant").gait, None
    pose = Pose.from_array(case("built-in implant").rows[3])
    for name, model in models().items():
        evaluated = seconds(partial(model.loads_and_jacobian, pose))
        result, spent = clocked(
            partial(
                simulate, model, simulation.simulator, simulation.cycle, start=simulation.start,
                cycles=2, samples=201,
            )
        )  # fmt: skip
        reference = result if reference is None else reference
        yield name, *_motion(result, reference), *_loads(result, reference), evaluated, spent


def _motion(result: SimulationResult, reference: SimulationResult) -> list[Cell]:
    """Return range and RMS difference of AP position [m] and rotation [rad]."""
    away = np.sqrt(((result.poses - reference.poses) ** 2).mean(axis=0))
    return [(np.ptp(result.poses[:, k]), away[k]) for k in (ANTERIOR, ROTATION)]


def _loads(result: SimulationResult, reference: SimulationResult) -> list[Cell]:
    """Return peaks and RMS difference of forces [N], peak pressure [Pa] and mean area [m²]."""
    loads = result.compartment_loads
    force = loads[:, :, AXIAL_FORCE]
    away = force[0] - reference.compartment_loads[0, :, AXIAL_FORCE]
    area = loads[:, :, AREA].sum(axis=0).mean()
    return [force.max(axis=1), rms(away), loads[:, :, PEAK_PRESSURE].max(), area]


if __name__ == "__main__":
    run(__doc__, [three_models])
