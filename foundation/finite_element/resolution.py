"""Error of the node spacing, estimated from the same model with nodes twice as far apart."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AREA, AXIAL_FORCE, CENTRE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.finite_element.model import peak_unresolved
from foundation.surface_contact import NodalContact
from foundation.surfaces.triangle_mesh import MeshWarning

#: Order of convergence in the spacing.
_ORDER = 2.0

Model = TypeVar("Model", bound=NodalContact)


@dataclass(frozen=True)
class SpacingError:
    """Root mean square of the estimated errors over poses and compartments in contact."""

    #: Error of the axial force, relative to the largest [1].
    force: float
    #: Error of the peak pressure, relative to the largest [1].
    peak_pressure: float
    #: Error of the area, relative to the largest [1].
    area: float
    #: Error of the centre of pressure [m].
    centre: float
    #: Number of poses.
    poses: int
    #: Poses with a flagged peak pressure: that of an edge has no limit to extrapolate to.
    unresolved: int


def extrapolated(coarse: FloatArray, fine: FloatArray, ratio: float = 2.0) -> FloatArray:
    """Return loads (..., 12) [N, N m, m², Pa, m] by Richardson's extrapolation."""
    return fine + (fine - coarse) / (ratio**_ORDER - 1.0)


def coarser(model: Model) -> Model:
    """Return the model with nodes twice as far apart, without repeated warnings about its mesh."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return model.with_spacing(2.0 * model.spacing)


def spacing_error(model: NodalContact, poses: Sequence[Pose]) -> SpacingError:
    """Estimate the error of a model's spacing at poses, by extrapolation from twice the spacing."""
    second = coarser(model)
    found = model.loads(poses)
    fine, coarse = found.values, second.loads(poses).values
    error = extrapolated(coarse, fine) - fine
    touching = (fine[..., AXIAL_FORCE] > 0.0) & (coarse[..., AXIAL_FORCE] > 0.0)
    if not touching.any():
        raise InputError(
            "poses: expected poses in contact for the error of the node spacing, found none"
        )

    def relative(column: int) -> float:
        return _mean_square(error[..., column][touching]) / float(fine[..., column].max())

    moved = np.linalg.norm(error[..., CENTRE], axis=-1)[touching]
    return SpacingError(
        relative(AXIAL_FORCE),
        relative(PEAK_PRESSURE),
        relative(AREA),
        _mean_square(moved),
        len(poses),
        sum(map(peak_unresolved, found.flags)),
    )


def _mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
