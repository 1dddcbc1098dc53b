"""Masses, lengths and inertias of the segments of a leg, by the shares of Winter (2009, table 4.1).

A segment's frame has its origin at the proximal joint and the axes of the lab (x anterior, y
superior, z to the right) upright, sole level. Cadaver shares differ: de Leva (1996, J Biomech
29:1223-1230) has 0.142, 0.0433 and 0.0137 of the body mass for thigh, shank and foot of a man.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dynamics.csv_table import read_csv_table
from foundation.base.checks import (
    FloatArray,
    check_fields,
    check_number,
    check_numbers,
)

#: The shipped shares.
SEGMENTS = Path(__file__).with_name("tables") / "segments.csv"
#: Heel from the ankle as shares of height: (-0.0488, -0.0420) m of the model of Delp et al. (1990)
#: as in OpenSim's gait2392 and gait10dof18musc, over its height of about 1.80 m.
HEEL_FRACTION = (-0.0271, -0.0233)


@dataclass(frozen=True, eq=False)
class Segment:
    """A rigid segment that turns in the sagittal plane; points (2,) [m] anterior and superior."""

    #: Mass [kg], > 0.
    mass: float
    #: Distal end, from the proximal joint (2,) [m].
    end: FloatArray
    #: From the proximal joint (2,) [m].
    centre_of_mass: FloatArray
    #: About the lateral axis through the centre of mass [kg m²], > 0.
    inertia: float

    def __post_init__(self) -> None:
        check_numbers(self, "segment ", above=0.0, mass="kg", inertia="kg m²")
        check_fields(self, "segment ", end=(2,), centre_of_mass=(2,))

    @property
    def length(self) -> float:
        """Distance from the proximal joint to the distal end [m]."""
        return math.hypot(*self.end)


class LegSegments(NamedTuple):
    """A leg of three segments, and the lower end of the heel (2,) [m] in the frame of the foot."""

    thigh: Segment
    shank: Segment
    #: Its distal end is at the metatarsal heads.
    foot: Segment
    heel: FloatArray


def leg_segments(mass: float, height: float) -> LegSegments:
    """Return the segments of a leg, scaled from the mass [kg] and height [m] of the body."""
    body = check_number("mass", mass, above=0.0, unit="kg")
    tall = check_number("height", height, above=0.0, unit="m")
    segments = {}
    for _, row in read_csv_table(SEGMENTS).rows():
        name = row.pop("segment")
        share = {key.removesuffix("_fraction"): float(cell) for key, cell in row.items()
                 if key.endswith("_fraction")}  # fmt: skip
        end = tall * np.array([share["end_x"], share["end_y"]])
        inertia = body * share["mass"] * (share["gyration"] * math.hypot(*end)) ** 2
        centre = share["centre_of_mass"] * end
        segments[name] = Segment(body * share["mass"], end, centre, inertia)
    heel = tall * np.array(HEEL_FRACTION)
    return LegSegments(segments["thigh"], segments["shank"], segments["foot"], heel)
