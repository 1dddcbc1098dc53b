"""Findings about a shape with their certainty, and the frame of a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from foundation.base.checks import FloatArray


class Evidence(NamedTuple):
    """A finding: its certainty, "sure", "likely" or "unknown", and the measured reason."""

    certainty: str
    reason: str


@dataclass(frozen=True, eq=False)
class AnatomicalFrame:
    """Frame of a body in the coordinates of its mesh: origin (3,) [m], rotation (3, 3) [1]."""

    origin: FloatArray
    #: Rows: unit vectors that point anterior, superior and to the right of the body.
    rotation: FloatArray
    #: Findings that led to the frame, by name, such as "flexion axis" and "anterior".
    evidence: dict[str, Evidence]

    def of(self, points: FloatArray) -> FloatArray:
        """Return points (N, 3) [m] of the mesh in this frame, (N, 3) [m]."""
        moved: FloatArray = (points - self.origin) @ self.rotation.T
        return moved
