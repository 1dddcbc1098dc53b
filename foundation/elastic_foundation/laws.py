"""Spring laws, pressure over indentation, as stacks of elastic layers (struct `law`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_number, frozen
from foundation.base.errors import InputError
from foundation.core.library import CORE, LOGARITHMIC, POWER, Record, address


@dataclass(frozen=True, eq=False)
class LayerArrays:
    """Arrays of a law: L layers of S springs."""

    #: (L,), `POWER` or `LOGARITHMIC`.
    kinds: NDArray[np.int64]
    #: m (L,) [1].
    exponents: FloatArray
    #: 1/f (L,) [1].
    offsets: FloatArray
    #: c (L, S) [Pa/m^m, or Pa for the logarithmic kind].
    coefficients: FloatArray
    #: h (L, S) [m].
    thicknesses: FloatArray

    @property
    def arguments(self) -> tuple[NDArray[np.int64], FloatArray, FloatArray, FloatArray, FloatArray]:
        """Arrays (L,), (L, S) [1, Pa, m] in the order of the fields."""
        return self.kinds, self.exponents, self.offsets, self.coefficients, self.thicknesses

    @property
    def moduli(self) -> FloatArray:
        """Modulus of the last layer (S,) [Pa], of laws that depend on its strain alone."""
        factors = self.coefficients[-1]
        return factors if self.kinds[-1] == LOGARITHMIC else factors * self.thicknesses[-1]

    def record(self, **fields: Any) -> Record:
        """Return the struct `law` of these layers and other fields."""
        layers, springs = self.coefficients.shape
        return Record(
            "law",
            layers=layers,
            springs=springs,
            kinds=self.kinds,
            exponents=self.exponents,
            offsets=self.offsets,
            coefficients=self.coefficients,
            thicknesses=self.thicknesses,
            **fields,
        )

    def merged(self) -> LayerArrays:
        """Return linear layers in series as one, which has the largest strain of these."""
        linear = (self.kinds == POWER) & (self.exponents == 1.0) & (self.offsets == 0.0)
        if len(linear) == 1 or not linear.all():
            return self
        coefficient = 1.0 / (1.0 / self.coefficients).sum(axis=0, keepdims=True)
        stiffest = (self.coefficients * self.thicknesses).min(axis=0, keepdims=True)
        first = self.kinds[:1], self.exponents[:1], self.offsets[:1]
        return LayerArrays(*first, coefficient, stiffest / coefficient)


class SpringLaw(ABC):
    """Pressure of a spring as a function of its indentation."""

    @abstractmethod
    def layers(self, springs: int) -> LayerArrays:
        """Return the layers of the law for a bed of that many springs.

        Raises
        ------
        InputError
            If the law has a thickness per spring and the numbers differ.
        """

    @abstractmethod
    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> SpringLaw:
        """Return the law with another thickness array, for example interpolated to springs.

        Parameters
        ----------
        change : callable
            Function from the thickness array of a layer to the new array, (N,) -> (S,) [m]. A layer
            of one thickness for all springs stays unchanged without a call.
        """

    def pressure(
        self, indentation: ArrayLike, patch_indentation: float | None = None
    ) -> FloatArray:
        """Return the pressure of each spring of one contact patch.

        Parameters
        ----------
        indentation : (S,) float64
            Indentation of each spring [m], 0 or less out of contact.
        patch_indentation : float, optional
            Largest indentation of the patch [m]; by default the largest of `indentation`. Required
            if the deepest spring is not among the springs. Only the modified law uses this value.

        Returns
        -------
        (S,) float64
            Pressure [Pa].
        """
        depths = np.ascontiguousarray(check_array("indentation", indentation, (None,)))
        layers = self.layers(len(depths))
        deepest = int(np.argmax(depths)) if len(depths) else 0
        largest = depths.max(initial=0.0) if patch_indentation is None else patch_indentation
        pressures, record = np.empty(len(depths)), layers.record()
        if len(depths):
            CORE.law_pressures(
                record.address, len(depths), address(depths), deepest, largest,
                address(pressures), 0,
            )  # fmt: skip
        return pressures


@dataclass(frozen=True, eq=False)
class LayerLaw(SpringLaw):
    """Law of one elastic layer; Poisson's ratio is below 0.5, where the modulus is infinite."""

    youngs_modulus: float
    poissons_ratio: float
    #: h [m], one for all springs or (N,): one per spring, tibial triangle or tibial vertex.
    #: `layers` and `pressure` need one per spring, which `mapped` interpolates. That of a femoral
    #: layer belongs to tibial springs too: it is the thickness where the femur meets the spring.
    thickness: float | FloatArray

    def __post_init__(self) -> None:
        check_number("youngs_modulus", self.youngs_modulus, above=0.0, unit="Pa")
        check_number("poissons_ratio", self.poissons_ratio, above=-1.0, below=0.5)
        thickness = check_array("thickness", self.thickness)
        if thickness.ndim > 1:
            raise InputError(
                f"thickness: expected a number or one per spring, found shape {thickness.shape}"
            )
        if thickness.size == 0 or thickness.min() <= 0.0:
            raise InputError(
                f"thickness: expected > 0 m everywhere, found {thickness.min(initial=np.inf):g} m"
            )
        if thickness.max() > 0.1:
            raise InputError(
                f"thickness: expected <= 0.1 m, found {thickness.max():g} m; give metres, not "
                "millimetres"
            )
        object.__setattr__(
            self, "thickness", frozen(thickness) if thickness.ndim else float(thickness)
        )

    @property
    def confined_modulus(self) -> float:
        """Confined modulus C E = (1 - nu) E / ((1 + nu)(1 - 2 nu)) [Pa]."""
        nu = self.poissons_ratio
        return (1.0 - nu) * self.youngs_modulus / ((1.0 + nu) * (1.0 - 2.0 * nu))

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> Self:
        """Return the law with another thickness array (N,) -> (S,) [m]; see `SpringLaw.mapped`."""
        if isinstance(self.thickness, float):
            return self
        return replace(self, thickness=change(self.thickness))

    def _thicknesses(self, springs: int) -> FloatArray:
        thickness = np.asarray(self.thickness, dtype=np.float64)
        if thickness.ndim == 1 and len(thickness) != springs:
            raise InputError(
                f"thickness: expected one per spring ({springs}), found {len(thickness)}"
            )
        return np.ascontiguousarray(np.broadcast_to(thickness, (springs,)))

    def layers(self, springs: int) -> LayerArrays:
        """Return the layer arrays; see `SpringLaw.layers`."""
        thicknesses = self._thicknesses(springs)
        kind, exponent, offset, coefficients = self._terms(thicknesses)
        return LayerArrays(
            np.array([kind], dtype=np.int64),
            np.array([exponent]),
            np.array([offset]),
            np.ascontiguousarray(coefficients[None, :]),
            thicknesses[None, :].copy(),
        )

    @abstractmethod
    def _terms(self, thicknesses: FloatArray) -> tuple[int, float, float, FloatArray]:
        """Return kind, exponent m, offset 1/f and coefficients c (S,) over thicknesses (S,)."""


@dataclass(frozen=True, eq=False)
class LinearLaw(LayerLaw):
    """Linear law: p = C E d / h (Bei & Fregly 2004)."""

    def _terms(self, thicknesses: FloatArray) -> tuple[int, float, float, FloatArray]:
        return POWER, 1.0, 0.0, self.confined_modulus / thicknesses


@dataclass(frozen=True, eq=False)
class LogarithmicLaw(LayerLaw):
    """Layered logarithmic law: p = -C E ln(1 - d/h) (Blankevoort et al. 1991).

    Beyond a strain of 0.99 the law continues along its tangent; the contact model flags such
    results.
    """

    def _terms(self, thicknesses: FloatArray) -> tuple[int, float, float, FloatArray]:
        return LOGARITHMIC, 1.0, 0.0, np.full(len(thicknesses), self.confined_modulus)


@dataclass(frozen=True, eq=False)
class ModifiedLaw(LayerLaw):
    """Modified law of Perez-Gonzalez et al. (2008): p = C E dc^m / hc.

    dc = max(0, d - d0/f), d0 being the largest indentation of the patch, and
    hc = h / dref^(1 - m). The source prints dref twice (Lehtoranta 2011, eq. 46-49), which is
    dimensionally inconsistent; here dref occurs once. Exact limits: f = inf, m = 1 is the linear
    law; f = 2, m = 1/2 with hc from `hertz` is the Hertz contact of a sphere on a half-space.

    Parameters
    ----------
    youngs_modulus, poissons_ratio, thickness : float or (N,) float64
        E [Pa], nu [1] and h [m], see `LayerLaw`.
    f : float
        Springs carry load where the indentation exceeds 1/f of the patch's largest, > 1 [1].
    m : float
        Exponent, > 0 [1].
    reference_indentation : float
        dref [m], > 0; without influence at m = 1.
    """

    f: float = field(kw_only=True)
    m: float = field(kw_only=True)
    reference_indentation: float = field(kw_only=True, default=1e-3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.f > 1.0:
            raise InputError(f"f: expected > 1 (or inf), found {self.f!r}")
        check_number("m", self.m, above=0.0)
        check_number("reference_indentation", self.reference_indentation, above=0.0, unit="m")

    @classmethod
    def hertz(cls, youngs_modulus: float, poissons_ratio: float, radius: float) -> ModifiedLaw:
        """Return the law equivalent to Hertz contact of a rigid sphere on a half-space.

        f = 2, m = 1/2 and hc = pi sqrt(R) C E / (2 sqrt(2) E*), with E* = E / (1 - nu^2): force
        4/3 E* sqrt(R) d0^(3/2), contact area pi R d0, half-ellipsoid pressure
        (Johnson 1985, eq. 4.22-4.24).

        Parameters
        ----------
        youngs_modulus, poissons_ratio : float
            E [Pa] and nu [1] of the half-space.
        radius : float
            R of the sphere [m], > 0.
        """
        check_number("radius", radius, above=0.0, unit="m")
        nominal = cls(youngs_modulus, poissons_ratio, 1e-2, f=2.0, m=0.5)
        plane = youngs_modulus / (1.0 - poissons_ratio**2)
        effective = (
            np.pi * np.sqrt(radius) * nominal.confined_modulus / (2.0 * np.sqrt(2.0) * plane)
        )
        # hc = h / dref^(1/2): with a nominal thickness h, dref determines hc.
        reference = (1e-2 / effective) ** 2
        return cls(
            youngs_modulus, poissons_ratio, 1e-2, f=2.0, m=0.5, reference_indentation=reference
        )

    def _terms(self, thicknesses: FloatArray) -> tuple[int, float, float, FloatArray]:
        scale = self.reference_indentation ** (1.0 - self.m)
        return POWER, self.m, 1.0 / self.f, self.confined_modulus * scale / thicknesses


#: Laws of one layer by their names in configurations.
LAWS: dict[str, type[LayerLaw]] = {
    "linear": LinearLaw,
    "modified": ModifiedLaw,
    "logarithmic": LogarithmicLaw,
}


@dataclass(frozen=True, eq=False)
class SeriesLaw(SpringLaw):
    """Two elastic bodies: springs in series with equal pressure and shared indentation.

    For two linear laws K = K1 K2 / (K1 + K2). In general d = d1(p) + d2(p) is solved for p.

    Parameters
    ----------
    first, second : SpringLaw
        Laws of the tibial and of the femoral layer (single layers).
    """

    first: SpringLaw
    second: SpringLaw

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            if not isinstance(getattr(self, name), LayerLaw):
                raise InputError(
                    f"{name}: expected a law of one layer, found {getattr(self, name)!r}"
                )

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> SeriesLaw:
        """Return the law with other thickness arrays (N,) -> (S,) [m]; see `SpringLaw.mapped`."""
        return SeriesLaw(self.first.mapped(change), self.second.mapped(change))

    def layers(self, springs: int) -> LayerArrays:
        """Return the layer arrays; see `SpringLaw.layers`."""
        a, b = self.first.layers(springs), self.second.layers(springs)
        stacked = (
            np.ascontiguousarray(np.concatenate(pair))
            for pair in zip(a.arguments, b.arguments, strict=True)
        )
        return LayerArrays(*stacked)


def single_laws(law: SpringLaw) -> tuple[LayerLaw, ...]:
    """Return the law of each layer, one or two."""
    layers = (law.first, law.second) if isinstance(law, SeriesLaw) else (law,)
    return tuple(layer for layer in layers if isinstance(layer, LayerLaw))
