"""Masses, lengths and inertias of the segments of a leg, by the shares of Winter (2009, table 4.1).

A segment's frame has its origin at the proximal joint and the axes of the lab (x anterior, y
superior, z to the right) upright, sole level. Cadaver shares differ: de Leva (1996, J Biomech
29:1223-1230) has 0.142, 0.0433 and 0.0137 of the body mass for thigh, shank and foot of a man.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dynamics.csv_table import read_csv_table
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_number,
    check_numbers,
)
from foundation.base.errors import InputError

#: The shipped shares.
SEGMENTS = Path(__file__).with_name("tables") / "segments.csv"
#: Hip of a right leg from the origin of the pelvis, and heel from the ankle, as shares of height:
#: (-0.0707, -0.0661, 0.0835) m and (-0.0488, -0.0420) m of the model of Delp et al. (1990) as in
#: OpenSim's gait2392 and gait10dof18musc, over its height of about 1.80 m.
HIP_FRACTION = (-0.0393, -0.0367, 0.0464)
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


@dataclass(frozen=True, eq=False)
class LegSegments:
    """A right leg of three segments, from the hip (3,) [m] down; the shank is along its axis."""

    thigh: Segment
    shank: Segment
    #: Its distal end is at the metatarsal heads.
    foot: Segment
    #: Hip joint in the frame of the pelvis with the origin of the measured motion (3,) [m].
    hip: FloatArray
    #: Lower end of the heel in the frame of the foot (2,) [m].
    heel: FloatArray

    def __post_init__(self) -> None:
        check_fields(self, "leg ", hip=(3,), heel=(2,))
        if self.shank.end[0] != 0.0:
            raise InputError(
                "leg shank: expected its axis from ankle to knee along y, found an end at "
                f"{self.shank.end[0]:g} m anterior"
            )


def leg_segments(
    mass: float,
    height: float,
    *,
    thigh_length: float | None = None,
    shank_length: float | None = None,
    hip: ArrayLike | None = None,
    toe: ArrayLike | None = None,
    heel: ArrayLike | None = None,
) -> LegSegments:
    """Return segments scaled from mass [kg], height [m]; hip (3,), heel (2,) [m] if known."""
    # `hip` (3,) [m] is in the frame of the pelvis; `toe` and `heel` (2,) [m] are the metatarsal
    # heads and the lower end of the heel, anterior and superior of the ankle.
    body = check_number("mass", mass, above=0.0, unit="kg")
    tall = check_number("height", height, above=0.0, unit="m")
    table = read_csv_table(SEGMENTS)
    places = {row["segment"]: i for i, (_, row) in enumerate(table.rows())}
    share = {
        name: table.column(f"{name}_fraction")
        for name in ("mass", "centre_of_mass", "gyration", "end_x", "end_y")
    }
    ends = {n: tall * np.array([share["end_x"][i], share["end_y"][i]]) for n, i in places.items()}
    for name, length in (("thigh", thigh_length), ("shank", shank_length)):
        if length is not None:
            checked = check_number(f"{name}_length", length, above=0.0, unit="m")
            ends[name] = np.array([0.0, -checked])
    if toe is not None:
        ends["foot"] = check_array("toe", toe, (2,))
    segments = {}
    for name, i in places.items():
        mass, end = body * float(share["mass"][i]), ends[name]
        gyration = float(share["gyration"][i]) * math.hypot(*end)
        centre = float(share["centre_of_mass"][i]) * end
        segments[name] = Segment(mass, end, centre, mass * gyration**2)
    return LegSegments(
        segments["thigh"],
        segments["shank"],
        segments["foot"],
        tall * np.array(HIP_FRACTION) if hip is None else check_array("hip", hip, (3,)),
        tall * np.array(HEEL_FRACTION) if heel is None else check_array("heel", heel, (2,)),
    )
