"""Flags: why loads of a compartment are unreliable at a pose; `WORDINGS` words each kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, auto

#: Advice where independent springs are too stiff for a nearly incompressible layer.
SOFTER_MODELS = "use finite elements, which let the layer flow aside"
_PLACE = re.compile(r"\{[^}]*\}")
_DOMAIN = "outside the trained domain, "


class FlagKind(StrEnum):
    """Kind of a flag: what makes the loads unreliable."""

    # layers of every contact model
    PRESSED_THROUGH = auto()
    # springs
    STIFF_SPRINGS = auto()
    STEEP_SIDE = auto()
    THROUGH_WALL = auto()
    # finite elements
    END_OF_NODES = auto()
    END_OF_FEMORAL_NODES = auto()
    RIM = auto()
    UNRESOLVED_PEAK = auto()
    FEMORAL_RIM = auto()
    COARSE_NODES = auto()
    LARGE_STRAIN = auto()
    # surrogates: the pose is outside the box of samples
    OUTSIDE_FLEXION = auto()
    OUTSIDE_ADDUCTION = auto()
    OUTSIDE_ROTATION = auto()
    OUTSIDE_ANTERIOR = auto()
    OUTSIDE_SUPERIOR = auto()
    OUTSIDE_LATERAL = auto()
    OUTSIDE_LOAD = auto()
    # surrogates: the pose is inside the box, in a part that the samples did not train
    OUTSIDE_AP_RATIO = auto()
    OUTSIDE_ML_RATIO = auto()
    OUTSIDE_PEAK_PRESSURE = auto()
    OUTSIDE_AP_SAMPLES = auto()
    OUTSIDE_ML_SAMPLES = auto()
    OUTSIDE_ERRORS = auto()
    OUTSIDE_TOO_FEW_SAMPLES = auto()
    # surrogates over designs: the design is inside the ranges
    OUTSIDE_DESIGN = auto()


#: Wording of each kind, with a place for each value of the flag.
WORDINGS = {
    FlagKind.PRESSED_THROUGH: (
        "strain {:.2f} exceeds {:g}, the femur is pressed through the layer"
    ),
    FlagKind.STIFF_SPRINGS: (
        "independent springs of Poisson's ratio {:g} are about {:.15g} times too stiff on this "
        f"patch; {SOFTER_MODELS}"
    ),
    FlagKind.STEEP_SIDE: (
        "the peak pressure is that of a spring at ({:.1f}, {:.1f}, {:.1f}) mm of the tibial frame "
        "that runs {:.2g} mm sideways through the femur, whose surface is {:.2g} mm away: cut the "
        "edge or spike of the tibial mesh there off, or smooth it"
    ),
    FlagKind.THROUGH_WALL: (
        "an indentation of {:.2g} mm exceeds the wall of the closed femur, {:.2g} mm thick: use "
        "the bearing surface of the femur alone"
    ),
    FlagKind.END_OF_NODES: "contact reaches the end of the compartment's nodes",
    FlagKind.END_OF_FEMORAL_NODES: "contact reaches the end of the femoral nodes",
    FlagKind.RIM: "contact reaches the rim, where the peak pressure has no limit",
    FlagKind.UNRESOLVED_PEAK: (
        "the peak pressure is not resolved: the patch is narrower there than {:.0f} node spacings "
        "(an edge, or a small patch)"
    ),
    FlagKind.FEMORAL_RIM: "contact reaches the rim of the femoral layer",
    FlagKind.COARSE_NODES: (
        "a layer of Poisson's ratio {:g} needs closer nodes: {:g} mm apart on a patch of half "
        "width {:.1f} mm, the force may be off by up to about {:.0f} % and the area too small by "
        "{:.0f} %; "
        "decrease the spacing of the nodes"
    ),
    FlagKind.LARGE_STRAIN: (
        "strain {:.2f} exceeds {:g}, where the peak pressure of linear elasticity may be off by "
        "more than {:g} %"
    ),
    FlagKind.OUTSIDE_FLEXION: _DOMAIN + "flexion by {:.3g} deg beyond",
    FlagKind.OUTSIDE_ADDUCTION: _DOMAIN + "adduction by {:.3g} deg beyond",
    FlagKind.OUTSIDE_ROTATION: _DOMAIN + "rotation by {:.3g} deg beyond",
    FlagKind.OUTSIDE_ANTERIOR: _DOMAIN + "anterior by {:.3g} mm beyond",
    FlagKind.OUTSIDE_SUPERIOR: _DOMAIN + "superior by {:.3g} mm beyond",
    FlagKind.OUTSIDE_LATERAL: _DOMAIN + "lateral by {:.3g} mm beyond",
    FlagKind.OUTSIDE_LOAD: _DOMAIN + "axial load of {:.0f} N, {:.0f} N beyond",
    FlagKind.OUTSIDE_AP_RATIO: _DOMAIN + "AP force over axial load of {:.2g} (limit {:.2g})",
    FlagKind.OUTSIDE_ML_RATIO: _DOMAIN + "ML force over axial load of {:.2g} (limit {:.2g})",
    FlagKind.OUTSIDE_PEAK_PRESSURE: _DOMAIN + "peak pressure of {:.3g} MPa (limit {:.3g} MPa)",
    FlagKind.OUTSIDE_AP_SAMPLES: (
        _DOMAIN + "samples near this pose reach {:.3g} times the largest trained AP force"
    ),
    FlagKind.OUTSIDE_ML_SAMPLES: (
        _DOMAIN + "samples near this pose reach {:.3g} times the largest trained ML force"
    ),
    FlagKind.OUTSIDE_ERRORS: (
        _DOMAIN + "errors near this pose are {:.3g} times the accepted error"
    ),
    FlagKind.OUTSIDE_TOO_FEW_SAMPLES: (
        _DOMAIN + "errors near this pose cannot be judged: too few samples, and no pose is trusted"
    ),
    FlagKind.OUTSIDE_DESIGN: (
        _DOMAIN + "errors expected of this design are up to {:.3g} times the accepted errors"
    ),
}


@dataclass(frozen=True, slots=True)
class Flag:
    """Why the loads of a compartment are unreliable at a pose; `str` gives the wording.

    Parameters
    ----------
    kind : FlagKind
        What makes the loads unreliable.
    compartment : str
        Name of the compartment.
    values : tuple of float
        Numbers of the wording in `WORDINGS`, in their order and in the units of the wording.
    """

    kind: FlagKind
    compartment: str
    values: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.compartment}: {WORDINGS[self.kind].format(*self.values)}"

    @property
    def cause(self) -> tuple[FlagKind, str]:
        """Kind and compartment: flags of the same cause differ in their numbers alone."""
        return self.kind, self.compartment

    @property
    def without_numbers(self) -> str:
        """Wording with "…" for each number, the same for all flags of the same cause."""
        return f"{self.compartment}: {_PLACE.sub('…', WORDINGS[self.kind])}"


def worded(flags: Iterable[Flag]) -> str:
    """Return the wordings of flags as one text."""
    return "; ".join(map(str, flags))
