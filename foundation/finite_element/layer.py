"""Elastic layer of one body: material and base."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.base.checks import check_number
from foundation.base.errors import InputError
from foundation.finite_element.base import Base


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

    Raises
    ------
    InputError
        If the modulus is not positive, Poisson's ratio not between -1 and 0.4999, or the base not a
        base.
    """

    youngs_modulus: float
    poissons_ratio: float
    base: Base

    def __post_init__(self) -> None:
        check_number("youngs_modulus", self.youngs_modulus, above=0.0, unit="Pa")
        check_number("poissons_ratio", self.poissons_ratio, above=-1.0, at_most=0.4999)
        if not hasattr(self.base, "below"):
            raise InputError(
                f"base: expected PlaneBase, SolidBase or ThicknessBase, found {self.base!r}"
            )
