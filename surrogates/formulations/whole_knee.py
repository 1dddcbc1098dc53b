"""Formulations that learn both compartments of a knee together (docs/theory.md).

All are learnt from poses in which both condyles carry load and hold for such poses only; moments
are about the tibial origin. `knee_inverted_one` has one sensitive direction (Lin, Haftka, Queipo &
Fregly 2010, Med Eng Phys 32:584-594). `knee_inverted_two` continues along tangents where a condyle
lifts off and its loads vanish; the other formulations do not represent lift-off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from surrogates.compiled import whole_knee as compiled
from surrogates.compiled.layout import new_work
from surrogates.families.regressor import Regressor, arrays_of, part_of, regressors_of, under
from surrogates.fields.knee_fields import PairFields
from surrogates.formulations.compartment import CompartmentSurrogate, checked_depth
from surrogates.formulations.domain import Domain
from surrogates.formulations.knee import KneeSurrogate
from surrogates.formulations.outside import OUTSIDE
from surrogates.formulations.pair import PairSurrogate
from surrogates.formulations.trained_contact import TrainedContact
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
class WholeKneeSurrogate(TrainedContact):
    """Surrogate of both compartments together; implements `dynamics.protocol.ContactModel`.

    It has the methods of `surrogates.formulations.knee.KneeSurrogate`.

    Parameters
    ----------
    formulation : str
        One of `KNEE_FORMULATIONS`.
    space : SampleSpace
        Box of the samples; a pose outside the box is held at the border.
    largest : float
        F_max of the root of a load [N].
    degree : float
        p [1].
    depth : (2,) float64
        Middle and half range of the heights of the samples over the path [m].
    regressors : tuple of Regressor
        `PARTS`; parts that a formulation does not need have no outputs.
    domains : tuple of Domain
        Trained part of the space, of each compartment.
    header : mapping
        Header of the surrogate's file: names, family, errors, provenance.
    outside : {"clamp", "warning", "error"}
        Treatment of a pose outside the trained domain.
    fields : KneeFields, optional
        Pressure fields.

    Raises
    ------
    InputError
        If a constant is out of range or the regressors do not suit the formulation.
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
    fields: PairFields | None = None

    def __post_init__(self) -> None:
        check_in("formulation", self.formulation, KNEE_FORMULATIONS)
        check_in("outside", self.outside, OUTSIDE)
        check_number("largest", self.largest, above=0.0)
        check_number("degree", self.degree, at_least=1.0)
        object.__setattr__(self, "depth", checked_depth(self.depth))
        self._check_regressors()

    def _check_regressors(self) -> None:
        inputs = [part.inputs for part in self.regressors]
        if inputs != [6, 6, 6]:
            raise InputError(f"regressors: expected 6 inputs each, found {inputs}")
        wanted = sum(width * (1 + own) for _, width, own in OUTPUTS[self.code])
        found = [part.outputs for part in self.regressors]
        sensitive = self.code  # outputs for one sensitive direction or two, all in the first part
        if sum(found) != wanted or found[0] < sensitive:
            raise InputError(
                f"regressors: expected {wanted} outputs for {self.formulation!r}, at least "
                f"{sensitive} in the first part, found {found}"
            )

    def fill_into(
        self, poses: FloatArray, loads: FloatArray, jacobian: FloatArray, variables: FloatArray
    ) -> bool:
        """Fill the arrays of `fill` [SI] at poses (N, 6); return True, as a pose may be outside."""
        work = self._work
        compiled.whole_knee_loads_of_all(poses, self.arguments, loads, jacobian, variables, work)
        return True

    def standard_error(self, pose: Pose) -> FloatArray:
        """Return the predicted standard errors of both compartments' loads (2, 12) [SI], or NaN."""
        return self.standard_errors(pose.array[None])[0]

    def standard_errors(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors (N, 2, 12) [SI] of the loads at poses (N, 6).

        Inverted formulations take the errors that the domains expect; NaN without such errors.
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
        """Return the view of one compartment, "medial" or "lateral"."""
        return CompartmentView(self, COMPARTMENTS.index(check_in("name", name, COMPARTMENTS)))

    def with_domains(self, domains: Sequence[Domain]) -> WholeKneeSurrogate:
        """Return the same surrogate with other trained domains, one for each compartment."""
        medial, lateral = domains
        return replace(self, domains=(medial, lateral))

    @property
    def medial(self) -> CompartmentView:
        """View of the medial compartment."""
        return self.compartment("medial")

    @property
    def lateral(self) -> CompartmentView:
        """View of the lateral compartment."""
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
        """Arguments of `compiled.whole_knee.whole_knee_loads` between pose and loads."""
        # Read-only as those of compartments: numba compiles writable arrays as another type.
        space = tuple(frozen(np.array(array)) for array in self.space.arguments)
        *arrays, lever = self.coordinates.arguments
        constants = np.array([self.code, self.largest, self.degree, *self.depth])
        domains = tuple(
            (frozen(np.array(domain.bounds)), domain.regressor.arguments) for domain in self.domains
        )
        regressors = tuple(regressor.arguments for regressor in self.regressors)
        coordinates = (*(frozen(np.array(array)) for array in arrays), lever)
        return space, coordinates, constants, *regressors, domains

    @cached_property
    def workspace(self) -> int:
        """Size of the scratch array that `compiled.whole_knee.whole_knee_loads` needs."""
        return int(compiled.whole_knee_workspace(*self.arguments[3:]))

    @cached_property
    def _work(self) -> FloatArray:
        return new_work(self.workspace)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields but space and header as arrays, such as constants (4,) [SI]."""
        constants = np.array([self.largest, self.degree, *self.depth])
        named = {"constants": constants} | arrays_of(PARTS, self.regressors)
        for name, domain in zip(COMPARTMENTS, self.domains, strict=True):
            named |= under(f"domain/{name}", domain.to_arrays())
        return named

    @classmethod
    def from_arrays(
        cls, formulation: str, space: SampleSpace, arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Build from the arrays of `to_arrays`, such as constants (4,) [SI].

        Raises
        ------
        InputError
            If an array is missing or malformed.
        """
        if "constants" not in arrays:
            raise InputError("arrays: missing 'constants' of a whole knee")
        largest, degree, *depth = check_array("constants", arrays["constants"], (4,))
        first, second, third = regressors_of(arrays, dict.fromkeys(PARTS, 6))
        medial, lateral = (
            Domain.from_arrays(part_of(arrays, f"domain/{name}")) for name in COMPARTMENTS
        )
        return cls(
            formulation, space, float(largest), float(degree), np.array(depth),
            (first, second, third), (medial, lateral),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class CompartmentView:
    """One compartment of a `WholeKneeSurrogate`, with the methods of a `CompartmentSurrogate`.

    Parameters
    ----------
    knee : WholeKneeSurrogate
        Both compartments.
    place : int
        0 medial, 1 lateral.
    """

    #: Whether heights over the first contact are known.
    tells_gaps = False

    knee: WholeKneeSurrogate
    place: int

    @property
    def formulation(self) -> str:
        """The knee's formulation."""
        return self.knee.formulation

    @property
    def space(self) -> SampleSpace:
        """Sample space of the knee."""
        return self.knee.space

    @property
    def domain(self) -> Domain:
        """Trained part of the space, of the compartment."""
        return self.knee.domains[self.place]

    def evaluate(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (12,), d(wrench)/d(pose) (6, 6) [SI] and scaled variables (7,) at a pose."""
        loads, jacobian, x = self.evaluate_batch(np.asarray(coordinates)[None])
        return loads[0], jacobian[0], x[0]

    def evaluate_batch(self, poses: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (N, 12), jacobians (N, 6, 6) [SI] and variables (N, 7) at poses (N, 6)."""
        loads, jacobian, x = self.knee.fill(check_array("poses", poses, (None, 6)))
        return loads[:, self.place], jacobian[:, self.place], x[:, self.place]

    def standard_error(self, poses: ArrayLike) -> FloatArray:
        """Return the predicted standard errors (N, 12) [SI] at poses (N, 6), or NaN."""
        return self.knee.standard_errors(poses)[:, self.place]

    def gaps(self, poses: ArrayLike) -> FloatArray:
        """Return heights over the first contact (N,) [m]: 0, as the formulations learn none."""
        return np.zeros(len(check_array("poses", poses, (None, 6))))


#: Either kind of surrogate of a knee, and of one compartment.
AnyKnee = KneeSurrogate | WholeKneeSurrogate | PairSurrogate
AnyCompartment = CompartmentSurrogate | CompartmentView
