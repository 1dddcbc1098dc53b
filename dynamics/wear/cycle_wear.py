"""Wear of the tibial insert over a simulated gait cycle by Archard's law.

V = k int int p |s| dA dt (Archard 1953, J Appl Phys 24:981-988; for the knee Fregly, Sawyer, Harman
& Banks 2005, J Biomech 38:305-314). `bed_wear` uses the pressures of the original model on the
triangles of the insert, `surrogate_wear` only the loads of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.simulator.result import SimulationResult
from dynamics.wear.footprint import femoral_twists, field_arms, field_speeds, sliding_speed
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_count,
    check_fields,
    check_in,
    check_number,
    check_numbers,
    frozen,
)
from foundation.base.errors import InputError
from foundation.base.loads import AREA, CENTRE, COMPARTMENTS, FORCE, MEAN_PRESSURE
from foundation.base.pose import Pose

__all__ = [
    "FIELDS",
    "SpringContact",
    "Surface",
    "Wear",
    "WearLaw",
    "bed_wear",
    "load_ratio",
    "surrogate_wear",
]

#: Distributions of the load of a compartment in `surrogate_wear`.
FIELDS = ("reconstructed", "centre")


class Surface(Protocol):
    """Tibial mesh as wear uses it (`foundation.surfaces.mesh.TriangleMesh`)."""

    @property
    def centroids(self) -> FloatArray:
        """Centroids of the triangles, (F, 3) [m], tibial frame."""
        ...

    @property
    def normals(self) -> FloatArray:
        """Unit normals of the triangles, (F, 3) [1], tibial frame."""
        ...

    @property
    def areas(self) -> FloatArray:
        """Areas of the triangles, (F,) [m²]."""
        ...


class SpringContact(Protocol):
    """Original contact model as `bed_wear` uses it (`foundation.surface_contact`)."""

    @property
    def tibia(self) -> Any:
        """Tibial mesh, a `Surface`."""
        ...

    @property
    def compartments(self) -> NDArray[np.int8]:
        """Compartment (F,) of each tibial triangle, 0 medial and 1 lateral [1]."""
        ...

    def spring_state(self, pose: Pose) -> Any:
        """Return the state of the surface, with the `pressure` (F,) [Pa] of the triangles."""
        ...


def bed_wear(model: SpringContact, result: SimulationResult, law: WearLaw) -> Wear:
    """Return the wear over the gait cycle of a result from the pressures of the original model.

    Parameters
    ----------
    model : SpringContact
        The original model (`foundation.surface_contact.SurfaceContact`).
    result : SimulationResult
        Simulated cycle with the poses of the contact: add the offset of a
        `dynamics.simulator.variation.VariedContact` to its poses.
    law : WearLaw
        Material of the insert.

    Returns
    -------
    Wear
        Wear of one cycle, with the depth of each tibial triangle.
    """
    tibia, sides = model.tibia, np.asarray(model.compartments)
    twists, weights = femoral_twists(result.poses, result.rates), time_weights(result.time)
    depth = np.zeros(len(tibia.areas))
    for i, pose in enumerate(result.poses):
        pressure = model.spring_state(Pose.from_array(pose)).pressure
        pressure = scaled_pressure(pressure, result.compartment_loads[:, i], tibia, sides)
        at = np.flatnonzero(pressure)
        speed = sliding_speed(twists[i], tibia.centroids[at], tibia.normals[at])
        depth[at] += law.factor * weights[i] * pressure[at] * speed
    return Wear(volumes(depth, tibia, sides), law.density, depth)


def surrogate_wear(
    result: SimulationResult,
    law: WearLaw,
    field: str = "reconstructed",
    *,
    aspect: ArrayLike = (1.0, 1.0),
    ratio: ArrayLike | None = None,
) -> Wear:
    """Return the wear over the gait cycle of a result from its loads.

    The normals are those of the compartment forces, and the integral of the pressure is the force
    times one ratio.

    Parameters
    ----------
    result : SimulationResult
        Simulated cycle of any contact model, with poses as in `bed_wear`.
    law : WearLaw
        Material of the insert.
    field : {"reconstructed", "centre"}
        Sliding speed averaged over the pressure field of the loads (`dynamics.wear.footprint`),
        or the speed at the centre of pressure.
    aspect : (2,) float64
        AP over ML axis of the medial and the lateral field [1], > 0.
    ratio : (2,) float64, optional
        Integral of the pressure over force [1], medial and lateral (`load_ratio`), preferably of
        the original model over any cycle of the same knee; by default of the result.

    Returns
    -------
    Wear
        Wear of one cycle, without depths.

    Raises
    ------
    InputError
        If `field` is unknown, an aspect or a ratio is not positive, or a compartment with load has
        no centre of pressure.
    """
    check_in("field", field, FIELDS)
    aspects = check_sides("aspect", aspect)
    twists, weights = femoral_twists(result.poses, result.rates), time_weights(result.time)
    force = load_carried(result, ratio)
    sides, at = np.nonzero(force)
    loads = result.compartment_loads[sides, at]
    if field == "centre":
        arms, shares = np.zeros((len(at), 2, 1)), np.ones(1)
    else:
        arms, shares = field_arms(loads, aspects[sides])
    speed = field_speeds(loads, twists[at], arms) @ shares
    worn = weights[at] * force[sides, at] * speed
    volume = law.factor * np.asarray(np.bincount(sides, worn, len(COMPARTMENTS)), np.float64)
    return Wear(volume, law.density)


def time_weights(time: FloatArray) -> FloatArray:
    """Return the weights (N,) [s] of the trapezoidal rule over instants `time` (N,) [s]."""
    steps = np.diff(time)
    return 0.5 * (np.concatenate([[0.0], steps]) + np.concatenate([steps, [0.0]]))


def load_ratio(result: SimulationResult) -> FloatArray:
    """Return the pressure integral over the force, both integrated over time, (2,) [1], >= 1."""
    # The normals of a patch differ; the ratio depends on the knee and hardly on the load.
    weights = time_weights(result.time)
    sizes = np.maximum(result.compartment_loads[..., [AREA, MEAN_PRESSURE]], 0)
    impulse, pressure = _force(result) @ weights, sizes.prod(axis=-1) @ weights
    ratio = np.divide(pressure, impulse, out=np.ones(2), where=impulse > 0.0)
    return np.maximum(ratio, 1.0)


def load_carried(result: SimulationResult, ratio: ArrayLike | None = None) -> FloatArray:
    """Return the load of each compartment as its force times a ratio (2,) [1], (2, N) [N]."""
    # A simulation balances the force; area and mean pressure of a surrogate have their own errors.
    force = _force(result)
    lost = (force > 0.0) & ~np.isfinite(result.compartment_loads[..., CENTRE]).all(axis=-1)
    if lost.any():
        side, instant = (int(k) for k in np.argwhere(lost)[0])
        raise InputError(
            f"compartment_loads: expected a centre of pressure at every force, found none in the "
            f"{COMPARTMENTS[side]} compartment at instant {instant}"
        )
    factors = load_ratio(result) if ratio is None else check_sides("ratio", ratio)
    return factors[:, None] * force


def check_sides(name: str, values: ArrayLike) -> FloatArray:
    """Return a medial and a lateral value (2,) [1]; raise InputError unless both are positive."""
    return check_array(name, values, (2,), above=0.0)


def _force(result: SimulationResult) -> FloatArray:
    """Return the magnitudes of the compartment forces, (2, N) [N]."""
    return np.linalg.norm(result.compartment_loads[..., FORCE], axis=-1)


def scaled_pressure(
    pressure: FloatArray, loads: FloatArray, tibia: Surface, sides: NDArray[np.int8]
) -> FloatArray:
    """Return pressures (F,) [Pa], scaled so that each compartment carries its load (2, 12)."""
    # Centroids represent the field, loads are its integrals; the sums differ slightly, mostly in
    # small patches. A patch without a centroid is assigned to the triangle nearest to its centre of
    # pressure.
    scaled = np.zeros(len(pressure))
    for side, (area, mean) in enumerate(np.maximum(loads[:, [AREA, MEAN_PRESSURE]], 0.0)):
        own = np.where(sides == side, pressure, 0.0)
        if not own.any() and area * mean > 0.0:
            own[nearest_triangle(tibia, loads[side, CENTRE])] = 1.0
        total = own @ tibia.areas
        if total > 0.0:
            scaled += area * mean / total * own
    return scaled


def nearest_triangle(tibia: Surface, point: FloatArray) -> int:
    """Return the index of the triangle with the centroid nearest to a point (3,) [m]."""
    return int(np.argmin(((tibia.centroids - point) ** 2).sum(axis=1)))


def volumes(depth: FloatArray, tibia: Surface, sides: NDArray[np.int8]) -> FloatArray:
    """Return the worn volumes (2,) [m³] of the compartments from the depths (F,) [m]."""
    worn = depth * tibia.areas
    return np.array([worn[sides == side].sum() for side in range(2)])


class FieldModel(Protocol):
    """Surrogate with pressure fields (`surrogates.ContactSurrogate`)."""

    def pressure_field(self, pose: Pose) -> Any:
        """Return the `pressure` (F,) [Pa] of the tibial triangles at a pose, and its `flags`."""
        ...


@dataclass(frozen=True, eq=False)
class FieldContact:
    """A surrogate with pressure fields as a `SpringContact`."""

    model: FieldModel
    tibia: Surface
    #: 0 for medial and 1 for lateral triangles (F,) of the samples' mesh.
    compartments: NDArray[np.int8]

    def __post_init__(self) -> None:
        count = len(self.tibia.areas)
        if np.shape(self.compartments) != (count,):
            raise InputError(
                f"compartments: expected shape ({count},), found {np.shape(self.compartments)}"
            )

    def spring_state(self, pose: Pose) -> Any:
        """Return the field at a pose, with the `pressure` (F,) [Pa] of the triangles."""
        found = self.model.pressure_field(pose)
        if len(found.pressure) != len(self.tibia.areas):
            raise InputError(
                f"tibia: expected the mesh of the fields with {len(found.pressure)} triangles, "
                f"found {len(self.tibia.areas)}"
            )
        return found


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


Contact = TypeVar("Contact", bound=SpringContact)


@dataclass(frozen=True, eq=False)
class LifetimeWear(Generic[Contact]):
    """Wear of many cycles in B blocks, as volumes (B + 1, 2) [m³] over cycles (B + 1,)."""

    #: Number of cycles at the end of each block, from 0 (B + 1,) [1].
    cycles: FloatArray
    #: Medial and lateral volume by then (B + 1, 2) [m³].
    volume: FloatArray
    #: Wear of one cycle at the start of each block.
    blocks: tuple[Wear, ...]
    #: Contact of the worn insert.
    model: Contact
    #: Wear of all cycles, with the depth of each triangle of the unworn surface.
    wear: Wear


def extrapolate_wear(
    model: Contact,
    simulate_cycle: Callable[[Contact], SimulationResult],
    lower_surface: Callable[[Contact, FloatArray], Contact],
    law: WearLaw,
    cycles: float,
    blocks: int,
) -> LifetimeWear[Contact]:
    """Return the wear of cycles in equal blocks, the surface lowered (F,) [m] after each block."""
    # The wear of one cycle at the start of a block represents the whole block. `InputError` names
    # the block that wears through the insert.
    check_number("cycles", cycles, above=0.0)
    count = check_count("blocks", blocks)
    each = cycles / count
    wears: list[Wear] = []
    worn, depth = model, np.zeros(len(model.tibia.faces))
    for block in range(count):
        wear = bed_wear(worn, simulate_cycle(worn), law)
        wears.append(wear)
        depth = depth + each * np.asarray(wear.depth)
        try:
            # From the unworn surface, so that errors do not accumulate.
            worn = lower_surface(model, depth)
        except InputError as error:
            raise InputError(
                f"block {block + 1} of {count}, {each:g} cycles each: {error}; take more blocks or "
                "fewer cycles"
            ) from error
    steps = each * np.array([wear.volume for wear in wears])
    volume = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    total = Wear(volume[-1], law.density, depth)
    return LifetimeWear(
        frozen(np.linspace(0.0, cycles, count + 1)), frozen(volume), tuple(wears), worn, total
    )
