"""State of the tibial surface at a pose, as every contact model of surfaces returns it."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.checks import FloatArray


@dataclass(frozen=True, eq=False)
class SpringState:
    """State of the tibial surface at one pose, in the order of the tibial triangles.

    Parameters
    ----------
    indentation : (F,) float64
        Indentation at the middle of each triangle along minus the tibial normal [m], 0 out of
        contact.
    pressure : (F,) float64
        Pressure at the middle of each triangle [Pa], 0 out of contact.
    """

    indentation: FloatArray
    pressure: FloatArray
