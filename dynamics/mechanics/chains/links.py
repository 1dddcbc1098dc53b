"""Visco-elastic links between points of two segments.

With d the vector from the first point to the second, l its length and u = d/l, the force on the
second point is

- "line": -(k (l - l0) + c dl/dt) u, a spring and a damper in parallel along the line between the
  points, such as a strap or a rod;
- "bushing": -(k d + c dd/dt), equally stiff in all directions, such as a cuff that holds two points
  together; the points may coincide;

and the opposite force acts on the first point. Both laws push as well as pull.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynamics.mechanics.planar_chain import ComplexArray
from dynamics.simulator.equations import SimulationError
from foundation.checks import FloatArray, check_fields, check_in, check_number
from foundation.errors import InputError

#: Laws of a link.
LINK_KINDS = ("line", "bushing")
#: Distance under which two points count as one, so that a line has no direction [m].
SHORTEST_LINE = 1e-9


@dataclass(frozen=True, eq=False)
class ViscoelasticLink:
    """A visco-elastic link between two segments.

    Parameters
    ----------
    name : str
        Name of the link.
    first, second : (str, str)
        Chain and segment of either end.
    first_point, second_point : (2,) float64
        Attachments in the frames of the segments [m].
    stiffness : float
        k [N/m], >= 0.
    damping : float
        c [N s/m], >= 0.
    rest_length : float
        l0 [m], >= 0; zero for a bushing.
    kind : {"line", "bushing"}
        The law.
    """

    name: str
    first: tuple[str, str]
    first_point: FloatArray
    second: tuple[str, str]
    second_point: FloatArray
    stiffness: float
    damping: float = 0.0
    rest_length: float = 0.0
    kind: str = "line"

    def __post_init__(self) -> None:
        of = f"link {self.name}:"
        for end in ("first", "second"):
            where = getattr(self, end)
            if not (isinstance(where, tuple) and [type(each) for each in where] == [str, str]):
                raise InputError(f"{of} {end}: expected (chain, segment), found {where!r}")
        check_fields(self, f"{of} ", first_point=(2,), second_point=(2,))
        if self.first == self.second:
            raise InputError(
                f"{of} second: expected a segment other than {self.first}, found the same"
            )
        check_in(f"{of} kind", self.kind, LINK_KINDS)
        longest = 0.0 if self.kind == "bushing" else None
        check_number(f"{of} stiffness", self.stiffness, at_least=0.0, unit="N/m")
        check_number(f"{of} damping", self.damping, at_least=0.0, unit="N s/m")
        check_number(f"{of} rest_length", self.rest_length, at_least=0.0, at_most=longest, unit="m")

    @property
    def ends(self) -> tuple[tuple[float, tuple[str, str], FloatArray], ...]:
        """Sign in the vector d [1], (chain, segment) and point (2,) [m] of both ends."""
        return (-1.0, self.first, self.first_point), (1.0, self.second, self.second_point)


class LinkLaws(NamedTuple):
    """Laws of L links; every field (L,) has one entry per link [N/m, N s/m, m]."""

    names: tuple[str, ...]
    stiffness: FloatArray
    damping: FloatArray
    rest_length: FloatArray
    is_line: np.ndarray

    @classmethod
    def of(cls, links: Sequence[ViscoelasticLink]) -> LinkLaws:
        """Return the laws of a possibly empty sequence of links."""
        return cls(
            tuple(each.name for each in links),
            np.array([each.stiffness for each in links], dtype=np.float64),
            np.array([each.damping for each in links], dtype=np.float64),
            np.array([each.rest_length for each in links], dtype=np.float64),
            np.array([each.kind == "line" for each in links], dtype=np.bool_),
        )

    def forces(self, vector: ComplexArray, velocity: ComplexArray) -> ComplexArray:
        """Return the force (L,) [N] on the second point of each link.

        From the vectors (L,) [m] from the first to the second points and their rates [m/s]. Raises
        `SimulationError` if the points of a line coincide, so that the line has no direction.
        """
        length = np.abs(vector)
        coinciding = self.is_line & (length < SHORTEST_LINE)
        if coinciding.any():
            raise SimulationError(
                f"link {self.names[int(np.argmax(coinciding))]}: the points of a line coincide and "
                "define no direction; use the kind 'bushing' for points held together"
            )
        direction = vector / np.where(length > 0.0, length, 1.0)
        along = (direction.conj() * velocity).real * direction
        stretch = vector - self.rest_length * direction
        return -self.stiffness * stretch - self.damping * np.where(self.is_line, along, velocity)

    def energy(self, vector: ComplexArray) -> float:
        """Return the energy [J] stored in links with vectors (L,) [m]."""
        return float(0.5 * np.sum(self.stiffness * (np.abs(vector) - self.rest_length) ** 2))
