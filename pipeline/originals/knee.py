"""What a run needs of the original model that a surrogate replaces, and a contact model as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pandas as pd

from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.errors import InputError, PoseError
from foundation.base.findings import Finding
from foundation.base.flags import worded
from foundation.base.loads import LOAD_COLUMNS, STRAIN_LIMIT
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.statics.height import pose_at_load
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config, ContactConfig
from pipeline.originals.candidates import choose_samples, held_out_samples
from pipeline.originals.knee_surfaces import KneeSurfaces
from pipeline.originals.reference_path import middle_pose, reference_path
from pipeline.originals.spring_bed import springs_beside
from pipeline.progress import without_warnings
from pipeline.store.run_documents import FromModel, FromTable
from pipeline.store.sample_store import Evaluation
from pipeline.store.samples import FAILED, OK, RESULT_COLUMNS, poses_of
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Takes a line on the progress of a preparation.
Progress = Callable[[str], None]


class OriginalModel(Protocol):
    """The model that a surrogate replaces: a contact model, or a table of poses and loads."""

    @property
    def model(self) -> SurfaceContact | None:
        """Contact model that gives loads at any pose; None if only stored rows are known."""

    @property
    def quick(self) -> SurfaceContact | None:
        """Contact model for what many evaluations at about the right height suffice for, if any."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines the loads."""

    @property
    def not_given(self) -> tuple[str, ...]:
        """Columns of `foundation.base.loads.LOAD_COLUMNS` that the model does not give."""

    def prepare(self, progress: Progress) -> None:
        """Compute what every evaluation needs, unless it is stored; `progress` takes texts."""

    def reference_path(self, config: Config) -> ReferencePath:
        """Return the reference path over flexion of a study."""

    def candidates(self, space: SampleSpace, config: Config) -> pd.DataFrame:
        """Return the candidates of stage a, with `first` (bool) for those of stage b."""

    def held_out(
        self, space: SampleSpace, config: Config, candidates: pd.DataFrame
    ) -> pd.DataFrame:
        """Return the held-out samples, none of which is a candidate."""

    def evaluation(self, follow: str = "load") -> Evaluation:
        """Return the evaluation of samples at their load, or at their pose if `follow` is so."""

    def describe(self, space: SampleSpace) -> FromModel | FromTable:
        """Return the entry `original` of `run.json`."""


def contact_model(original: OriginalModel, *, quick: bool = False) -> SurfaceContact:
    """Return the contact model of an original model, or its `quick` model."""
    model = original.quick if quick else original.model
    if model is None:
        raise InputError(
            "the command needs a contact model, but the run was made from a table of poses and "
            'loads; rerun with original.kind = "model"'
        )
    return model


def evaluate_rows(model: SurfaceContact, table: pd.DataFrame, follow: str) -> pd.DataFrame:
    """Evaluate the original model at each row of `pipeline.store.samples.CANDIDATE_COLUMNS`.

    With `follow` = "load", the height is found that carries the row's load; with "pose", the load
    at the row's height. A row without an answer has the status "failed", the reason, and NaN loads.
    """
    answer = _at_load if follow == "load" else _at_pose
    arguments = poses_of(table), table["compartment"], table["load_N"]
    rows = [
        answer(model, Pose.from_array(pose), compartment, load)
        for pose, compartment, load in zip(*arguments, strict=True)
    ]
    columns = pd.Index(["superior_m", *RESULT_COLUMNS])
    results = pd.DataFrame(rows, columns=columns, index=table.index)
    inputs = table.drop(columns=list(RESULT_COLUMNS), errors="ignore")
    return inputs.assign(**{name: results[name] for name in columns})


def _failed(reason: object, evaluations: int) -> tuple[Any, ...]:
    return FAILED, str(reason), evaluations, *np.full(len(LOAD_COLUMNS), np.nan)


def _at_load(model: SurfaceContact, pose: Pose, compartment: str, load: float) -> tuple[Any, ...]:
    try:
        solution = pose_at_load(model, pose, compartment, load)
    except PoseError as error:
        return pose.superior, *_failed(error, 0)
    return solution.pose.superior, OK, "", solution.evaluations, *solution.loads


def _at_pose(model: SurfaceContact, pose: Pose, compartment: str, load: float) -> tuple[Any, ...]:
    del load  # the load of the sample is the load at the height
    try:
        loads, _, depth = model.compartment_loads(pose, compartment)
    except PoseError as error:
        return pose.superior, *_failed(error, 1)
    if loads[1] <= 0.0:
        return pose.superior, *_failed("no contact at this height", 1)
    if depth[1] > STRAIN_LIMIT:
        return pose.superior, *_failed(f"the layer is pressed through (strain {depth[1]:.2f})", 1)
    if flags := model.compartment_flags(pose, compartment):
        return pose.superior, *_failed(worded(flags), 1)
    return pose.superior, OK, "", 1, *loads


@dataclass(frozen=True, eq=False)
class Knee:
    """A contact model as the original model of a run.

    Parameters
    ----------
    model : SurfaceContact
        The original model.
    start : Pose
        An unrotated pose near contact, where settling of the reference path begins.
    digest : str
        SHA-256 of everything that determines the loads.
    bed : SurfaceContact, optional
        Elastic foundation over the same surfaces, which needs no preparation: settles the
        reference path and checks the domain. By default the model itself.
    preparation : callable, optional
        Computes what every evaluation needs, unless it is stored.
    """

    model: SurfaceContact
    start: Pose
    digest: str
    bed: SurfaceContact | None = None
    preparation: Callable[[Progress], None] | None = None
    not_given: ClassVar[tuple[str, ...]] = ()

    @property
    def quick(self) -> SurfaceContact:
        """Contact model for what many evaluations at about the right height suffice for."""
        return self.model if self.bed is None else self.bed

    def prepare(self, progress: Progress) -> None:
        """Compute what every evaluation needs, unless it is stored; `progress` takes texts."""
        if self.preparation is not None:
            self.preparation(progress)

    def reference_path(self, config: Config) -> ReferencePath:
        """Return the reference path over flexion of a study.

        Samples lie at offsets from the path, at heights of their own. The path of an elastic
        foundation is therefore as good as that of finite elements, which settle at other depths
        (tests/pipeline/originals/test_finite_element_layer.py).
        """
        return reference_path(config, self.quick, self.start)

    def candidates(self, space: SampleSpace, config: Config) -> pd.DataFrame:
        """Return the candidates of stage a, drawn from the sample space."""
        return choose_samples(
            space,
            config.design,
            config.run.seed,
            config.knee.compartments,
            config.space.motion,
        )

    def held_out(
        self, space: SampleSpace, config: Config, candidates: pd.DataFrame
    ) -> pd.DataFrame:
        """Return the held-out samples, drawn from the sample space with a seed of their own."""
        return held_out_samples(
            space,
            config.validation,
            candidates,
            config.knee.compartments,
            config.space.motion,
        )

    def evaluation(self, follow: str = "load") -> Evaluation:
        """Return the evaluation of samples at their load, or at their pose if `follow` is so."""
        function, source = partial(evaluate_rows, follow=follow), f"{self.digest} {follow}"
        # The height that a search finds depends on its start by at most 1e-13 m.
        searched_columns = ("superior_m",) if follow == "load" else ()
        return Evaluation(function, (self.model,), source, searched_columns)

    def describe(self, space: SampleSpace) -> FromModel:
        """Return the entry `original` of `run.json`."""
        del space
        return FromModel(kind="model")


@dataclass(frozen=True, eq=False)
class KneeInputs:
    """What a contact model of a study is built from."""

    config: Config
    surfaces: KneeSurfaces
    #: Run directory, for what a model keeps on disk.
    folder: Path | None = None

    @cached_property
    def start(self) -> Pose:
        """An unrotated pose near contact."""
        return middle_pose(self.surfaces.femur, self.surfaces.tibia)

    @cached_property
    def springs(self) -> ElasticFoundation:
        """Elastic foundation over the same surfaces, for a model that takes long."""
        return springs_beside(self.config.contact, self.surfaces)

    @cached_property
    def path(self) -> ReferencePath:
        """Reference path that `springs` settle on; InputError if the knee does not settle."""
        try:
            with without_warnings:
                return reference_path(self.config, self.springs, self.start)
        except EquilibriumError as error:
            raise InputError(f"space.path: {error}") from error


class Cost(NamedTuple):
    """Expected cost of a contact model.

    `evaluation_s`: time of an evaluation of one compartment [s]; `preparation_s` and `storage`:
    time [s] and disk space [bytes] of the preparation; `notes`: findings for the checkup.
    """

    evaluation_s: float
    preparation_s: float = 0.0
    storage: float = 0.0
    notes: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Preparation:
    """Computation that a contact model needs before the first evaluation."""

    #: Name of the stage of a run.
    stage: str
    #: Takes the knee, not prepared, [contact] and the area of a typical contact [m²].
    cost: Callable[[Knee, ContactConfig, float], Cost]
    #: Time with twice the node spacing, as in stage h, over that with the spacing [1]; 0: no nodes.
    coarser: float = 0.0


@dataclass(frozen=True)
class ContactKind:
    """What a run asks of a kind of contact model, in addition to `SurfaceContact`."""

    #: Raises an `InputError` that names the key of a parameter that cannot be used.
    build: Callable[[KneeInputs], Knee]
    #: Takes the knee, [contact] and the area of a typical contact [m²].
    check_resolution: Callable[[Knee, ContactConfig, float], Finding]
    #: Returns warnings about doubtful values of [contact].
    check: Callable[[ContactConfig], list[Finding]] = lambda contact: []
    #: What precedes the first evaluation.
    preparation: Preparation | None = None
