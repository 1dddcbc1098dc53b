"""Formulations of the whole knee at once, the customary kind, beside those of `formulations`.

With v the offsets of the femoral origin's pose from the path of the sample space (flexion,
adduction, rotation, anterior, lateral), y its height over it, F the axial load of a compartment,
T the sum of both and r(F) = (F / F_max)^(1/p) the root of a load:

=================  ================================================================================
knee_direct        (v, y) -> each load of both compartments
knee_power         (v, y) -> sign(L) |L|^(1/p) of each load L
knee_inverted_one  (v, r(T)) -> y, all loads over T: one sensitive direction (Lin, Haftka, Queipo &
                   Fregly 2010, Med Eng Phys 32:584-594)
knee_inverted_two  (v without adduction, r(F_medial), r(F_lateral)) -> y, adduction, the loads of
                   each compartment over its own F: two sensitive directions
=================  ================================================================================

Moments are about the tibial origin. All are learnt from poses in which both condyles carry load,
and are for these only. The last one goes on along tangents where a condyle lifts off, whose loads
are zero from there; the others know nothing of lifting off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.errors import InputError
from foundation.loads import COMPARTMENTS, ContactLoads
from foundation.pose import Pose
from surrogates.compiled import whole_knee as compiled
from surrogates.compiled.layout import new_work
from surrogates.families.regressor import Regressor
from surrogates.families.regressor_arrays import arrays_of, part_of, regressors_of, under
from surrogates.formulations.compartment import CompartmentSurrogate, writeable
from surrogates.formulations.domain import Domain
from surrogates.formulations.knee import OUTSIDE, KneeSurrogate, flags_outside
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Formulations and their codes in the compiled evaluation.
KNEE_FORMULATIONS = {
    "knee_direct": compiled.PLAIN,
    "knee_power": compiled.PLAIN,
    "knee_inverted_one": compiled.OVER_TOTAL,
    "knee_inverted_two": compiled.OVER_BOTH,
}
#: Parts of a knee's surrogate, which share out the outputs among them.
PARTS = ("first", "second", "third")
#: Outputs of each formulation in their order: name, how many, whether each compartment has its own.
OUTPUTS = {
    compiled.PLAIN: (("loads", 12, True),),
    compiled.OVER_TOTAL: (("height", 1, False), ("shares", 6, True), ("quantities", 6, True)),
    compiled.OVER_BOTH: (
        *(("height", 1, False), ("adduction", 1, False)),
        *(("ratios", 5, True), ("quantities", 6, True)),
    ),
}


@dataclass(frozen=True, eq=False)
class WholeKneeSurrogate:
    """Surrogate of both compartments together; implements `dynamics.protocol.ContactModel`.

    It has the face of `surrogates.formulations.knee.KneeSurrogate`.

    Parameters
    ----------
    formulation : str
        One of `KNEE_FORMULATIONS`.
    space : SampleSpace
        Where the samples were drawn; outside it a pose is held at the border.
    largest : float
        F_max of the root of a load [N].
    degree : float
        p.
    depth : (2,) float64
        Middle and half range of the heights of the samples over the path [m].
    regressors : tuple of Regressor
        `PARTS`; those that a formulation does not need have no outputs.
    domains : tuple of Domain
        What of the space the samples taught of each compartment.
    header : mapping
        What the file of the surrogate tells of it: names, family, errors, provenance.
    outside : {"clamp", "warning", "error"}
        What is done with a pose outside the trained domain.
    """

    formulation: str
    space: SampleSpace
    largest: float
    degree: float
    depth: FloatArray
    regressors: tuple[Regressor, Regressor, Regressor]
    domains: tuple[Domain, Domain] = field(
        default_factory=lambda: (Domain.whole_box(), Domain.whole_box())
    )
    header: Mapping[str, Any] = field(default_factory=dict)
    outside: str = "clamp"

    def __post_init__(self) -> None:
        check_in("formulation", self.formulation, KNEE_FORMULATIONS)
        check_in("outside", self.outside, OUTSIDE)
        check_number("largest", self.largest, above=0.0)
        check_number("degree", self.degree, at_least=1.0)
        depth = check_array("depth", self.depth, (2,))
        if depth[1] <= 0.0:
            raise InputError(f"depth: expected a half range > 0 m, found {depth[1]:g}")
        object.__setattr__(self, "depth", frozen(depth))
        self._check_regressors()

    def _check_regressors(self) -> None:
        inputs = [part.inputs for part in self.regressors]
        if inputs != [6, 6, 6]:
            raise InputError(f"regressors: expected 6 inputs each, found {inputs}")
        wanted = sum(width * (1 + own) for _, width, own in OUTPUTS[self.code])
        found = [part.outputs for part in self.regressors]
        sensitive = self.code  # of one direction, or of two, which the first one has to have
        if sum(found) != wanted or found[0] < sensitive:
            raise InputError(
                f"regressors: expected {wanted} outputs for {self.formulation!r}, at least "
                f"{sensitive} of them the first one's, found {found}"
            )

    def on_leaving(self, outside: str) -> Self:
        """Return the same surrogate with another answer to poses outside the domain."""
        return replace(self, outside=outside)

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose; see `loads_and_jacobian`."""
        return self.loads_and_jacobian(pose)[0]

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and d(total wrench)/d(pose coordinates), (6, 6) [N, N m per rad, m].

        Outside the trained domain the loads are those of its nearest pose, and their flags tell
        the distance.

        Raises
        ------
        OutsideDomainError
            If the pose is outside the trained domain and `outside` is "error".
        """
        loads, jacobian, x = self.fill(pose.array[None])
        flags = flags_outside(self, x[0], loads[0])
        return ContactLoads.trusted(loads[0, 0], loads[0, 1], flags), jacobian[0].sum(axis=0)

    def evaluate_batch(self, poses: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (N, 2, 12), jacobians (N, 2, 6, 6) and scaled variables (N, 2, 7) at poses.

        As `KneeSurrogate.evaluate_batch`.

        Raises
        ------
        InputError
            If the shape is wrong or a number is not finite.
        OutsideDomainError
            If a pose is outside the trained domain and `outside` is "error".
        """
        filled = self.fill(check_array("poses", poses, (None, 6)))
        if self.outside != "clamp":
            for loads, _, x in zip(*filled, strict=True):
                flags_outside(self, x, loads)
        return filled

    def fill(self, poses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `evaluate_batch` does, whatever the domain."""
        n = len(poses)
        filled = np.empty((n, 2, 12)), np.empty((n, 2, 6, 6)), np.empty((n, 2, 7))
        compiled.whole_knee_loads_of_all(poses, self.arguments, *filled, self._work)
        return filled

    def standard_error(self, pose: Pose) -> FloatArray:
        """Return the predicted standard errors of both compartments' loads, (2, 12), or NaN."""
        return self.standard_errors(pose.array[None])[0]

    def standard_errors(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors of the loads at poses (N, 6): (N, 2, 12).

        Those of the inverted formulations are what the domains expect; NaN without these.
        """
        points = check_array("poses", poses, (None, 6))
        if self.code != compiled.PLAIN:
            x = self.fill(points)[2]
            parts = [domain.standard_error(x[:, c]) for c, domain in enumerate(self.domains)]
            return np.stack(parts, axis=1)
        u, height, _ = self.coordinates.variables(self.space.held(points))
        inputs = np.column_stack([u, (height - self.depth[0]) / self.depth[1]])
        errors = self.regressors[0].standard_error(inputs).reshape(-1, 2, 12)
        size = np.abs(self.fill(points)[0][:, :, :9])
        errors[:, :, :9] *= self.degree * size ** (1.0 - 1.0 / self.degree)
        return errors * np.stack([domain.inflation for domain in self.domains])

    def compartment(self, name: str) -> CompartmentView:
        """Return what concerns one compartment, "medial" or "lateral"."""
        return CompartmentView(self, COMPARTMENTS.index(check_in("name", name, COMPARTMENTS)))

    @property
    def medial(self) -> CompartmentView:
        """What concerns the medial compartment."""
        return self.compartment("medial")

    @property
    def lateral(self) -> CompartmentView:
        """What concerns the lateral compartment."""
        return self.compartment("lateral")

    @property
    def spaces(self) -> tuple[SampleSpace, SampleSpace]:
        """Sample space of each compartment: the knee's."""
        return self.space, self.space

    @property
    def code(self) -> int:
        """Code of the formulation in the compiled evaluation."""
        return KNEE_FORMULATIONS[self.formulation]

    @cached_property
    def coordinates(self) -> CondyleCoordinates:
        """The coordinates of the femoral origin."""
        return CondyleCoordinates.at_origin(self.space)

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What `compiled.whole_knee.whole_knee_loads` takes between pose and loads."""
        constants = np.array([self.code, self.largest, self.degree, *self.depth])
        regressors = tuple(regressor.arguments for regressor in self.regressors)
        domains = tuple(
            (np.array(domain.bounds), domain.regressor.arguments) for domain in self.domains
        )
        return (
            writeable(self.space.arguments),
            writeable(self.coordinates.arguments),
            constants,
            *regressors,
            domains,
        )

    @cached_property
    def workspace(self) -> int:
        """Size of the scratch array that `compiled.whole_knee.whole_knee_loads` needs."""
        return int(compiled.whole_knee_workspace(*self.arguments[3:]))

    @cached_property
    def _work(self) -> FloatArray:
        return new_work(self.workspace)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all but space and header as plain arrays; the inverse of `from_arrays`."""
        constants = np.array([self.largest, self.degree, *self.depth])
        named = {"constants": constants} | arrays_of(PARTS, self.regressors)
        for name, domain in zip(COMPARTMENTS, self.domains, strict=True):
            named |= under(f"domain/{name}", domain.to_arrays())
        return named

    @classmethod
    def from_arrays(
        cls, formulation: str, space: SampleSpace, arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Build from what `to_arrays` returned.

        Raises
        ------
        InputError
            If an array is missing or malformed.
        """
        if "constants" not in arrays:
            raise InputError("arrays: expected a whole knee's arrays, missing constants")
        largest, degree, *depth = check_array("constants", arrays["constants"], (4,))
        first, second, third = regressors_of(arrays, dict.fromkeys(PARTS, 6))
        return cls(
            formulation, space, float(largest), float(degree), np.array(depth),
            (first, second, third),
            (_domain(arrays, "medial"), _domain(arrays, "lateral")),
        )  # fmt: skip


def _domain(arrays: Mapping[str, NDArray[Any]], name: str) -> Domain:
    """Return the domain of a compartment from the arrays of a whole knee."""
    return Domain.from_arrays(part_of(arrays, f"domain/{name}"))


@dataclass(frozen=True, eq=False)
class CompartmentView:
    """What concerns one compartment of a `WholeKneeSurrogate`, as a compartment's surrogate.

    Parameters
    ----------
    knee : WholeKneeSurrogate
        Both compartments.
    place : int
        0 medial, 1 lateral.
    """

    knee: WholeKneeSurrogate
    place: int

    @property
    def formulation(self) -> str:
        """The knee's formulation."""
        return self.knee.formulation

    @property
    def space(self) -> SampleSpace:
        """Where the knee's samples were drawn."""
        return self.knee.space

    @property
    def domain(self) -> Domain:
        """What of the space the samples taught of the compartment."""
        return self.knee.domains[self.place]

    def evaluate(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (12,), d(wrench)/d(pose) (6, 6) and scaled variables (7,) at a pose."""
        loads, jacobian, x = self.evaluate_batch(np.asarray(coordinates)[None])
        return loads[0], jacobian[0], x[0]

    def evaluate_batch(self, poses: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (N, 12), jacobians (N, 6, 6) and variables (N, 7) at poses (N, 6)."""
        loads, jacobian, x = self.knee.fill(check_array("poses", poses, (None, 6)))
        return loads[:, self.place], jacobian[:, self.place], x[:, self.place]

    def standard_error(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors of the loads at poses (N, 6): (N, 12), or NaN."""
        return self.knee.standard_errors(poses)[:, self.place]

    #: Whether heights over the first contact are known.
    tells_gaps = False

    def gaps(self, poses: ArrayLike) -> FloatArray:
        """Return heights over the first contact (N,) [m]: 0, since none is told."""
        return np.zeros(len(check_array("poses", poses, (None, 6))))


#: Either kind of a knee's surrogate, and of what concerns one of its compartments.
AnyKnee = KneeSurrogate | WholeKneeSurrogate
AnyCompartment = CompartmentSurrogate | CompartmentView
