"""Wear of the tibial insert over a simulated gait cycle.

Archard's law (1953, J Appl Phys 24:981-988; for the knee Fregly, Sawyer, Harman & Banks 2005, J
Biomech 38:305-314), with a factor that may rise with cross-shear (docs/theory.md). `bed_wear` uses
the pressures of the original model on the triangles of the insert, `surrogate_wear` only the loads
of the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.simulator.result import SimulationResult
from dynamics.wear.footprint import (
    Surface,
    femoral_twists,
    field_arms,
    field_axes,
    field_speeds,
    load_pressures,
)
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_numbers,
)
from foundation.base.errors import InputError
from foundation.base.loads import AREA, CENTRE, COMPARTMENTS, FORCE, MEAN_PRESSURE
from foundation.base.pose import Pose
from surrogates.formulations.contact_surrogate import ContactSurrogate


class SpringContact(Protocol):
    """Original contact model as `bed_wear` uses it (`foundation.surface_contact`)."""

    @property
    def tibia(self) -> Any:
        """Tibial mesh, a `Surface`."""

    @property
    def compartments(self) -> NDArray[np.int8]:
        """Compartment (F,) of each tibial triangle, 0 medial and 1 lateral [1]."""

    def spring_state(self, pose: Pose) -> Any:
        """Return the state of the surface, with the `pressure` (F,) [Pa] of the triangles."""


@dataclass(frozen=True)
class WearLaw:
    """Material of the insert; by default ultra-high molecular weight polyethylene.

    The worn depth at a point is (k + k' c) W + (C + C' c) D, of the frictional work over the
    coefficient of friction W [Pa m], the sliding distance in contact D [m] and the cross-shear c
    [1] of the point (`Sliding`).

    Parameters
    ----------
    factor : float
        Wear factor k [1/Pa = m³/(N m)], >= 0, without cross-shear. The default, 1e-7 mm³/(N m), is
        the order of magnitude for polyethylene on polished metal; the factor of a material depends
        on roughness, pressure and cross-shear.
    density : float
        Density [kg/m³], > 0.
    cross_shear_factor : float
        k' [1/Pa], >= 0. With energies along and across the principal direction that wear by
        factors a and b, k is a and k' is b - a.
    coefficient, cross_shear_coefficient : float
        Wear coefficients C and C' over the contact area, independent of pressure [1], >= 0.
    """

    factor: float = 1e-16
    density: float = 940.0
    cross_shear_factor: float = 0.0
    coefficient: float = 0.0
    cross_shear_coefficient: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, at_least=0.0, factor="1/Pa", cross_shear_factor="1/Pa")
        check_numbers(self, at_least=0.0, coefficient="", cross_shear_coefficient="")
        check_numbers(self, above=0.0, density="kg/m³")

    @property
    def constants(self) -> tuple[float, float, float, float]:
        """k, k' [1/Pa], C and C' [1]."""
        by_area = self.coefficient, self.cross_shear_coefficient
        return self.factor, self.cross_shear_factor, *by_area

    @property
    def by_point(self) -> bool:
        """Whether the wear depends on the sliding path of each point of the insert."""
        return any(self.constants[1:])

    def depth(self, sliding: Sliding) -> FloatArray:
        """Return the worn depth (F,) [m]."""
        by_work, work_shear, by_area, area_shear = self.constants
        shear = sliding.cross_shear
        worn = (by_work + work_shear * shear) * sliding.work
        return worn + (by_area + area_shear * shear) * sliding.distance


@dataclass(frozen=True, eq=False)
class Sliding:
    """Sliding of the femur over the pressed points of the insert in a cycle."""

    #: Integrals over time (5, F): p |s|, p |s| cos 2a, p |s| sin 2a [Pa m], |s| [m] in contact, and
    #: p over the time of the cycle [Pa], of the angle a of the sliding velocity s.
    integrals: FloatArray

    @property
    def work(self) -> FloatArray:
        """Frictional work over area and coefficient of friction (F,) [Pa m]."""
        return self.integrals[0]

    @property
    def distance(self) -> FloatArray:
        """Sliding distance in contact (F,) [m]."""
        return self.integrals[3]

    @property
    def pressure(self) -> FloatArray:
        """Mean pressure over the cycle (F,) [Pa]."""
        return self.integrals[4]

    @property
    def cross_shear(self) -> FloatArray:
        """Work across the direction of the most work over all work (F,) [1]; 0 without work."""
        # The smaller eigenvalue, over the trace, of the integral of p s s' / |s|.
        work, cosine, sine = self.integrals[:3]
        along = np.divide(np.hypot(cosine, sine), work, out=np.ones(len(work)), where=work > 0.0)
        return np.maximum(0.5 * (1.0 - along), 0.0)


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
    sliding : Sliding
        Cross-shear, sliding distance and mean pressure of each triangle; empty without `depth`.
    footprint : (2, 4) float64, optional
        Of each compartment, the area that wears [m²] and the centre of the worn volume [m], tibial
        frame, NaN without wear; with `depth`.
    """

    volume: FloatArray
    density: float = WearLaw.density
    depth: FloatArray | None = None
    sliding: Sliding = field(default_factory=lambda: Sliding(np.zeros((5, 0))))
    footprint: FloatArray | None = None

    def __post_init__(self) -> None:
        check_fields(self, volume=(2,), depth=(None,))

    @property
    def total_volume(self) -> float:
        """Worn volume of both compartments [m³]."""
        return float(self.volume.sum())


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
    pressures = (
        scaled_pressure(
            model.spring_state(Pose.from_array(pose)).pressure,
            result.compartment_loads[:, i],
            tibia,
            sides,
        )
        for i, pose in enumerate(result.poses)
    )
    fields = (
        (faces, pressure[faces]) for pressure in pressures for faces in [np.flatnonzero(pressure)]
    )
    integrals = _integrals(_tangent_lines(tibia), result, np.arange(len(result.poses)), fields)
    return _worn(law, tibia, [np.where(sides == side, integrals, 0.0) for side in range(2)])


def surrogate_wear(
    result: SimulationResult,
    law: WearLaw,
    *,
    aspect: ArrayLike = (1.0, 1.0),
    ratio: ArrayLike | None = None,
    tibia: Surface | None = None,
) -> Wear:
    """Return the wear over the gait cycle of a result from its loads.

    The pressure of a compartment is a paraboloid over an ellipse (`dynamics.wear.footprint`), and
    its integral is the force times one ratio.

    Parameters
    ----------
    result : SimulationResult
        Simulated cycle of any contact model, with poses as in `bed_wear`.
    law : WearLaw
        Material of the insert.
    aspect : (2,) float64
        AP over ML axis of the medial and the lateral field [1], > 0.
    ratio : (2,) float64, optional
        Integral of the pressure over force [1], medial and lateral (`load_ratio`), preferably of
        the original model over any cycle of the same knee; by default of the result.
    tibia : Surface, optional
        Surface of the insert, on which the field is projected; laws of cross-shear or area need it.

    Returns
    -------
    Wear
        Wear of one cycle, with depths if `tibia` is given.

    Raises
    ------
    InputError
        If an aspect or a ratio is not positive, a compartment with load has no centre of pressure,
        or the law needs a mesh.
    """
    aspects = check_array("aspect", aspect, (2,), above=0.0)
    force = load_carried(result, ratio)
    if tibia is not None:
        by_side, lines = [], _tangent_lines(tibia)
        for loads, load, side_aspect in zip(result.compartment_loads, force, aspects, strict=True):
            instants = np.flatnonzero(load)
            fields = load_pressures(loads[instants], load[instants], side_aspect, tibia)
            by_side.append(_integrals(lines, result, instants, fields))
        return _worn(law, tibia, by_side)
    if law.by_point:
        raise InputError(
            "tibia: expected the mesh of the insert, as cross-shear and area count at each point, "
            "found none; pass the mesh, or a law of a wear factor alone"
        )
    twists, weights = femoral_twists(result.poses, result.rates), time_weights(result.time)
    sides, instants = np.nonzero(force)
    loads = result.compartment_loads[sides, instants]
    arms, shares = field_arms(loads, aspects[sides])
    worn = (
        weights[instants]
        * force[sides, instants]
        * (field_speeds(loads, twists[instants], arms) @ shares)
    )
    volume = law.factor * np.asarray(np.bincount(sides, worn, len(COMPARTMENTS)), np.float64)
    return Wear(volume, law.density)


def _integrals(
    lines: FloatArray,
    result: SimulationResult,
    instants: NDArray[np.intp],
    fields: Iterable[tuple[NDArray[np.intp], FloatArray]],
) -> FloatArray:
    """Return the integrals (5, F) of `Sliding` of pressed triangles and their pressures [Pa].

    For the `_tangent_lines` of the surface, and the fields of some instants.
    """
    twists, weights = femoral_twists(result.poses, result.rates), time_weights(result.time)
    triangles, pressures = zip(*fields, strict=True) if len(instants) else ((), ())
    i = np.repeat(instants, [len(pressed) for pressed in triangles])
    faces, p = np.concatenate([[], *triangles]).astype(np.intp), np.concatenate([[], *pressures])
    u, v = np.einsum("kmj,mj->km", lines[:, faces], twists[i])
    speed = np.hypot(u, v)
    power = p / np.maximum(speed, 1e-300)
    terms = p * speed, power * (u * u - v * v), 2.0 * power * u * v, speed, p / weights.sum()
    return np.array([np.bincount(faces, weights[i] * term, lines.shape[1]) for term in terms])


def _tangent_lines(tibia: Surface) -> FloatArray:
    """Return Plücker coordinates (2, F, 6) [1, m] of two tangents of each triangle."""
    # Their product with a twist is the velocity along the tangent.
    least = np.abs(tibia.normals).argmin(axis=1)
    first = np.cross(tibia.normals, np.eye(3)[least])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    tangents = np.stack([first, np.cross(tibia.normals, first)])
    return np.concatenate([tangents, np.cross(tibia.centroids, tangents)], axis=2)


def _worn(law: WearLaw, tibia: Surface, by_side: list[FloatArray]) -> Wear:
    """Return the wear of the integrals (5, F) under the medial and the lateral pressure."""
    depths = [law.depth(Sliding(integrals)) for integrals in by_side]
    volume = np.array([depth @ tibia.areas for depth in depths])
    footprint = np.full((2, 4), np.nan)
    for row, depth, whole in zip(footprint, depths, volume, strict=True):
        row[0] = tibia.areas[depth > 0.0].sum()
        if whole > 0.0:
            row[1:] = (depth * tibia.areas) @ tibia.centroids / whole
    sliding = Sliding(np.sum(by_side, axis=0))
    return Wear(volume, law.density, np.sum(depths, axis=0), sliding, footprint)


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
    factors = load_ratio(result) if ratio is None else check_array("ratio", ratio, (2,), above=0.0)
    return factors[:, None] * force


def _force(result: SimulationResult) -> FloatArray:
    """Return the magnitudes of the compartment forces, (2, N) [N]."""
    return np.linalg.norm(result.compartment_loads[..., FORCE], axis=-1)


def scaled_pressure(
    pressure: FloatArray, loads: FloatArray, tibia: Surface, sides: NDArray[np.int8]
) -> FloatArray:
    """Return pressures (F,) [Pa], scaled so that each compartment carries its load (2, 12)."""
    # Centroids represent the field, loads are its integrals; the sums differ slightly, mostly in
    # small patches.
    carried = np.maximum(loads[:, [AREA, MEAN_PRESSURE]], 0.0).prod(axis=1)
    total = np.bincount(sides, pressure * tibia.areas, len(COMPARTMENTS))
    factors = np.divide(carried, total, out=np.zeros(len(COMPARTMENTS)), where=total > 0.0)
    return pressure * factors[sides]


@dataclass(frozen=True, eq=False)
class FieldContact:
    """A surrogate with pressure fields as a `SpringContact`."""

    model: ContactSurrogate
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
        field = self.model.pressure_field(pose)
        if len(field.pressure) != len(self.tibia.areas):
            raise InputError(
                f"tibia: expected the mesh of the fields with {len(field.pressure)} triangles, "
                f"found {len(self.tibia.areas)}"
            )
        return field


class Patch(NamedTuple):
    """Patches of the original, (2,) [1], which depend on surfaces: variations reuse them."""

    aspect: FloatArray
    ratio: FloatArray | None
    #: Mesh of the insert, None where the law needs no points.
    tibia: Surface | None = None


def measured_patch(model: SpringContact, result: SimulationResult) -> Patch:
    """Return the patches of a cycle simulated with the original model; aspect 1 without contact."""
    # The aspect is that of second moments of the pressure at equally spaced instants of the cycle.
    tibia, moments = model.tibia, np.zeros((2, 2))
    for i in np.unique(np.linspace(0, len(result.poses) - 1, 21).round().astype(int)):
        pressure = model.spring_state(Pose.from_array(result.poses[i])).pressure
        for side, loads in enumerate(result.compartment_loads[:, i : i + 1]):
            share = np.where(model.compartments == side, pressure * tibia.areas, 0.0)
            if share.any() and loads[0, FORCE].any():
                arms = tibia.centroids - share @ tibia.centroids / share.sum()
                moments[side] += [share @ (arms @ axis[0]) ** 2 for axis in field_axes(loads)[:2]]
    seen = (moments > 0.0).all(axis=1)
    aspect = np.sqrt(np.divide(moments[:, 0], moments[:, 1], out=np.ones(2), where=seen))
    return Patch(aspect, load_ratio(result), tibia)
