"""The original model: elastic-foundation contact of the femur on the tibia."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation import kernels
from foundation.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.elastic_foundation.edge_smoothing import edge_table
from foundation.elastic_foundation.laws import LayerArrays, SpringLaw
from foundation.elastic_foundation.spring_bed import SpringBed, curved_bed, flat_bed
from foundation.errors import InputError
from foundation.loads import COMPARTMENTS, ContactLoads
from foundation.pose import Pose, twist_jacobian
from foundation.surfaces.compartments import find_compartments
from foundation.surfaces.femur_patches import femur_patches
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.smooth_surface import flat_surface, smooth_surface

#: Ways in which both surfaces are taken between their vertices.
SURFACES = ("curved", "flat")

#: Radius within which the femur's bounding planes hold, in radii of the bed's smallest groups.
_PLANE_REACH = 3.5
_ROWS_PER_TASK = 64
_AT_REST = np.zeros(6)
_BOTH = np.ones(2, dtype=np.bool_)


@dataclass(frozen=True)
class Dissipation:
    """What resists the motion of the femur over the bed.

    Parameters
    ----------
    damping : float
        Factor c of p = p_elastic (1 + c d') with the rate of indentation d', never below 0
        (Hunt & Crossley 1975, J Appl Mech 42:440-445) [s/m].
    friction : float
        Coefficient of Coulomb friction [-].
    transition_speed : float
        Sliding speed below which friction fades to nothing, |v| / sqrt(|v|² + vt²) [m/s].

    Raises
    ------
    InputError
        If a value is negative, or the transition speed not positive.
    """

    damping: float = 0.0
    friction: float = 0.0
    transition_speed: float = 1e-3

    def __post_init__(self) -> None:
        check_number("damping", self.damping, at_least=0.0, unit="s/m")
        check_number("friction", self.friction, at_least=0.0)
        check_number("transition_speed", self.transition_speed, above=0.0, unit="m/s")


@dataclass(frozen=True, eq=False)
class SpringState:
    """State of the bed at one pose, in the order of the tibial triangles.

    Parameters
    ----------
    indentation : (F,) float64
        Indentation at the middle of each triangle along minus the tibial normal [m], 0 out of
        contact.
    pressure : (F,) float64
        Pressure there [Pa], 0 out of contact.
    """

    indentation: FloatArray
    pressure: FloatArray


class ElasticFoundation:
    """Elastic-foundation contact between two triangulated condyle surfaces.

    The tibial surface is a bed of independent springs along its normals; the indentation of a
    spring is the distance along minus the normal at which its line leaves the femur. See
    `foundation.elastic_foundation.spring_bed` for the springs' places and docs/theory.md for the
    equations.

    Parameters
    ----------
    femur, tibia : TriangleMesh
        Articular surfaces [m], each in its own body frame, normals out of the bone or component.
    law : SpringLaw
        Spring law; a thickness array holds one value per tibial triangle or per tibial vertex.
    surface : {"curved", "flat"}
        How both surfaces run between their vertices: smooth patches, with a quadratic field of
        indentation on each tibial triangle; or plane facets with one spring per triangle at its
        centroid (the rule of OpenSim-JAM, Smith et al. 2016, J Biomech Eng 138:021017).
    conservative : bool
        False: a spring's force acts along its own normal (the customary bed), which has no
        potential. True: all loads are the gradient of the stored energy, the sum of A times the
        integral of p over the indentation.
    dissipation : Dissipation, optional
        Damping and friction; without it there is none.
    compartments : (F,) int8, optional
        0 for the medial and 1 for the lateral compartment, per tibial triangle; by default found
        from the mesh (`foundation.surfaces.compartments.find_compartments`).
    search_depth : float
        Largest indentation looked for [m].

    Raises
    ------
    InputError
        If an argument is out of its range, the sizes do not fit, or `conservative` is asked of a
        law without an energy (the modified law: its pressures depend on the patch's deepest point).
    """

    def __init__(
        self,
        femur: TriangleMesh,
        tibia: TriangleMesh,
        law: SpringLaw,
        *,
        surface: str = "curved",
        conservative: bool = False,
        dissipation: Dissipation | None = None,
        compartments: ArrayLike | None = None,
        search_depth: float = 20e-3,
    ) -> None:
        self.femur = femur
        self.tibia = tibia
        self.law = law
        self.surface = check_in("surface", surface, SURFACES)
        self.conservative = conservative
        self.dissipation = dissipation or Dissipation()
        self.search_depth = check_number(
            "search_depth", search_depth, above=0.0, at_most=0.1, unit="m"
        )
        self.compartments = frozen(_check_labels(tibia, compartments))
        curved = surface == "curved"
        self._bed = _bed(tibia, self.compartments, curved)
        self._femur = femur_patches(
            femur,
            smooth_surface(femur) if curved else flat_surface(femur),
            curved=curved,
            reach=_PLANE_REACH * float(self._bed.arrays.radius.max()),
        )
        self._law = _law_arrays(law, tibia, self._bed)
        if conservative and self._law.offsets.any():
            raise InputError(
                "conservative: this law has no stored energy, its pressures depend on the deepest "
                "point of the patch (f is finite); use f = inf or conservative = False"
            )
        self._scratch = _Scratch(self._bed.arrays)
        self._handle: tuple[Any, Any, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handle": None}

    def _handles(self) -> tuple[Any, Any, Any]:
        """Return what the kernels take; made when first needed, since it cannot be pickled."""
        if self._handle is None:
            parts = (self._femur, self._bed.arrays, self._law)
            femur, bed, law = (kernels.handle(part) for part in parts)
            self._handle = femur, bed, law
        return self._handle

    def evaluate(self, pose: Pose, rates: ArrayLike | None = None) -> ContactLoads:
        """Return the loads at a pose; see `foundation.loads` for frames and signs.

        Same pose, same loads: nothing is remembered between calls, and calls from several threads
        do not disturb each other.

        Parameters
        ----------
        pose : Pose
            Where to evaluate.
        rates : (6,) float64, optional
            Rates of the pose coordinates [rad/s, m/s], for damping and friction; without them the
            femur is at rest.

        Raises
        ------
        InputError
            If the rates are not six finite numbers.
        """
        sums, _ = self._run(pose, jacobian=False, rates=rates)
        return _contact_loads(sums)

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose (`dynamics.protocol.ContactModel`)."""
        return self.evaluate(pose)

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and d(total wrench)/d(pose coordinates), the femur at rest.

        Returns
        -------
        ContactLoads
            The loads.
        (6, 6) float64
            Row: component of the total wrench [N, N m]; column: pose coordinate [rad, m].
        """
        sums, jacobian = self._run(pose, jacobian=True)
        return _contact_loads(sums), jacobian.sum(axis=0)

    def compartment_loads(
        self, pose: Pose, compartment: str
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the loads of one compartment alone; the other one is not evaluated.

        Parameters
        ----------
        pose : Pose
            Where to evaluate.
        compartment : {"medial", "lateral"}
            Which compartment.

        Returns
        -------
        loads : (12,) float64
            In the order of `foundation.loads.LOAD_COLUMNS`.
        jacobian : (6, 6) float64
            d(wrench)/d(pose coordinates).
        depth : (2,) float64
            Largest indentation [m] and largest strain [-].
        """
        index = COMPARTMENTS.index(check_in("compartment", compartment, COMPARTMENTS))
        chosen = np.arange(2) == index
        sums, jacobian = self._run(pose, jacobian=True, chosen=chosen)
        return _quantities(sums[index]), jacobian[index], sums[index, 12:14]

    def evaluate_batch(self, poses: ArrayLike, *, threads: int = 1) -> FloatArray:
        """Return the loads at many poses, computed in parallel threads.

        Parameters
        ----------
        poses : (N, 6) float64
            Pose coordinates [rad, m].
        threads : int
            Number of threads; the numbers do not depend on it.

        Returns
        -------
        (N, 2, 12) float64
            Medial and lateral loads in the order of `foundation.loads.LOAD_COLUMNS`.

        Raises
        ------
        InputError
            If a pose is not finite or `threads` is below 1.
        """
        rows = check_array("poses", poses, (None, 6))
        check_number("threads", threads, at_least=1)

        def loads_at(row: FloatArray) -> FloatArray:
            sums, _ = self._run(Pose.from_array(row), jacobian=False)
            return np.stack([_quantities(s) for s in sums])

        def compute(start: int) -> list[FloatArray]:
            return [loads_at(row) for row in rows[start : start + _ROWS_PER_TASK]]

        with ThreadPoolExecutor(threads) as pool:
            parts = pool.map(compute, range(0, len(rows), _ROWS_PER_TASK))
            results = [loads for part in parts for loads in part]
        return np.array(results).reshape(len(rows), 2, 12)

    def stored_energy(self, pose: Pose, compartment: str | None = None) -> float:
        """Return the elastic energy of the bed [J]: the sum of A times the integral of p dd.

        Of the whole knee, or of one compartment, "medial" or "lateral".
        """
        with self._scratch.borrowed() as work:
            sums, _, _ = self._evaluate(work, pose, False, _BOTH, None, energy=True)
        if compartment is None:
            return float(sums[:, 14].sum())
        return float(
            sums[COMPARTMENTS.index(check_in("compartment", compartment, COMPARTMENTS)), 14]
        )

    def spring_state(self, pose: Pose) -> SpringState:
        """Return indentation and pressure in the middle of every tibial triangle."""
        bed, triangles = self._bed, len(self.tibia.faces)
        with self._scratch.borrowed() as work:
            sums, _, active = self._evaluate(work, pose, False, _BOTH, None)
            depth, pressure = np.zeros(triangles), np.zeros(triangles)
            _, arrays, law = self._handles()
            kernels.middle_state(
                arrays, law, work, active, bed.medial, sums[:, 15], depth, pressure
            )
        state = np.zeros((2, triangles))
        state[:, bed.triangle] = depth, pressure
        return SpringState(frozen(state[0]), frozen(state[1]))

    def _run(
        self,
        pose: Pose,
        *,
        jacobian: bool,
        chosen: NDArray[np.bool_] | None = None,
        rates: ArrayLike | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums (2, SUMS) and jacobians by pose (2, 6, 6)."""
        with self._scratch.borrowed() as work:
            sums, by_twist, _ = self._evaluate(
                work, pose, jacobian, _BOTH if chosen is None else chosen, rates
            )
        return sums, by_twist @ twist_jacobian(pose) if jacobian else by_twist

    def _evaluate(
        self,
        work: Any,
        pose: Pose,
        jacobian: bool,
        chosen: NDArray[np.bool_],
        rates: ArrayLike | None,
        *,
        energy: bool = False,
    ) -> tuple[FloatArray, FloatArray, int]:
        """Return sums (2, SUMS), jacobians by femoral twist (2, 6, 6) and the active elements."""
        sums, by_twist = np.empty((2, kernels.SUMS)), np.empty((2, 6, 6))
        active = kernels.evaluate_contact(
            pose.rotation_matrix,
            pose.translation,
            *self._handles(),
            self._motion(pose, rates),
            chosen,
            self.search_depth,
            self.conservative,
            jacobian,
            energy,
            work,
            sums,
            by_twist,
        )
        return sums, by_twist, active

    def _motion(self, pose: Pose, rates: ArrayLike | None) -> kernels.Motion:
        resisting = self.dissipation.damping > 0.0 or self.dissipation.friction > 0.0
        if rates is None:
            return kernels.Motion(False, _AT_REST, 0.0, 0.0, 1.0)
        twist = twist_jacobian(pose) @ check_array("rates", rates, (6,))
        given = self.dissipation
        return kernels.Motion(
            resisting, twist, given.damping, given.friction, given.transition_speed
        )


class _Scratch:
    """Scratch memory for the kernels: one set for each evaluation that runs at the same time."""

    def __init__(self, bed: kernels.Bed) -> None:
        self._bed = bed
        self._free: list[Any] = []
        self._lock = threading.Lock()

    def __getstate__(self) -> kernels.Bed:
        return self._bed

    def __setstate__(self, bed: kernels.Bed) -> None:
        self.__init__(bed)  # type: ignore[misc]

    @contextmanager
    def borrowed(self) -> Iterator[Any]:
        """Lend a set that no other caller holds."""
        with self._lock:
            work = self._free.pop() if self._free else kernels.handle(kernels.new_work(self._bed))
        try:
            yield work
        finally:
            with self._lock:
                self._free.append(work)


def _bed(tibia: TriangleMesh, labels: NDArray[np.int8], curved: bool) -> SpringBed:
    if curved:
        return curved_bed(tibia, smooth_surface(tibia), labels)
    return flat_bed(tibia, labels)


def _law_arrays(law: SpringLaw, tibia: TriangleMesh, bed: SpringBed) -> kernels.Law:
    """Return the law of each element; values per vertex count by their mean over the triangle."""
    triangles, vertices = len(tibia.faces), len(tibia.vertices)

    def carried(values: FloatArray) -> FloatArray:
        if len(values) == triangles:
            return values[bed.triangle]
        if len(values) == vertices:
            return values[tibia.faces].mean(axis=1)[bed.triangle]
        raise InputError(
            f"thickness: expected one per tibial triangle ({triangles}) or vertex ({vertices}), "
            f"found {len(values)}"
        )

    layers = _merged(law.mapped(carried).layers(triangles))
    # Pressed lightly, layers in series share out as if only those of the largest exponent m were
    # there: d = sum of (p / c)^(1/m).
    m = float(layers.exponents.max())
    linear = layers.kinds == kernels.LOGARITHMIC
    stiffness = layers.coefficients / layers.thicknesses
    initial = np.where(linear[:, None], stiffness, layers.coefficients)
    lead = (initial[layers.exponents == m] ** (-1.0 / m)).sum(axis=0) ** -m
    return kernels.Law(*layers.arguments, lead, m, edge_table(m))


def _merged(layers: LayerArrays) -> LayerArrays:
    """Return linear layers in series as the one layer they are equivalent to, others unchanged.

    Its thickness is such that its strain is the largest strain of the layers.
    """
    linear = (layers.kinds == kernels.POWER) & (layers.exponents == 1.0) & (layers.offsets == 0.0)
    if len(linear) == 1 or not linear.all():
        return layers
    coefficient = 1.0 / (1.0 / layers.coefficients).sum(axis=0, keepdims=True)
    stiffest = (layers.coefficients * layers.thicknesses).min(axis=0, keepdims=True)
    one = slice(0, 1)
    return LayerArrays(
        layers.kinds[one],
        layers.exponents[one],
        layers.offsets[one],
        coefficient,
        stiffest / coefficient,
    )


def _check_labels(tibia: TriangleMesh, labels: ArrayLike | None) -> NDArray[np.int8]:
    if labels is None:
        return find_compartments(tibia)
    array = check_array("compartments", labels, (len(tibia.faces),))
    if not np.isin(array, (0.0, 1.0)).all():
        raise InputError("compartments: expected only 0 (medial) and 1 (lateral)")
    for value, name in enumerate(COMPARTMENTS):
        if not (array == value).any():
            raise InputError(f"compartments: no triangle is {name} ({value})")
    return array.astype(np.int8)


def _quantities(sums: FloatArray) -> FloatArray:
    """Return the (12,) values of `LOAD_COLUMNS` from the kernel's sums of one compartment."""
    s = sums.tolist()
    area, carried = s[6], s[8]
    mean = carried / area if area > 0.0 else 0.0
    centre = [m / carried for m in s[9:12]] if carried > 0.0 else [np.nan] * 3
    return np.array([*s[:8], mean, *centre])


def _contact_loads(sums: FloatArray) -> ContactLoads:
    flags = tuple(
        f"{name}: strain {strain:.2f} exceeds {kernels.STRAIN_LIMIT}, "
        "the femur is pressed through the layer"
        for name, strain in zip(COMPARTMENTS, sums[:, 13].tolist(), strict=True)
        if strain > kernels.STRAIN_LIMIT
    )
    return ContactLoads.trusted(_quantities(sums[0]), _quantities(sums[1]), flags)
