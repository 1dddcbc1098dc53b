"""Planar structures: segments on pins, free nodes, and straight members between them.

Degrees of freedom are the absolute rotation of every segment about its joint [rad, anticlockwise],
then x and y of every node [m]. A segment moves the joints of its children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.planar_chain import as_complex, generalised_force
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    check_numbers,
    check_unique,
)

#: Name of the fixed body.
GROUND = "ground"


@dataclass(frozen=True, eq=False)
class PinnedSegment:
    """A rigid segment that turns about a joint (2,) [m] on another body, its parent."""

    name: str
    joint: FloatArray
    parent: str = GROUND

    def __post_init__(self) -> None:
        check_fields(self, f"segment {self.name}: ", joint=(2,))


@dataclass(frozen=True, eq=False)
class Member:
    """A straight member between two bodies (a segment, a node or `GROUND`).

    Parameters
    ----------
    start_body, end_body : str
        Names of the bodies.
    start, end : (2,) float64
        Ends in the global frame [m]; an end on a node is at the node.
    stiffness : float
        Force per elongation [N/m], > 0.
    two_sided : bool
        Whether the member pushes as well as pulls, as a bar does.
    """

    start_body: str
    start: FloatArray
    end_body: str
    end: FloatArray
    stiffness: float
    two_sided: bool = False

    def __post_init__(self) -> None:
        of = f"member {self.start_body} to {self.end_body}:"
        check_fields(self, f"{of} ", start=(2,), end=(2,))
        check_numbers(self, f"{of} ", above=0.0, stiffness="N/m")
        check_number(f"{of} length", np.linalg.norm(self.end - self.start), above=0.0, unit="m")

    @property
    def pull(self) -> FloatArray:
        """Force (2,) [1] of a unit tension on the body at the start; opposite at the end."""
        line = self.end - self.start
        return line / np.linalg.norm(line)


class PlanarStructure:
    """Segments, nodes and members, as `solve_structure` takes them.

    Parameters
    ----------
    segments : sequence of PinnedSegment
        Parents before children.
    members : sequence of Member
        Members in the order of the columns of `balance`.
    nodes : sequence of str
        Names of the free nodes.

    Raises
    ------
    InputError
        If a name is repeated, or a parent or body is unknown.
    """

    def __init__(
        self,
        segments: Sequence[PinnedSegment],
        members: Sequence[Member],
        nodes: Sequence[str] = (),
    ) -> None:
        self.segments, self.members, self.nodes = tuple(segments), tuple(members), tuple(nodes)
        known = [GROUND]
        for segment in self.segments:
            check_in(f"segment {segment.name}: parent", segment.parent, known)
            known.append(segment.name)
        known += self.nodes
        check_unique("bodies", known)
        for member in self.members:
            for body in (member.start_body, member.end_body):
                check_in("member: body", body, known)
        # Of every segment its own index and those of the segments that carry it.
        self._chains: dict[str, tuple[int, ...]] = {GROUND: ()}
        for row, segment in enumerate(self.segments):
            self._chains[segment.name] = (row, *self._chains[segment.parent])

    @property
    def stiffness(self) -> FloatArray:
        """Stiffnesses of the m members, (m,) [N/m]."""
        return np.array([member.stiffness for member in self.members])

    @property
    def two_sided(self) -> NDArray[np.bool_]:
        """Whether each of the m members pushes as well as pulls, (m,) bool [1]."""
        return np.array([member.two_sided for member in self.members], dtype=np.bool_)

    @property
    def balance(self) -> FloatArray:
        """Balance matrix (n, m) [m, 1]: generalised forces of unit tensions of the m members.

        The n degrees of freedom are the rotations of the segments and two displacements of each
        node.
        """
        columns = [
            self.generalised_force(member.start_body, member.start, member.pull)
            + self.generalised_force(member.end_body, member.end, -member.pull)
            for member in self.members
        ]
        return np.array(columns).reshape(len(columns), len(self.segments) + 2 * len(self.nodes)).T

    def generalised_force(self, body: str, point: ArrayLike, force: ArrayLike) -> FloatArray:
        """Return the generalised force (n_dof,) [N m, N] of a force at a point of a body.

        Parameters
        ----------
        body : str
            Segment, node or `GROUND`.
        point, force : (2,) array_like
            Point [m] and force [N] in the global frame.
        """
        at, f = check_array("point", point, (2,)), check_array("force", force, (2,))
        result = np.zeros(len(self.segments) + 2 * len(self.nodes))
        if body in self.nodes:
            row = len(self.segments) + 2 * self.nodes.index(body)
            result[row : row + 2] = f
            return result
        rows = list(self._chains[check_in("body", body, self._chains)])
        joints = [self.segments[row].joint for row in rows]
        # A rotation moves the joint of the next segment outwards, and of the last one the point.
        arms = -np.diff(as_complex(np.array([at, *joints])))
        result[rows] = generalised_force(1j * arms[None], as_complex(f)[None])
        return result

    def joint_reactions(
        self, forces: ArrayLike, loads: Sequence[tuple[str, ArrayLike]] = ()
    ) -> FloatArray:
        """Return the force of every joint on its segment, (s, 2) [N], in the global frame.

        Parameters
        ----------
        forces : (m,) array_like
            Tensions of the members [N].
        loads : sequence of (str, (2,) array_like)
            Body and external force on it [N]; by default none.
        """
        tension = check_array("forces", forces, (len(self.members),))
        reactions = np.zeros((len(self.segments), 2))
        pulls = [(check_in("loads: body", body, self._bodies()), f) for body, f in loads]
        for member, f in zip(self.members, tension, strict=True):
            pulls += [(member.start_body, f * member.pull), (member.end_body, -f * member.pull)]
        for body, pull in pulls:
            for row in self._chains.get(body, ()):
                reactions[row] -= check_array("loads: force", pull, (2,))
        return reactions

    def _bodies(self) -> list[str]:
        return [*self._chains, *self.nodes]
