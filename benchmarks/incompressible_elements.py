"""Finite elements of nearly incompressible layers at the exact approach, beside what they flag.

`python -m benchmarks.incompressible_elements` prints errors of force and area under balls, and the
bounds of both in the flag of the model.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from benchmarks.coupled_springs import ball
from benchmarks.flat_layer import FlatLayer
from benchmarks.frame import Rows, measured, run
from foundation.base.flags import Flag, FlagKind

#: Thickness [m], half width of the patch in thicknesses, radius of the ball [m], spacings [m].
BALLS = (
    (8e-3, 1.0, 0.1, (1e-3,)),
    (3e-3, 1.5, 0.1, (1.5e-3,)),
    (3e-3, 2.0, 0.1, (1e-3, 0.5e-3)),
    (1.5e-3, 3.0, 0.1, (0.75e-3, 0.35e-3)),
    (1e-3, 6.0, 0.3, (1e-3, 0.5e-3)),
)
RATIOS = (0.3, 0.46, 0.48, 0.49, 0.499, 0.4999)


@measured(
    "Finite elements under balls on flat layers, at the exact approach",
    {"ν": "g", "h [mm]": "g", "a/h": "g", "spacing [mm]": "g",
     "force [%]": "+.1f", "area [%]": "+.1f", "flag: up to, in %": ""},
)  # fmt: skip
def errors() -> Rows:
    """Errors of force and area, and their bounds in the flag."""
    for ratio, (thickness, size, radius, spacings) in product(RATIOS, BALLS):
        for spacing in spacings:
            force, area, flags = contact(ratio, thickness, size, radius, spacing)
            bounds = next(
                (
                    "{:.0f}, {:.0f}".format(*flag.values[-2:])
                    for flag in flags
                    if flag.kind is FlagKind.COARSE_NODES
                ),
                "no flag",
            )
            yield ratio, thickness, size, spacing, force, area, bounds


def contact(
    ratio: float, thickness: float, size: float, radius: float, spacing: float
) -> tuple[float, float, tuple[Flag, ...]]:
    """Return relative errors of force and area, and the flags, of a case of `BALLS`."""
    _, exact = ball(ratio, thickness, size, radius)
    reach = 1.25 * exact.contact_radius + 2.0 * spacing
    flat = FlatLayer(exact.layer, (radius, radius), spacing=spacing, half=(reach, reach))
    loads = flat.contact.loads(flat.pose(exact.approach, x=0.3 * spacing, z=0.2 * spacing))
    found = np.array([loads.medial.force[1] / exact.load, loads.medial.area / exact.area]) - 1.0
    return float(found[0]), float(found[1]), loads.flags


if __name__ == "__main__":
    run(__doc__, [errors])
