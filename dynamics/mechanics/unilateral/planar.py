"""Planar structures: segments on pins, free nodes, and straight members between them.

Freedoms are the rotation of every segment about its own joint against the fixed frame [rad,
anticlockwise], then x and y of every node [m]. A segment carries the joints of its children along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foundation.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.errors import InputError

#: The body that does not move.
GROUND = "ground"


@dataclass(frozen=True, eq=False)
class Segment:
    """A rigid body on a pin; its joint (2,) [m], and the body that carries it."""

    name: str
    joint: FloatArray
    parent: str = GROUND

    def __post_init__(self) -> None:
        point = check_array(f"segment {self.name}: joint", self.joint, (2,))
        object.__setattr__(self, "joint", frozen(point))


@dataclass(frozen=True, eq=False)
class Member:
    """A straight member between two bodies (a segment, a node or `GROUND`).

    Its ends `start` and `end` are points (2,) [m]; an end on a node lies where the node does.
    """

    start_body: str
    start: FloatArray
    end_body: str
    end: FloatArray
    stiffness: float

    def __post_init__(self) -> None:
        of = f"member {self.start_body} to {self.end_body}:"
        for name in ("start", "end"):
            point = check_array(f"{of} {name}", getattr(self, name), (2,))
            object.__setattr__(self, name, frozen(point))
        stiffness = check_number(f"{of} stiffness", self.stiffness, above=0.0, unit="N/m")
        object.__setattr__(self, "stiffness", stiffness)
        check_number(f"{of} length", np.linalg.norm(self.end - self.start), above=0.0, unit="m")

    @property
    def pull(self) -> FloatArray:
        """Force of a unit tension on the body at the start, (2,); on the other the opposite."""
        line = self.end - self.start
        return line / np.linalg.norm(line)


class PlanarStructure:
    """Segments, nodes and members; gives what `solve_structure` takes.

    Parameters
    ----------
    segments : sequence of Segment
        Parents before children.
    members : sequence of Member
        In the order of the columns.
    nodes : sequence of str
        Names of the free nodes.

    Raises
    ------
    InputError
        If a name is there twice, or a parent or body is unknown.
    """

    def __init__(
        self, segments: Sequence[Segment], members: Sequence[Member], nodes: Sequence[str] = ()
    ) -> None:
        self.segments, self.members, self.nodes = tuple(segments), tuple(members), tuple(nodes)
        known = [GROUND]
        for segment in self.segments:
            check_in(f"segment {segment.name}: parent", segment.parent, known)
            known.append(segment.name)
        known += self.nodes
        if len(set(known)) < len(known):
            raise InputError(f"bodies: expected names that differ, found {known}")
        for member in self.members:
            for body in (member.start_body, member.end_body):
                check_in("member: body", body, known)
        self._chains = {GROUND: ()} | self._carriers()

    def _carriers(self) -> dict[str, tuple[int, ...]]:
        """Return, of every segment, itself and the segments that carry it."""
        rows = {segment.name: row for row, segment in enumerate(self.segments)}
        chains: dict[str, tuple[int, ...]] = {GROUND: ()}
        for segment in self.segments:
            chains[segment.name] = (rows[segment.name], *chains[segment.parent])
        return chains

    @property
    def stiffness(self) -> FloatArray:
        """Of the members, (n_members,) [N/m]."""
        return np.array([member.stiffness for member in self.members])

    @property
    def balance(self) -> FloatArray:
        """Generalised force of a unit tension, (n_segments + 2 n_nodes, n_members)."""
        columns = [
            self.generalised_force(member.start_body, member.start, member.pull)
            + self.generalised_force(member.end_body, member.end, -member.pull)
            for member in self.members
        ]
        return np.array(columns).reshape(-1, len(self.segments) + 2 * len(self.nodes)).T

    def generalised_force(self, body: str, point: ArrayLike, force: ArrayLike) -> FloatArray:
        """Return the generalised force of a force (2,) [N] at a point (2,) [m] of a body."""
        at, f = check_array("point", point, (2,)), check_array("force", force, (2,))
        result = np.zeros(len(self.segments) + 2 * len(self.nodes))
        if body in self.nodes:
            row = len(self.segments) + 2 * self.nodes.index(body)
            result[row : row + 2] = f
            return result
        arm = at
        for row in self._chains[check_in("body", body, self._chains)]:
            # The rotation of a carrier moves the joint that it carries, its own moves the point.
            lever = arm - self.segments[row].joint
            result[row] = lever[0] * f[1] - lever[1] * f[0]
            arm = self.segments[row].joint
        return result

    def joint_reactions(self, forces: ArrayLike) -> FloatArray:
        """Return the force of every joint on its segment, (n_segments, 2) [N].

        It balances the members alone: loads on segments are moments, or are to be added.

        Parameters
        ----------
        forces : (n_members,) float64
            Tensions [N].
        """
        tension = check_array("forces", forces, (len(self.members),))
        reactions = np.zeros((len(self.segments), 2))
        for member, f in zip(self.members, tension, strict=True):
            for body, pull in ((member.start_body, member.pull), (member.end_body, -member.pull)):
                for row in self._chains.get(body, ()):
                    reactions[row] -= f * pull
        return reactions
