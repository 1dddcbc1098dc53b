"""The knee of a comparison: configurations, surfaces, cycle, models and samples of several rows."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dynamics.protocol import ContactModel
from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE, COMPARTMENTS
from foundation.finite_element.model import FiniteElementContact
from foundation.surface_contact import SurfaceContact
from pipeline.config.contact_schema import (
    OF_LAWS,
    OWN_KEYS,
    CalibrationConfig,
    ComparisonConfig,
    LayerConfig,
    with_model,
)
from pipeline.config.reading import checked_section, dump_config
from pipeline.config.schema import Config
from pipeline.errors import StageError
from pipeline.files import write_json, write_text, writing
from pipeline.originals.candidates import generators, sample_space
from pipeline.originals.contact_original import build_knee
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.originals.knee import Knee, evaluate_rows
from pipeline.originals.knee_surfaces import KneeSurfaces, load_surfaces
from pipeline.originals.spring_bed import LARGEST_RATIO, build_bed, layer_thickness
from pipeline.progress import bar, say
from pipeline.runner import run_study
from pipeline.simulation import GaitSimulation
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.documents import read_document
from pipeline.store.job import changed_keys
from pipeline.store.run_documents import RunRecord, StageTimes
from pipeline.store.samples import OK, candidate_table, loads_of, poses_of
from surrogates.sampling.designs import unit_design
from surrogates.sampling.space import OFFSET_COORDINATES, ReferencePath, SampleSpace

_CALIBRATION = 7
#: Largest displacement from a pose of gait: adduction, rotation, anterior, lateral as parts of the
#: sample space's half widths; and largest factor on a load of gait, its inverse the least.
_MOVES = np.array([0.15, 0.1, 0.1, 0.3])
_LOAD_FACTOR = 1.6
_ROWS_PER_STEP = 5


@dataclass(frozen=True, eq=False)
class CalibrationSamples:
    """Loads (N, 12) [N, ..., m] of single compartments by the model for calibrating springs."""

    #: Poses (N, 6) [rad, m].
    poses: FloatArray
    #: Name of the compartment of each sample, (N,).
    compartments: NDArray[np.str_]
    #: In the order of `foundation.base.loads.LOAD_COLUMNS`, (N, 12) [N, N m, m², Pa, m].
    loads: FloatArray

    def __len__(self) -> int:
        return len(self.poses)

    def part(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the chosen samples, (N,) bool."""
        return type(self)(self.poses[chosen], self.compartments[chosen], self.loads[chosen])


def draw_samples(
    cycle: SimulationResult, space: SampleSpace, settings: CalibrationConfig
) -> pd.DataFrame:
    """Draw samples of both compartments along a gait cycle: instants of a Sobol sequence.

    Poses are moved and loads scaled a little: the samples are those of other people's gait too.
    """
    parts = []
    _, half = space.centre_and_half
    for side, (name, generator) in enumerate(generators([settings.seed, _CALIBRATION])):
        unit = unit_design("sobol", settings.samples, 6, generator)
        instants = (unit[:, 0] * len(cycle.poses)).astype(int)
        poses = cycle.poses[instants].copy()
        poses[:, OFFSET_COORDINATES] += half[1:5] * _MOVES * (2.0 * unit[:, 1:5] - 1.0)
        load = cycle.compartment_loads[side, instants, AXIAL_FORCE]
        load = np.maximum(load * _LOAD_FACTOR ** (2.0 * unit[:, 5] - 1.0), space.load[0])
        parts.append(candidate_table(poses, load, name))
    return pd.concat(parts, ignore_index=True)


def samples_of(model: SurfaceContact, drawn: pd.DataFrame) -> CalibrationSamples:
    """Evaluate a model at the loads of drawn samples; samples without an answer are left out."""
    parts = []
    with bar(len(drawn), "sample", "finite elements") as shown:
        for start in range(0, len(drawn), _ROWS_PER_STEP):
            rows = drawn.iloc[start : start + _ROWS_PER_STEP]
            parts.append(evaluate_rows(model, rows, "load"))
            shown.update(len(rows))
    table = pd.concat(parts, ignore_index=True)
    answered = table[table["status"] == OK]
    for name in COMPARTMENTS:
        found, asked = ((each["compartment"] == name).sum() for each in (answered, table))
        if 2 * found < asked:
            reason = table.loc[table["status"] != OK, "reason"].iloc[0]
            raise StageError(
                f"calibration: expected an answer of the finite elements at half of the {asked} "
                f"{name} samples or more, found {found} ({reason})"
            )
    names = answered["compartment"].to_numpy(dtype=np.str_)
    return CalibrationSamples(poses_of(answered), names, loads_of(answered))


#: Contact model that the others are compared with.
ELEMENTS_MODEL = "finite_element"
#: Reason of a configuration that cannot be made.
_SOURCE = "the configuration of a compared model"

#: Keys of the compared modified law, unless [contact] has this law: the defaults are linear.
MODIFIED = {"f": float("inf"), "m": 0.9, "reference_indentation_mm": 1.0}

Tree = dict[str, Any]


def elements_configuration(config: Config) -> Config:
    """Return the configuration with the layers solved by finite elements."""
    if config.original.kind != "model":
        raise InputError(
            'original.kind: expected "model" for a comparison of contact models, found "table"; '
            "describe the knee in [knee] and [contact]"
        )
    if config.contact.model == ELEMENTS_MODEL:
        return _alone(config)
    femoral = config.contact.femur_layer
    if config.contact.has_laws and femoral is not None and femoral.thickness_file is not None:
        raise InputError(
            "contact.femur_layer.thickness_file: a comparison of contact models needs finite "
            "elements, and this table has a row per tibial vertex; give contact.femur_layer."
            "thickness_mm, or describe finite elements in the configuration"
        )
    tree = _tree(config)
    return _checked(tree | {"contact": with_model(tree["contact"], ELEMENTS_MODEL)})


def springs_configuration(config: Config, surfaces: KneeSurfaces, law: str, **own: float) -> Config:
    """Return the configuration with an elastic foundation of a spring law.

    The law is that of both layers if the femur has one; `own` are its keys in addition to those of
    all laws. Poisson's ratios above `LARGEST_RATIO` become this ratio, and a femoral layer of
    varying thickness, which finite elements take at femoral vertices, becomes one of its mean
    thickness.
    """
    tree = _tree(config)
    contact = _without(with_model(tree["contact"], "elastic_foundation"), OF_LAWS)
    if law == "coupled":
        contact = _without(contact, ("surface",))
    contact |= _of_springs(contact, law, own)
    if (femoral := config.contact.femur_layer) is not None:
        layer = _without(contact["femur_layer"], OF_LAWS)
        if not config.contact.has_laws and femoral.thickness_file is not None:
            thickness = layer_thickness(femoral, len(surfaces.femur.vertices), body="femoral")
            layer = _without(layer, ("thickness_file",))
            layer["thickness_mm"] = 1e3 * float(np.mean(thickness))
        contact["femur_layer"] = layer | _of_springs(layer, law, own)
    return _checked(tree | {"contact": contact})


def given_parameters(config: Config, law: str) -> dict[str, float]:
    """Return the given keys of a spring law: of [contact], or for others those to compare with."""
    if law == "modified" and config.contact.law != law:
        return dict(MODIFIED)
    given = config.contact if config.contact.law == law else LayerConfig()
    return {key: getattr(given, key) for key in OWN_KEYS.get(law, ())}


def training_configuration(config: Config, name: str) -> Config:
    """Return the configuration of the run that trains a surrogate of a comparison, and no more."""
    return config.model_copy(
        update={
            "run": config.run.model_copy(update={"name": name}),
            "surrogate": config.surrogate.model_copy(update={"compare": ()}),
            "simulation": config.simulation.model_copy(update={"combinations": False}),
        }
    )


def _of_springs(layer: Tree, law: str, own: dict[str, float]) -> Tree:
    ratio = min(layer["poissons_ratio"], LARGEST_RATIO)
    return {"law": law, "poissons_ratio": ratio, **own}


def _alone(config: Config) -> Config:
    return config.model_copy(update={"calibration": None, "comparison": None})


def _tree(config: Config) -> Tree:
    return _alone(config).model_dump(exclude_none=True)


def _without(tree: Tree, keys: tuple[str, ...]) -> Tree:
    return {key: value for key, value in tree.items() if key not in keys}


def _checked(tree: Tree) -> Config:
    return checked_section(tree, Config, _SOURCE)


#: Name of the finite elements of the study among the compared models.
ELEMENTS = "finite_elements"
#: File of the times of what is kept on disk.
TIMES = "times.json"
#: Stages of a run that a surrogate does not need.
_NOT_OF_SURROGATE = ("held-out samples", "validation", "h: gait simulation")


class Built(NamedTuple):
    """A model of a comparison, ready for use."""

    model: ContactModel
    #: Wall time of the set-up [s].
    seconds: float


def timed(make: Callable[[], ContactModel], earlier: float = 0.0) -> Built:
    """Return the model that `make` returns; the set-up took `earlier` [s] before that."""
    start = time.perf_counter()
    model = make()
    return Built(model, earlier + time.perf_counter() - start)


class TimedSamples(NamedTuple):
    """Samples of the finite elements, and the time [s] that they took with the set-up."""

    value: CalibrationSamples
    seconds: float


@dataclass(frozen=True, eq=False)
class ComparedKnee:
    """The knee on which models are compared."""

    #: The study; its contact may be springs or finite elements.
    config: Config
    #: Folder of the comparison, which keeps condensed compliances and trained surrogates.
    folder: Path
    #: Whether runs that train surrogates continue.
    resume: bool = False

    @cached_property
    def elements_config(self) -> Config:
        """The study with finite elements."""
        return elements_configuration(self.config)

    def check(self) -> None:
        """Raise an InputError if configuration or surfaces cannot be used, before files change."""
        self.elements_config  # noqa: B018
        self.surfaces  # noqa: B018

    @property
    def settings(self) -> ComparisonConfig:
        """Settings of the comparison."""
        return self.config.comparison or ComparisonConfig()

    @cached_property
    def surfaces(self) -> KneeSurfaces:
        """Surfaces of the knee; raises as `load_surfaces`."""
        return load_surfaces(self.config)

    @cached_property
    def _original(self) -> tuple[Knee, float]:
        start = time.perf_counter()
        return build_knee(self.elements_config, self.folder), time.perf_counter() - start

    @property
    def elements(self) -> FiniteElementContact:
        """Finite elements with the spacing of the study, perhaps not yet condensed."""
        model = self._original[0].model
        assert isinstance(model, FiniteElementContact)
        return model

    @cached_property
    def path(self) -> ReferencePath:
        """Reference path of the study, on which the springs of the simulator depend."""
        return self._original[0].reference_path(self.elements_config)

    @cached_property
    def gait(self) -> GaitSimulation:
        """The gait cycle, the same for all models."""
        return GaitSimulation.of(self.elements_config.simulation, self.path)

    @cached_property
    def samples(self) -> TimedSamples:
        """Samples of the finite elements, along the cycle of linear springs, for calibrations."""
        built = self.condensed_elements(ELEMENTS)
        start = time.perf_counter()
        cycle = self.gait(build_bed(self.springs("linear").contact, self.surfaces))
        space = sample_space(self.elements_config, self.path)
        drawn = draw_samples(cycle, space, self.config.calibration or CalibrationConfig())
        found = samples_of(self.elements, drawn)
        return TimedSamples(found, built.seconds + time.perf_counter() - start)

    def springs(self, law: str, **own: float) -> Config:
        """Return the study with an elastic foundation of a law and its own keys."""
        return springs_configuration(self.config, self.surfaces, law, **own)

    def condensed(self, name: str, model: FiniteElementContact, meshing: float) -> Built:
        """Return a finite-element model after its condensation.

        The time of the set-up [s] is `meshing` and the condensation. A resumed comparison finds the
        compliances on disk, and takes the time that was stored when they were made.
        """
        start = time.perf_counter()
        model.prepare(say)
        seconds = meshing + time.perf_counter() - start
        file = self.folder / TIMES
        known = dict(read_document(file, StageTimes).root) if file.exists() else {}
        if name not in known:
            write_json(file, known | {name: seconds})
        return Built(model, known.get(name, seconds))

    def condensed_elements(self, name: str) -> Built:
        """Return the finite elements of the study after their condensation."""
        model, meshing = self.elements, self._original[1]
        return self.condensed(name, model, meshing)

    def trained(self, name: str, config: Config, seconds: float) -> Built:
        """Return the surrogate of a model, trained by a run in a sub-folder of the name.

        The set-up takes that of the model, some seconds [s], and the stages up to the fits.
        """
        study = training_configuration(config, name)
        folder = self.folder / name
        if not (self.resume and _finished(folder, study)):
            resume = self.resume and (folder / "config.toml").exists()
            if not resume:
                shutil.rmtree(folder, ignore_errors=True)
            if study.contact.model == ELEMENTS_MODEL:
                self._share_compliances(folder, study)
                resume = True
            run_study(study, folder, resume=resume)
        spent = read_document(folder / "run.json", RunRecord).seconds
        own = sum(value for stage, value in spent.items() if stage not in _NOT_OF_SURROGATE)
        return Built(TrainedRun.open(folder).surrogate, seconds + own)

    def _share_compliances(self, folder: Path, study: Config) -> None:
        """Give a run the condensed compliances, as a run that was interrupted after condensing."""
        target = folder / CONDENSED
        with writing(target):
            target.mkdir(parents=True, exist_ok=True)
            for file in (self.folder / CONDENSED).glob("*.npy"):
                if not (target / file.name).exists():
                    _link(file, target / file.name)
        if not (folder / "config.toml").exists():
            write_text(folder / "config.toml", dump_config(study))


def _link(file: Path, target: Path) -> None:
    """Link a file without a second copy on the disk, or copy it where there are no links."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copy2(file, target)


def _finished(folder: Path, config: Config) -> bool:
    """Return whether a folder holds the finished run of a configuration."""
    stored = folder / "config.toml"
    if not ((folder / "report.json").is_file() and stored.is_file()):
        return False
    return not changed_keys(stored, dump_config(config), "run")
