"""Units of measured forces and moments: as a table states them, or by the body weight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Newtons per pound-force (NIST SP 811) and per kilogram-force; metres per inch and per foot.
POUND, KILOGRAM = 4.4482216152605, 9.80665
INCH, FOOT = 0.0254, 0.3048
#: Unit of a multiple of the body weight, and of its hundredth.
WEIGHT, PERCENT = "BW", "%BW"
#: Newtons per unit of force.
FORCE_UNITS = {"N": 1.0, "kN": 1e3, "lbf": POUND, "kgf": KILOGRAM}
#: Newton metres per unit of moment.
MOMENT_UNITS = {
    "N m": 1.0, "N mm": 1e-3, "N cm": 1e-2, "lbf in": POUND * INCH, "lbf ft": POUND * FOOT
}  # fmt: skip
_SPELLINGS = {
    **dict.fromkeys(("n", "newton", "newtons"), "N"),
    **dict.fromkeys(("kn", "kilonewton", "kilonewtons"), "kN"),
    **dict.fromkeys(
        ("lbf", "lb", "lbs", "lbsf", "pound", "pounds", "poundsforce", "poundforce"), "lbf"
    ),
    **dict.fromkeys(("kgf", "kp"), "kgf"),
    **dict.fromkeys(("bw", "xbw", "×bw", "bodyweight", "bodyweights"), WEIGHT),
    **dict.fromkeys(("%bw", "bw%", "%bodyweight", "percentbw"), PERCENT),
    **dict.fromkeys(("nm", "newtonmeter", "newtonmetre", "newtonmeters"), "N m"),
    **dict.fromkeys(("nmm",), "N mm"),
    **dict.fromkeys(("ncm",), "N cm"),
    **dict.fromkeys(("inlb", "inlbs", "inlbf", "lbin", "lbfin", "lbsin"), "lbf in"),
    **dict.fromkeys(("ftlb", "ftlbs", "ftlbf", "lbft", "lbfft"), "lbf ft"),
}
#: Largest force over the body weight that a unit must give. Instrumented knees had 2 to 3 body
#: weights in level walking; the ratio of the limits is below that of lbf to N (4.448), so that at
#: most one of both units is possible.
PLAUSIBLE = (1.25, 5.5)
#: Units that a table without units may have.
_LIKELY = ("N", "lbf")
#: Largest distance of the force from the origin that a moment may mean [m].
_OFFSET = 0.08


def unit_in(texts: Iterable[str], units: Mapping[str, float] | Iterable[str]) -> str | None:
    """Return the first of the texts that spells one of the units, as the unit; None without one.

    `Nm` spells N m, `lbs` lbf, `in-lbf` lbf in; `mN` spells none.
    """
    known = set(units)
    for text in texts:
        compact = re.sub(r"[\s.·*^_-]", "", text)
        found = None if compact in ("mN", "MN") else _SPELLINGS.get(compact.casefold())
        if found in known:
            return found
    return None


def newtons(unit: str, body_weight: float) -> float:
    """Return the newtons of a unit of force; the body weight is in newtons."""
    shares = {WEIGHT: body_weight, PERCENT: 0.01 * body_weight}
    return shares[unit] if unit in shares else FORCE_UNITS[unit]


def likely_unit(peak: float, body_weight: float, source: str) -> str:
    """Return the unit of a force that the table does not state: N or lbf, by its largest value.

    Parameters
    ----------
    peak : float
        Largest size of the total force [unit of the file].
    body_weight : float
        Body weight [N].
    source : str
        Name of the table in messages.

    Raises
    ------
    InputError
        If neither unit gives a largest force of `PLAUSIBLE` body weights; the message lists the
        units that would.
    """
    low, high = PLAUSIBLE
    for unit in _LIKELY:
        if low <= peak * FORCE_UNITS[unit] / body_weight <= high:
            return unit
    possible = [
        unit
        for unit in (*FORCE_UNITS, WEIGHT, PERCENT)
        if low <= peak * newtons(unit, body_weight) / body_weight <= high
    ]
    hint = f"; {' or '.join(possible)} would give such a force" if possible else ""
    raise InputError(
        f"{source}: expected a unit of the forces in the header, or values in N or lbf with a "
        f"largest force of {low:g} to {high:g} body weights ({body_weight:.0f} N), found a largest "
        f"value of {peak:.4g} without a unit{hint}; set implant_forces.unit"
    )


def likely_moment_unit(
    moment: FloatArray, force: FloatArray, force_unit: str, source: str
) -> tuple[str, str]:
    """Return the unit of moments that the table does not state, and how the unit was found.

    Moments beside pounds-force are in lbf in, as in the files of the Grand Challenge. Others are in
    N m, or in N mm where the force would act too far from the origin in N m.

    Parameters
    ----------
    moment : (N,) float64
        Moment [unit of the file].
    force : (N,) float64
        Axial force at the same instants [N].
    force_unit, source : str
        Unit of the forces, and name of the table in messages.

    Raises
    ------
    InputError
        If the force would act too far from the origin in N mm too.
    """
    if force_unit == "lbf":
        return "lbf in", "taken for a table in lbf"
    known = np.isfinite(moment) & np.isfinite(force)
    arm = float(np.sqrt((moment[known] ** 2).mean() / (force[known] ** 2).mean()))
    for unit in ("N m", "N mm"):
        if MOMENT_UNITS[unit] * arm < _OFFSET:
            return unit, f"by the distance of the force from the origin, {arm:.3g} in {unit} per N"
    raise InputError(
        f"{source}: expected moments of a force at most {1e3 * _OFFSET:.0f} mm from the origin, "
        f"found moments of {arm:.3g} per N of axial force; set implant_forces.moment_unit"
    )
