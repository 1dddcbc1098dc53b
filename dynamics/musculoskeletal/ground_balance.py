"""Balance of a whole walking body: residual force and moment on the pelvis.

Muscles, ligaments and joint contact act between bodies of the model: gravity and external loads
alone accelerate the whole body. If measured motion and external loads do not agree, a residual
force and moment on the pelvis remain, the standard measure of such data. Hicks et al. (2015, J
Biomech Eng 137:020905) recommend residual forces below 5 % of the largest external force, and
residual moments below 1 % of this force times the height of the centre of mass, after the motion
has been adapted to the forces; measured data without this step have several times as much. The
limits here are those of wrong data: unit, sign, time, plate, body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from foundation.base.checks import FloatArray, check_array, check_fields, check_number

#: Recommended limits of residual force and moment [1]; larger ones are flagged.
RECOMMENDED = (0.05, 0.01)
#: Largest residual force over the largest external force, and largest residual moment over this
#: force times the height of the centre of mass [1].
LARGEST_FORCE, LARGEST_MOMENT = 0.35, 0.15
#: Range of the mean vertical external force over the needed one [1], over at least a time [s].
USUAL_SHARE, _LEAST_TIME = (0.8, 1.25), 0.4
_STORED = ("body", "residual", "external", "height", "up", "mass", "flags")


@dataclass(frozen=True, eq=False)
class GroundBalance:
    """Residual wrench (N, 6) [N, N m] of a motion with its external loads, at N instants."""

    #: Body that hangs on the ground by the joint with the residual, such as the pelvis.
    body: str
    #: Instants (N,) [s].
    time: FloatArray
    #: Force, and moment about the origin of the body (N, 6), axes of the ground [N, N m].
    residual: FloatArray
    #: Sum of the external forces (N, 3), axes of the ground [N].
    external: FloatArray
    #: Height of the centre of mass over the lowest body of the first instant (N,) [m].
    height: FloatArray
    #: Unit vector upwards (3,) [1].
    up: FloatArray
    #: Mass of the model [kg].
    mass: float
    #: Sentences on what is wrong with the external loads.
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.time)
        check_fields(self, residual=(count, 6), external=(count, 3), height=(count,), up=(3,))
        check_array("height", self.height, above=0.0, unit="m")
        check_number("mass", self.mass, above=0.0, unit="kg")

    def to_arrays(self) -> dict[str, Any]:
        """Return the fields but the time as arrays, whose names begin with `balance_`."""
        return {f"balance_{name}": np.asarray(getattr(self, name)) for name in _STORED}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], time: FloatArray) -> GroundBalance | None:
        """Return what `to_arrays` gave, at instants (N,) [s]; None without a balance."""
        if "balance_residual" not in arrays:
            return None
        body, residual, external, height, up, mass, flags = (
            arrays[f"balance_{name}"] for name in _STORED
        )
        told = tuple(str(flag) for flag in flags)
        return cls(str(body), time, residual, external, height, up, float(mass), told)

    @property
    def force(self) -> FloatArray:
        """Sizes of the residual force (N,) [N]."""
        return np.linalg.norm(self.residual[:, :3], axis=1)

    @property
    def moment(self) -> FloatArray:
        """Sizes of the residual moment (N,) [N m]."""
        return np.linalg.norm(self.residual[:, 3:], axis=1)

    @property
    def weight(self) -> float:
        """Weight of the model [N]."""
        return self.mass * STANDARD_GRAVITY

    @property
    def force_scale(self) -> float:
        """Largest external force, at least the weight [N]."""
        return max(self.weight, float(np.linalg.norm(self.external, axis=1).max()))

    @property
    def moment_scale(self) -> float:
        """`force_scale` times the mean height of the centre of mass [N m]."""
        return self.force_scale * float(self.height.mean())

    @property
    def share(self) -> float:
        """Mean vertical external force over the mean vertical force that the motion needs [1]."""
        given = float((self.external @ self.up).mean())
        needed = given + float((self.residual[:, :3] @ self.up).mean())
        return given / needed if needed else np.inf

    @property
    def parts(self) -> tuple[float, float]:
        """Largest residual force and moment over their scales [1]."""
        return (
            float(self.force.max()) / self.force_scale,
            float(self.moment.max()) / self.moment_scale,
        )

    @property
    def faults(self) -> tuple[str, ...]:
        """Sentences on residuals that are too large."""
        found = []
        for part, limit, values, unit, what, scale in zip(
            self.parts,
            (LARGEST_FORCE, LARGEST_MOMENT),
            (self.force, self.moment),
            ("N", "N m"),
            ("force", "moment"),
            (
                "the largest external force or the weight",
                "this force times the height of the centre of mass",
            ),
            strict=True,
        ):
            if part > limit:
                peak = int(values.argmax())
                found.append(
                    f"residual {what} on {self.body}: expected at most {100.0 * limit:g} % of "
                    f"{scale}, found {100.0 * part:.0f} % ({values[peak]:.0f} {unit} at "
                    f"{self.time[peak]:g} s)"
                )
        low, high = USUAL_SHARE
        if not found and np.ptp(self.time) >= _LEAST_TIME and not low <= self.share <= high:
            found.append(
                f"vertical external force: expected a mean of {low:g} to {high:g} times that which "
                f"the motion of {self.mass:.1f} kg needs, found {self.share:.2f} times"
            )
        return tuple(found)
