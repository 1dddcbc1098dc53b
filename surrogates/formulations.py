"""Formulations: what is learnt of one compartment, behind one interface.

- `InvertedCompartment`: height and load ratios over (five coordinates, root of the axial load).
  Where a pose is given, the load is the root of height(load) = given height. First contact is
  exact, and loads out of contact are exactly zero.
- `DirectCompartment`: loads over the six pose coordinates, the customary way, for comparison.

Both count the pose from the reference path of their `SampleSpace`; outside the box the offsets are
held at its border and the result is flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from foundation.checks import FloatArray, check_array, check_in, frozen
from surrogates import kernels
from surrogates.regressor import Regressor, regressor_from_arrays
from surrogates.space import VARIABLES, SampleSpace

#: Fits a regressor to scaled inputs (N, d) and outputs (N, k).
Fit = Callable[[FloatArray, FloatArray], Regressor]


class CompartmentSurrogate(Protocol):
    """Surrogate of one compartment."""

    formulation: ClassVar[str]
    #: Names of the scaled variables.
    variables: ClassVar[tuple[str, ...]]

    @property
    def space(self) -> SampleSpace:
        """Where the samples were drawn."""
        ...

    @property
    def centre_and_half(self) -> tuple[FloatArray, FloatArray]:
        """Centre and half width of the box in each of the variables, (6,) each."""
        ...

    def evaluate(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (12,), d(wrench)/d(pose) (6, 6) and scaled variables (6,) at a pose."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but the space as named arrays."""
        ...


def _check_regressor(name: str, regressor: Regressor, outputs: int) -> None:
    """Refuse a regressor of other sizes than the kernels, which trust them, are going to read."""
    *_, x_offset, _, y_offset, _ = regressor.kernel_arguments()
    if (x_offset.size, y_offset.size) != (len(VARIABLES), outputs):
        raise ValueError(
            f"{name}: expected a regressor of {len(VARIABLES)} inputs and {outputs} outputs, "
            f"found {x_offset.size} and {y_offset.size}"
        )


def _check_samples(poses: FloatArray, loads: FloatArray) -> tuple[FloatArray, FloatArray]:
    checked = check_array("poses", poses, (None, 6))
    values = check_array("loads", loads, (len(checked), 12))
    if not len(values):
        raise ValueError("poses: expected at least one sample, found none")
    if values[:, 1].min() <= 0.0:
        raise ValueError(
            f"loads: expected an axial load > 0 in every sample, found {values[:, 1].min():g} N"
        )
    return checked, values


@dataclass(frozen=True, eq=False)
class InvertedCompartment:
    """Height and load ratios at a given load, inverted where a pose is given.

    With s the root of the axial load F_y and x the scaled variables of the space:

    - ``height``: x -> superior coordinate over the path [m];
    - ``ratios``: x -> (F_x, F_z [-], M_x, M_y, M_z [m]) over F_y;
    - ``quantities``: x -> (area [m²], peak, mean pressure [Pa]) over s, centre of pressure [m].
    """

    formulation: ClassVar[str] = "inverted"
    variables: ClassVar[tuple[str, ...]] = VARIABLES

    space: SampleSpace
    height: Regressor
    ratios: Regressor
    quantities: Regressor

    def __post_init__(self) -> None:
        _check_regressor("height", self.height, 1)
        _check_regressor("ratios", self.ratios, 5)
        _check_regressor("quantities", self.quantities, 6)

    @property
    def centre_and_half(self) -> tuple[FloatArray, FloatArray]:
        """Centre and half width of the box in each of the variables, (6,) each."""
        return self.space.centre_and_half

    @classmethod
    def fit(cls, space: SampleSpace, poses: FloatArray, loads: FloatArray, fit: Fit) -> Self:
        """Fit to samples of one compartment.

        Parameters
        ----------
        space : SampleSpace
            Where the samples were drawn.
        poses : (N, 6) float64
            Poses in contact [rad, m].
        loads : (N, 12) float64
            Loads of the compartment, in the order of `foundation.loads.LOAD_COLUMNS`.
        fit : callable
            Fits one regressor.

        Raises
        ------
        ValueError
            If a sample is out of contact, or a regressor cannot be fitted.
        """
        points, values = _check_samples(poses, loads)
        axial = values[:, 1]
        x, height = space.scaled(points, axial)
        root = np.sqrt(axial)[:, None]
        ratios = values[:, [0, 2, 3, 4, 5]] / axial[:, None]
        quantities = np.column_stack([values[:, 6:9] / root, values[:, 9:]])
        return cls(space, fit(x, height[:, None]), fit(x, ratios), fit(x, quantities))

    def at_load(self, poses: FloatArray, load: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return poses with the height found, (N, 6), and loads, (N, 12), at given axial loads.

        Parameters
        ----------
        poses : (N, 6) float64
            Pose coordinates [rad, m]; the height is not read. Outside the box the offsets are
            held at its border, as in `evaluate`.
        load : (N,) float64
            Axial load of the compartment [N], from 0 to the largest of the space.
        """
        x, _ = self.space.scaled(poses, load)
        x[:, :5] = np.clip(x[:, :5], -1.0, 1.0)
        found = np.array(poses, dtype=np.float64)
        found[:, 4] = self.space.path.poses(found[:, 0])[:, 4] + self.height.predict(x)[:, 0]
        ratios = self.ratios.predict(x)
        quantities = self.quantities.predict(x)
        loads = np.empty((len(x), 12))
        loads[:, 1] = load
        loads[:, [0, 2, 3, 4, 5]] = ratios * np.asarray(load)[:, None]
        loads[:, 6:9] = quantities[:, :3] * np.sqrt(load)[:, None]
        loads[:, 9:] = quantities[:, 3:]
        return found, loads

    def evaluate(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (12,), d(wrench)/d(pose) (6, 6) and scaled variables (6,) at a pose (6,).

        The jacobian is exact inside the box; beyond the largest load, where the height goes on
        along its tangent, the tangent's turning with the other coordinates is left out. Out of
        contact the loads are zero, the centre of pressure is NaN and the last scaled variable is
        -1 (no load).
        """
        loads, jacobian, x = np.zeros(12), np.zeros((6, 6)), np.empty(6)
        kernels.inverted_loads(coordinates, *self._arguments, loads, jacobian, x)
        return loads, jacobian, x

    @property
    def _arguments(self) -> tuple[Any, ...]:
        cached = self.__dict__.get("_kernel_arguments")
        if cached is None:
            cached = (
                *self.space.path.spline,
                *self.centre_and_half,
                self.height.kernel_arguments(),
                self.ratios.kernel_arguments(),
                self.quantities.kernel_arguments(),
            )
            object.__setattr__(self, "_kernel_arguments", cached)
        return cached

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the regressors as named arrays."""
        return _join(height=self.height, ratios=self.ratios, quantities=self.quantities)

    @classmethod
    def from_arrays(cls, space: SampleSpace, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from what `to_arrays` returned."""
        names = ("height", "ratios", "quantities")
        return cls(space, *(regressor_from_arrays(_part(arrays, name)) for name in names))


@dataclass(frozen=True, eq=False)
class DirectCompartment:
    """Loads over the pose: ``loads``: (five scaled variables, scaled height) -> 12 loads.

    ``height_range`` (2,): middle and half range of the samples' height over the path [m].
    """

    formulation: ClassVar[str] = "direct"
    variables: ClassVar[tuple[str, ...]] = (*VARIABLES[:5], "superior")

    space: SampleSpace
    height_range: FloatArray
    loads: Regressor

    def __post_init__(self) -> None:
        height_range = check_array("height_range", self.height_range, (2,))
        if height_range[1] <= 0.0:
            raise ValueError(f"height_range: expected a half range > 0 m, found {height_range[1]}")
        object.__setattr__(self, "height_range", frozen(height_range))
        _check_regressor("loads", self.loads, 12)

    @property
    def centre_and_half(self) -> tuple[FloatArray, FloatArray]:
        """Centre and half width of the box in each of the variables, (6,) each."""
        centre, half = self.space.centre_and_half
        centre[5], half[5] = self.height_range
        return centre, half

    @classmethod
    def fit(cls, space: SampleSpace, poses: FloatArray, loads: FloatArray, fit: Fit) -> Self:
        """Fit to samples of one compartment; see `InvertedCompartment.fit`."""
        points, values = _check_samples(poses, loads)
        x, height = space.scaled(points, values[:, 1])
        middle, half = 0.5 * (height.max() + height.min()), 0.5 * np.ptp(height)
        if half == 0.0:
            raise ValueError("poses: expected samples of different heights")
        x[:, 5] = (height - middle) / half
        return cls(space, np.array([middle, half]), fit(x, values))

    def evaluate(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (12,), d(wrench)/d(pose) (6, 6) and scaled variables (6,) at a pose (6,)."""
        loads, jacobian, x = np.zeros(12), np.zeros((6, 6)), np.empty(6)
        kernels.direct_loads(coordinates, *self._arguments, loads, jacobian, x)
        return loads, jacobian, x

    @property
    def _arguments(self) -> tuple[Any, ...]:
        cached = self.__dict__.get("_kernel_arguments")
        if cached is None:
            cached = (
                *self.space.path.spline,
                *self.centre_and_half,
                self.loads.kernel_arguments(),
            )
            object.__setattr__(self, "_kernel_arguments", cached)
        return cached

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the regressor and the range of the height as named arrays."""
        return {"height_range": self.height_range.copy(), **_join(loads=self.loads)}

    @classmethod
    def from_arrays(cls, space: SampleSpace, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from what `to_arrays` returned."""
        return cls(space, arrays["height_range"], regressor_from_arrays(_part(arrays, "loads")))


FORMULATIONS: dict[str, type[InvertedCompartment] | type[DirectCompartment]] = {
    "inverted": InvertedCompartment,
    "direct": DirectCompartment,
}


def formulation(name: str) -> type[InvertedCompartment] | type[DirectCompartment]:
    """Return the class of a formulation.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    return FORMULATIONS[check_in("formulation", name, FORMULATIONS)]


def _join(**regressors: Regressor) -> dict[str, NDArray[Any]]:
    return {
        f"{part}/{name}": array
        for part, regressor in regressors.items()
        for name, array in regressor.to_arrays().items()
    }


def _part(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    head = part + "/"
    return {name[len(head) :]: a for name, a in arrays.items() if name.startswith(head)}
