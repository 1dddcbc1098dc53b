"""A contact model over the surfaces of a study as the original model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pandas as pd

from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config
from pipeline.originals.candidates import choose_samples, held_out_samples
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.finite_element_layer import bed_beside, build_elements, check_nodes
from pipeline.originals.knee_surfaces import KneeSurfaces, load_surfaces
from pipeline.originals.layer_checks import check_laws, check_layers
from pipeline.originals.plateau_starts import middle_pose
from pipeline.originals.protocol import Evaluation, Progress
from pipeline.originals.reference_path import reference_path
from pipeline.originals.spring_bed import bed_digest, build_bed
from pipeline.store.run_documents import FromModel
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath, SampleSpace


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
        # The kernels are compiled before the workers start, so that the workers find them cached.
        self.model.compartment_loads(Pose(), self.model.compartment_names[0])
        return Evaluation(partial(evaluate_rows, follow=follow), (self.model,))

    def describe(self, space: SampleSpace, surrogate: ContactSurrogate) -> FromModel:
        """Return the entry `original` of `run.json`."""
        del space, surrogate
        return FromModel(kind="model")


def build_knee(config: Config, folder: Path | None = None) -> Knee:
    """Load or build the surfaces of a study and return the contact model over these surfaces.

    Doubtful surfaces and layers are warned about.

    Parameters
    ----------
    config : Config
        The study.
    folder : Path, optional
        Run directory, for what a model keeps on disk.

    Raises
    ------
    InputError
        If a mesh or a parameter cannot be used; the message names it.
    """
    surfaces = load_surfaces(config)
    for finding in check_laws(config.contact):
        warnings.warn(finding.text, stacklevel=2)
    knee = _BUILDERS[config.contact.model](config, surfaces, folder)
    for finding in check_layers(config.contact, surfaces.tibia, knee.quick):
        warnings.warn(f"{finding.about}: {finding.text}", stacklevel=2)
    return knee


def _spring_knee(config: Config, surfaces: KneeSurfaces, folder: Path | None) -> Knee:
    del folder  # springs need no preparation
    model = build_bed(config.contact, surfaces)
    return Knee(model, middle_pose(model.femur, model.tibia), bed_digest(model))


def _finite_element_knee(config: Config, surfaces: KneeSurfaces, folder: Path | None) -> Knee:
    elements = config.contact.finite_element
    assert elements is not None  # the schema gives the section
    bed = bed_beside(config.contact, surfaces)
    start = middle_pose(bed.femur, bed.tibia)
    check_nodes(elements, bed, start, config.space.path.axial_force_N / len(surfaces.names))
    model = build_elements(config.contact, surfaces, folder)
    return Knee(model, start, model.digest, bed, model.prepare)


_BUILDERS = {"elastic_foundation": _spring_knee, "finite_element": _finite_element_knee}
