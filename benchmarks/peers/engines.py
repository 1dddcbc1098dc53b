"""The engines behind one face: set up once, then force on the femur at a pose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from benchmarks.exact import stiffness_of
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.surfaces import TriangleMesh


@dataclass(frozen=True, eq=False)
class Contact:
    """What every engine is given.

    Parameters
    ----------
    femur, insert : TriangleMesh
        A rigid femur and the insert that deforms, articular surfaces [m].
    labels : (F,) int8 or None
        Compartment of each triangle of the insert, where known.
    law : LinearLaw
        Of uniform thickness.
    """

    femur: TriangleMesh
    insert: TriangleMesh
    labels: FloatArray | None
    law: LinearLaw

    @property
    def stiffness(self) -> float:
        """K of p = K d [Pa/m]."""
        return stiffness_of(self.law)


class Engine(Protocol):
    """A contact engine set up for two meshes."""

    def evaluate(self, pose: Pose) -> object:
        """Compute the contact at a pose, forces and moments included; this is what is timed."""
        ...

    def force(self, pose: Pose) -> FloatArray:
        """Return the force on the femur, tibial frame, (3,) [N]."""
        ...


class Ours:
    """The original model of this project."""

    def __init__(self, contact: Contact, surface: str) -> None:
        self._model = ElasticFoundation(
            contact.femur,
            contact.insert,
            contact.law,
            surface=surface,
            compartments=contact.labels,
        )

    def evaluate(self, pose: Pose) -> object:
        """Compute the loads of both compartments, areas and pressures included."""
        return self._model.evaluate(pose)

    def force(self, pose: Pose) -> FloatArray:
        """Return the force on the femur, tibial frame, (3,) [N]."""
        return self._model.evaluate(pose).force


def without_normals(contact: Contact) -> Contact:
    """Return the same triangles without normals, as of a scan."""
    bare = (replace(mesh, vertex_normals=None) for mesh in (contact.femur, contact.insert))
    return Contact(*bare, contact.labels, contact.law)


@dataclass(frozen=True)
class Entry:
    """An engine of the comparison.

    Parameters
    ----------
    name : str
        As the table calls it.
    rule : str
        Its own definition of the force, one of `benchmarks.exact.RULES`.
    builds : tuple of callable
        Ways to set it up for a contact; the fastest that answers rightly counts.
    """

    name: str
    rule: str
    builds: tuple[Callable[[Contact], Engine], ...]
