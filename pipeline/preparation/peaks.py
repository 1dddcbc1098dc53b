"""Peak pressures that are no property of a knee: out of proportion, or beyond the material."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import AREA, AXIAL_FORCE, MEAN_PRESSURE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact

#: Part of the largest axial load above which the loads of a compartment count: at small loads, a
#: contact is few triangles wide, and its peak out of proportion on sound meshes, too.
_CARRIES = 0.25
#: Largest peak over mean pressure [1] (measured: up to 3.6 on sound meshes of three knees and an
#: implant, up to 6.3 on segmentations in steps, 12 and more at spikes).
_PROPORTION = 8.0
_INVALID = (FlagKind.STEEP_SIDE, FlagKind.PRESSED_THROUGH)


class PeakError(InputError):
    """A peak pressure is that of a fault of the meshes, or more than the layer bears.

    `place` (3,) is where the pressure is [m], tibial frame.
    """

    def __init__(self, text: str, place: FloatArray) -> None:
        super().__init__(text)
        self.place = place

    def seen_in(self, picture: Path | None) -> PeakError:
        """Return the error with the file of a picture in its words."""
        return PeakError(f"{self}; see the cross in {picture}", self.place) if picture else self


def check_peaks(
    model: SurfaceContact, poses: FloatArray, loads: FloatArray, strength: float
) -> None:
    """Check the largest peak pressure at poses (N, 6) [rad, m], and that most out of proportion.

    `model` has springs over the surfaces, `loads` (N, C, 12) are those at the poses of a gait cycle
    (`foundation.base.loads.LOAD_COLUMNS`), and the layer bears at most the pressure `strength`
    [Pa]. Raises `PeakError` if a spring runs sideways through the femur, a peak is more than eight
    times the mean pressure of the contact, or the layer is pressed through or bears less.
    """
    carried = loads[..., AXIAL_FORCE] > _CARRIES * loads[..., AXIAL_FORCE].max()
    peak = np.where(carried, loads[..., PEAK_PRESSURE], 0.0)
    proportion = peak / np.where(carried, loads[..., MEAN_PRESSURE], 1.0)
    for worst in (proportion, peak):
        row, side = np.unravel_index(int(np.argmax(worst)), worst.shape)
        pose, name = Pose.from_array(poses[row]), model.compartment_names[side]
        flags = [
            flag
            for flag in model.loads(pose).flags
            if flag.kind in _INVALID and flag.compartment == name
        ]
        lone = proportion[row, side] > _PROPORTION
        if not flags and not lone and peak[row, side] <= strength:
            continue
        place = _place(model, pose, int(side), flags)
        raise PeakError(
            f"{peak_words(loads[row, side], name, pose.flexion)}; it is at "
            f"({', '.join(f'{1e3 * x:.1f}' for x in place)}) mm of the tibial frame, "
            f"{proportion[row, side]:.1f} times the mean pressure of the contact (expected at "
            f"most {_PROPORTION:g} times, and {1e-6 * strength:g} MPa): {_fault(flags, lone)}",
            place,
        )


def peak_words(loads: FloatArray, name: str, flexion: float) -> str:
    """Return the peak pressure of the loads (12,) of a compartment at a flexion [rad] in words."""
    return (
        f"the peak pressure reaches {1e-6 * loads[PEAK_PRESSURE]:.2g} MPa in gait: {name}, "
        f"{np.degrees(flexion):.0f} deg of flexion, {loads[AXIAL_FORCE]:.0f} N on "
        f"{1e6 * loads[AREA]:.0f} mm²"
    )


def _place(model: SurfaceContact, pose: Pose, side: int, flags: list[Flag]) -> FloatArray:
    """Return where the peak pressure of a compartment is, (3,) [m], tibial frame."""
    for flag in flags:
        if flag.kind == FlagKind.STEEP_SIDE:
            return 1e-3 * np.array(flag.values[:3])
    pressure = np.where(model.compartments == side, model.spring_state(pose).pressure, 0.0)
    return np.asarray(model.tibia.centroids[int(np.argmax(pressure))])


def _fault(flags: list[Flag], lone: bool) -> str:
    """Return the likely fault, and what to do."""
    for flag in flags:
        if flag.kind == FlagKind.STEEP_SIDE:
            return (
                f"the spring there runs {flag.values[3]:.2g} mm sideways through the femur, whose "
                f"surface is {flag.values[4]:.2g} mm away: likely an edge or spike of the tibial "
                "mesh, or cartilage that is worn through; cut the edge off, or smooth the mesh"
            )
    if lone:
        return "a ridge, spike or bump of a mesh; cut it off or smooth it in a mesh editor"
    if flags:
        return f"{flags[0]}; check the thickness of the layer and the unit of the meshes"
    return "more than the layer bears; check its thickness and modulus, and the unit of the meshes"
