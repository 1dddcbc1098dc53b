"""The Grand Challenge insert as a finite-element model, for the benchmarks."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.knees import data_folder, gait_poses, load_knee
from foundation.base.pose import Pose
from foundation.finite_element.base import SolidBase
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.model import FiniteElementContact
from foundation.surfaces import load_mesh
from foundation.surfaces.mesh import TriangleMesh

#: Young's modulus [Pa] and Poisson's ratio of the polyethylene.
POLYETHYLENE = (463e6, 0.46)
_SOLID = "grand_challenge_DM_implant/Tibial Insert decimated.stl"


@cache
def surfaces() -> tuple[TriangleMesh, TriangleMesh, TriangleMesh] | None:
    """Return femur, bearing surface and solid of the insert; None where the data is absent."""
    knee, path = load_knee("grand challenge"), data_folder() / _SOLID
    if knee is None or not path.is_file():
        return None
    return *knee, load_mesh(path, unit="m", axes=("-x", "y", "-z"))


def fresh_model(spacing: float, **options: Any) -> FiniteElementContact | None:
    """Return the model at a node spacing [m], not condensed; None where the data is absent.

    `options` are passed to `FiniteElementContact`.
    """
    found = surfaces()
    if found is None:
        return None
    femur, tibia, solid = found
    layer = ElasticLayer(*POLYETHYLENE, SolidBase(solid))
    return FiniteElementContact(femur, tibia, layer, spacing=spacing, **options)


@cache
def insert_model(spacing: float) -> FiniteElementContact | None:
    """Return the condensed model at a node spacing [m]; None where the data is absent."""
    model = fresh_model(spacing)
    if model is not None:
        model.prepare()
    return model


@cache
def insert_poses() -> tuple[Pose, ...]:
    """Return six poses of level walking in equilibrium on the model of 1 mm spacing."""
    model = insert_model(1e-3)
    return () if model is None else tuple(gait_poses(model, 6))
