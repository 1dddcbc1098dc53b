"""Archard's wear law (Archard 1953, J Appl Phys 24:981-988), and worn volumes and depths."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foundation.base.checks import FloatArray, check_fields, check_number, check_numbers


@dataclass(frozen=True)
class WearLaw:
    """Material of the insert; by default ultra-high molecular weight polyethylene.

    Parameters
    ----------
    factor : float
        Wear factor k [1/Pa = m³/(N m)], >= 0; all results are proportional to it. The default,
        1e-7 mm³/(N m), is the order of magnitude for polyethylene on polished metal; the factor of
        a material depends on roughness, pressure and cross-shear.
    density : float
        Density [kg/m³], > 0.
    """

    factor: float = 1e-16
    density: float = 940.0

    def __post_init__(self) -> None:
        check_numbers(self, at_least=0.0, factor="1/Pa")
        check_numbers(self, above=0.0, density="kg/m³")


@dataclass(frozen=True, eq=False)
class Wear:
    """Wear of the insert.

    Parameters
    ----------
    volume : (2,) float64
        Worn volume, medial and lateral [m³].
    density : float
        Density of the insert [kg/m³].
    depth : (F,) float64, optional
        Worn depth along the normal of each tibial triangle [m], where known.
    """

    volume: FloatArray
    density: float = WearLaw.density
    depth: FloatArray | None = None

    def __post_init__(self) -> None:
        check_fields(self, volume=(2,), depth=(None,))

    @property
    def total_volume(self) -> float:
        """Worn volume of both compartments [m³]."""
        return float(self.volume.sum())

    @property
    def mass(self) -> float:
        """Worn mass of both compartments [kg]."""
        return self.density * self.total_volume

    def after(self, cycles: float) -> Wear:
        """Return the wear after a number of cycles of equal wear."""
        factor = check_number("cycles", cycles, at_least=0.0)
        depth = None if self.depth is None else factor * self.depth
        return replace(self, volume=factor * self.volume, depth=depth)
