"""Elastic layer of one body: material and base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray, check_fields, check_number
from foundation.base.errors import InputError
from foundation.finite_element.base import Base

#: Largest deviation of a rotation matrix from orthogonality.
_UNIT = 1e-9


@dataclass(frozen=True, eq=False)
class ElasticLayer:
    """A linear-elastic layer between a bearing surface and a base on which it does not move.

    Parameters
    ----------
    youngs_modulus : float
        Young's modulus [Pa].
    poissons_ratio : float
        Poisson's ratio [1].
    base : Base
        Where the layer ends, see `foundation.finite_element.base`.
    axes : (3, 3) float64, optional
        Anterior, superior and lateral axis of the component with the layer, as rows of a rotation
        matrix [1], along which the tibial layer is meshed; by default those of the frame.
    """

    youngs_modulus: float
    poissons_ratio: float
    base: Base
    axes: FloatArray | None = None

    def __post_init__(self) -> None:
        check_number("youngs_modulus", self.youngs_modulus, above=0.0, unit="Pa")
        check_number("poissons_ratio", self.poissons_ratio, above=-1.0, at_most=0.4999)
        if not hasattr(self.base, "below"):
            raise InputError(
                f"base: expected PlaneBase, SolidBase or ThicknessBase, found {self.base!r}"
            )
        check_fields(self, axes=(3, 3))
        if self.axes is not None and not _is_rotation(self.axes):
            raise InputError(
                f"axes: expected rows of a rotation matrix, found {self.axes.tolist()}"
            )


def _is_rotation(axes: FloatArray) -> bool:
    return np.allclose(axes @ axes.T, np.eye(3), atol=_UNIT) and float(np.linalg.det(axes)) > 0.0
