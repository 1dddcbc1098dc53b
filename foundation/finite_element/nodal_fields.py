"""Overlap and pressure at the nodes of a finite-element model, from which triangles interpolate."""

from __future__ import annotations

from typing import NamedTuple

from foundation.base.checks import FloatArray, IntArray, frozen
from foundation.base.loads import SpringState, compartment_index
from foundation.base.pose import Pose
from foundation.finite_element.model import FiniteElementContact


class NodalPlaces(NamedTuple):
    """Candidate nodes of a compartment.

    `points` (C, 3) [m], unit `normals` (C, 3) and `areas` (C,) [m²] of the nodes; the tibial
    `triangles` (T,) and the nodes `corners` (T, 3) whose values, times `shares` (T, 3) [1], give
    that of a triangle in `FiniteElementContact.spring_state`.
    """

    points: FloatArray
    normals: FloatArray
    areas: FloatArray
    triangles: IntArray
    corners: IntArray
    shares: FloatArray


def nodal_places(model: FiniteElementContact, compartment: str) -> NodalPlaces:
    """Return the candidate nodes of a compartment; InputError if the name is unknown."""
    side = compartment_index(compartment, model.compartment_names)
    layer, values = model.layers[side], model.triangle_values[side]
    return NodalPlaces(
        layer.points, layer.normals, layer.areas, values.triangles, values.corners, values.shares
    )


def nodal_state(model: FiniteElementContact, pose: Pose, compartment: str) -> SpringState:
    """Return overlap (C,) [m] and pressure (C,) [Pa] at the candidate nodes of a compartment.

    The overlap is that of the undeformed surfaces, in contact or not; it is 0 where the surfaces
    are apart. Raises as `FiniteElementContact.compartment_loads`.
    """
    contact = model.contacts[compartment_index(compartment, model.compartment_names)]
    state = contact.state(pose, model.femoral_handle(), jacobian=False)
    return SpringState(frozen(state.overlaps), frozen(state.pressures))
