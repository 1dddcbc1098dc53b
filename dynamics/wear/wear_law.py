"""Material of the insert in the law of Archard, and what is worn off."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foundation.checks import FloatArray, check_array, check_number, frozen


@dataclass(frozen=True)
class WearLaw:
    """Material of the insert; by default ultra-high molecular weight polyethylene.

    Parameters
    ----------
    factor : float
        Wear factor k [1/Pa = m³/(N m)], >= 0. The default, 1e-7 mm³/(N m), is an order of
        magnitude for polyethylene on polished metal; a material's own depends on roughness,
        pressure and the crossing of directions, and scales all results.
    density : float
        Density [kg/m³], > 0.

    Raises
    ------
    InputError
        If a value is out of its range.
    """

    factor: float = 1e-16
    density: float = 940.0

    def __post_init__(self) -> None:
        check_number("factor", self.factor, at_least=0.0, unit="1/Pa")
        check_number("density", self.density, above=0.0, unit="kg/m³")


@dataclass(frozen=True, eq=False)
class Wear:
    """What is worn off the insert.

    Parameters
    ----------
    volume : (2,) float64
        Medial and lateral [m³].
    density : float
        Of the insert [kg/m³].
    depth : (F,) float64, optional
        Along the normal of each tibial triangle [m], where it is known.
    """

    volume: FloatArray
    density: float = WearLaw.density
    depth: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "volume", frozen(check_array("volume", self.volume, (2,))))
        if self.depth is not None:
            object.__setattr__(self, "depth", frozen(check_array("depth", self.depth, (None,))))

    @property
    def total_volume(self) -> float:
        """Volume of both compartments [m³]."""
        return float(self.volume.sum())

    @property
    def mass(self) -> float:
        """Mass of both compartments [kg]."""
        return self.density * self.total_volume

    def after(self, cycles: float) -> Wear:
        """Return the wear of that many cycles if each wears as these did.

        Raises
        ------
        InputError
            If `cycles` is negative.
        """
        factor = check_number("cycles", cycles, at_least=0.0)
        depth = None if self.depth is None else factor * self.depth
        return replace(self, volume=factor * self.volume, depth=depth)
