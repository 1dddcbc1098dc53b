"""Checks of the arguments of a finite-element model, before anything is meshed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import check_array
from foundation.base.errors import InputError
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.size import check_area
from foundation.surfaces.triangle_mesh import TriangleMesh


def check_layer(name: str, layer: Any) -> None:
    """Raise an InputError if the argument `name` is not an elastic layer."""
    if not isinstance(layer, ElasticLayer):
        raise InputError(f"{name}: expected an ElasticLayer, found {layer!r}")


def check_compartments(
    tibia: TriangleMesh,
    compartments: NDArray[np.int8],
    candidates: NDArray[np.bool_],
    spacing: float,
    names: tuple[str, ...],
) -> None:
    """Raise an InputError if a compartment (F,) faces down or is too large for the spacing [m]."""
    for side, name in enumerate(names):
        own = compartments == side
        up = float(tibia.area_vectors[own, 1].sum() / tibia.areas[own].sum())
        if up <= 0.0:
            raise InputError(
                f"{tibia.name}: the mean normal of the {name} compartment has the superior "
                f"component {up:.2f} (expected > 0, out of the layer); flip the normals, or check "
                "the axes"
            )
        check_area(name, float(tibia.areas[own & candidates].sum()), spacing)


def checked_candidates(
    compartments: NDArray[np.int8], candidates: ArrayLike | None, names: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Return whether the femur may touch each triangle, (F,) [1], checked; all by default."""
    if candidates is None:
        return np.ones(len(compartments), dtype=np.bool_)
    chosen = check_array("candidates", candidates, (len(compartments),)) != 0.0
    for side, name in enumerate(names):
        if not (chosen & (compartments == side)).any():
            raise InputError(
                f"candidates: expected triangles of the {name} compartment, found none"
            )
    return chosen
