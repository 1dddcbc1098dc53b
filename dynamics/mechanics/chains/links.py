"""Visco-elastic links between points of two segments, or of a segment and the ground.

With d the vector from the first point to the second, l its length and u = d/l, the force on the
second point is

- "line": -(k (l - l0) + c dl/dt) u, a spring and a damper in parallel along the line between the
  points, such as a rod;
- "line" that only pulls: the same while l > l0 and as long as the force pulls, else zero, such as a
  strap;
- "bushing": -(k d + c dd/dt), equally stiff in all directions, such as a cuff that holds two points
  together; the points may coincide;

and the opposite force acts on the first point. With the angle ψ of the second segment from the
first, the torque -k' (ψ - ψ0) - c' dψ/dt besides acts on the second segment, and the opposite
torque on the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from dynamics.mechanics.planar_chain import ComplexArray
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray, check_fields, check_in, check_number, check_numbers
from foundation.base.errors import InputError

#: Laws of a link.
LINK_KINDS = ("line", "bushing")
#: End of a link or closure on the ground; its point is stated in the global frame.
GROUND = ("", "")
#: Distance under which two points count as one, so that a line has no direction [m].
SHORTEST_LINE = 1e-9


#: Sign in the vector from the first point to the second, (chain, segment), and point of both ends.
Ends: TypeAlias = tuple[tuple[float, tuple[str, str], FloatArray], ...]


@dataclass(frozen=True, eq=False)
class Connection:
    """Connection of points of two segments, or of a segment and the ground.

    Parameters
    ----------
    name : str
        Name of the link or closure.
    first, second : (str, str)
        Chain and segment of either end, or `GROUND`.
    first_point, second_point : (2,) float64
        The points in the frames of the segments [m]; on the ground, in the global frame.

    Raises
    ------
    InputError
        If an end is not stated as (chain, segment), or both ends are the same.
    """

    name: str
    first: tuple[str, str]
    first_point: FloatArray
    second: tuple[str, str]
    second_point: FloatArray
    #: Kind of the connection in messages.
    called: ClassVar[str]

    def __post_init__(self) -> None:
        for end in ("first", "second"):
            where = getattr(self, end)
            if not (isinstance(where, tuple) and [type(each) for each in where] == [str, str]):
                raise InputError(f"{self.label}: {end}: expected (chain, segment), found {where!r}")
        check_fields(self, f"{self.label}: ", first_point=(2,), second_point=(2,))
        if self.first == self.second:
            raise InputError(
                f"{self.label}: second: expected a segment other than {self.first}, found the same"
            )

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.called} {self.name}"

    @property
    def ends(self) -> Ends:
        """Sign in the vector from the first point [1], (chain, segment) and point (2,) [m]."""
        return (-1.0, self.first, self.first_point), (1.0, self.second, self.second_point)


@dataclass(frozen=True, eq=False)
class PinClosure(Connection):
    """A pin that holds points of two segments together and so closes a structure."""

    called: ClassVar[str] = "closure"


@dataclass(frozen=True, eq=False)
class ViscoelasticLink(Connection):
    """A visco-elastic link between two segments, or a segment and the ground.

    Parameters
    ----------
    name, first, first_point, second, second_point
        As of `Connection`.
    stiffness : float
        k [N/m], >= 0.
    damping : float
        c [N s/m], >= 0.
    rest_length : float
        l0 [m], >= 0; zero for a bushing.
    kind : {"line", "bushing"}
        The law.
    rotational_stiffness : float
        k' [N m/rad], >= 0.
    rotational_damping : float
        c' [N m s/rad], >= 0.
    rest_angle : float
        ψ0, the angle of the second segment from the first without torque [rad]. Angles are not
        reduced to one turn.
    pull_only : bool
        Whether a line only pulls. With damping, its tension jumps from 0 to c dl/dt where the line
        becomes taut.
    """

    stiffness: float
    damping: float = 0.0
    rest_length: float = 0.0
    kind: str = "line"
    rotational_stiffness: float = 0.0
    rotational_damping: float = 0.0
    rest_angle: float = 0.0
    pull_only: bool = False
    called: ClassVar[str] = "link"

    def __post_init__(self) -> None:
        super().__post_init__()
        of = f"{self.label}:"
        check_in(f"{of} kind", self.kind, LINK_KINDS)
        longest = 0.0 if self.kind == "bushing" else None
        check_numbers(
            self,
            f"{of} ",
            at_least=0.0,
            stiffness="N/m",
            damping="N s/m",
            rotational_stiffness="N m/rad",
            rotational_damping="N m s/rad",
        )
        check_numbers(self, f"{of} ", rest_angle="rad")
        check_number(f"{of} rest_length", self.rest_length, at_least=0.0, at_most=longest, unit="m")
        if self.pull_only and self.kind != "line":
            raise InputError(f"{of} pull_only: expected the kind 'line', found {self.kind!r}")


class LinkLaws(NamedTuple):
    """Laws of L links; every field (L,) has one entry per link [N/m, N s/m, m].

    `turning_stiffness`, `turning_damping` and `rest_angle` are those of the torques
    [N m/rad, N m s/rad, rad].
    """

    names: tuple[str, ...]
    stiffness: FloatArray
    damping: FloatArray
    rest_length: FloatArray
    is_line: np.ndarray
    pulls_only: np.ndarray
    turning_stiffness: FloatArray
    turning_damping: FloatArray
    rest_angle: FloatArray

    @classmethod
    def of(cls, links: Sequence[ViscoelasticLink]) -> LinkLaws:
        """Return the laws of a possibly empty sequence of links."""

        def values(field: str) -> FloatArray:
            return np.array([getattr(each, field) for each in links], dtype=np.float64)

        return cls(
            tuple(each.name for each in links),
            values("stiffness"),
            values("damping"),
            values("rest_length"),
            np.array([each.kind == "line" for each in links], dtype=np.bool_),
            np.array([each.pull_only for each in links], dtype=np.bool_),
            values("rotational_stiffness"),
            values("rotational_damping"),
            values("rest_angle"),
        )

    def forces(self, vector: ComplexArray, velocity: ComplexArray) -> ComplexArray:
        """Return the force (L,) [N] on the second point of each link.

        From the vectors (L,) [m] from the first to the second points and their rates [m/s]. Raises
        `SimulationError` if the points of a line coincide, so that the line has no direction.
        """
        length = np.abs(vector)
        acts = self.is_line & ((self.stiffness > 0.0) | (self.damping > 0.0))
        coinciding = acts & (length < SHORTEST_LINE)
        if coinciding.any() and (coinciding & ~self._slack(length)).any():
            raise SimulationError(
                f"link {self.names[int(np.argmax(coinciding))]}: the points of a line coincide and "
                "define no direction; use the kind 'bushing' for points held together"
            )
        direction = vector / np.where(length > 0.0, length, 1.0)
        speed = (direction.conj() * velocity).real
        stretch = vector - self.rest_length * direction
        damped = np.where(self.is_line, speed * direction, velocity)
        force = -self.stiffness * stretch - self.damping * damped
        if not self.pulls_only.any():
            return force
        tension = self.stiffness * (length - self.rest_length) + self.damping * speed
        idle = self.pulls_only & (self._slack(length) | (tension <= 0.0))
        return np.where(idle, 0.0, force)

    def torques(self, angle: FloatArray, rate: FloatArray) -> FloatArray:
        """Return the torque (L,) [N m] on the second segment of each link.

        From the angles (L,) [rad] of the second segments from the first, and their rates [rad/s].
        """
        return -self.turning_stiffness * (angle - self.rest_angle) - self.turning_damping * rate

    def energy(self, vector: ComplexArray, angle: FloatArray) -> float:
        """Return the energy [J] stored in links with vectors (L,) [m] and angles (L,) [rad]."""
        length = np.abs(vector)
        stretch = np.where(self._slack(length), 0.0, length - self.rest_length)
        turn = angle - self.rest_angle
        return float(0.5 * (self.stiffness @ stretch**2 + self.turning_stiffness @ turn**2))

    def _slack(self, length: FloatArray) -> np.ndarray:
        """Return which links (L,) only pull and are not longer than at rest."""
        return self.pulls_only & (length <= self.rest_length)
