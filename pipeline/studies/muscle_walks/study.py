"""Studies over a recorded walk: inputs, outputs, Monte Carlo and sensitivity."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from dynamics.musculoskeletal import ComakResult, ComakSettings, RecordedPlant
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.osim_joints import Placement
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.plant import MuscleSet
from dynamics.simulator.variation import VariedContact
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.data_folder import data_file
from pipeline.config.reading import load_section
from pipeline.config.schema_base import Section
from pipeline.flagged_instants import joined_kinds
from pipeline.originals.articular_contacts import with_thickness
from pipeline.originals.spring_bed import springs_of
from pipeline.reports.judgement import stored_judgement
from pipeline.simulation import Output
from pipeline.store.job import Job, RunError
from pipeline.store.samples import OK
from pipeline.studies.experiment import Experiment, first_values, study_of_runs, study_table
from pipeline.studies.factors import Catalogue, Factor
from pipeline.studies.muscle_walks.frames import (
    body_weight,
    bundled,
    compartment_forces,
    contact_flags,
    group_of,
    ligament_forces,
    medial_share,
    shown_secondary,
    sign_of,
)
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup, prepare_walk
from pipeline.studies.schema import DesignConfig, DistributionConfig
from pipeline.studies.study import tried, with_results


class WalkStudyConfig(DesignConfig):
    """Monte Carlo or sensitivity study over a walk of an OpenSim model, which is replayed."""

    walk: str = Field(
        "runs/comak_walking",
        description="folder of the walk with plant.npz; relative to the working directory",
    )
    unconverged: Literal["flag", "fail"] = Field(
        "flag", description="treatment of a run with frames that do not converge"
    )
    factor: tuple[DistributionConfig, ...] = Field(
        min_length=1,
        description="[[study.factor]]: the varied inputs; `knee-contact factors "
        "FOLDER` lists their names",
    )


class WalkStudyFile(Section):
    """Study over a recorded walk of an OpenSim model."""

    study: WalkStudyConfig


#: All ligaments, or all muscles.
ALL = "all"
_DIRECTIONS = ("forward", "up", "right")
_DEGREE = np.pi / 180.0


def walk_factors(setup: WalkSetup) -> dict[str, Factor]:
    """Return the inputs of a walk that a study can vary, by name."""
    plant, found = setup.plant, dict[str, Factor]()
    for group in dict.fromkeys((ALL, *(group_of(name) for name in plant.ligaments.names))):
        of = "all ligaments" if group == ALL else group
        for name, kind, words, bound in (
            ("stiffness", "stiffness", "stiffness", ">="),
            ("slack", "slack_length", "slack length", ">"),
        ):
            text = f"factor on the {words} of {of}"
            found[f"ligament_{group}_{name}_scale"] = Factor("", 1.0, kind, group, text, bound)
    for muscle in (ALL, *plant.muscles.names):
        text = f"factor on the largest force of {'all muscles' if muscle == ALL else muscle}"
        name = f"muscle_{muscle}_strength_scale"
        found[name] = Factor("", 1.0, "strength", muscle, text, ">")
    for muscle in plant.muscles.names:
        text = f"weight of {muscle} in the cost"
        found[f"muscle_{muscle}_weight"] = Factor("", 1.0, "weight", muscle, text, ">=")
    for contact in setup.contacts:
        found |= _contact_factors(contact.name)
    return found


def _contact_factors(name: str) -> dict[str, Factor]:
    found = {}
    for kind, words in (("modulus", "Young's modulus"), ("thickness", "thickness of the layer")):
        text = f"factor on the {words}, {name}"
        found[f"{name}_{kind}_scale"] = Factor("", 1.0, kind, name, text, ">")
    for part in ("bed", "target"):
        for axis, direction in enumerate(_DIRECTIONS):
            key, moved = (name, part, axis), f"{name}_{part}_{direction}_mm"
            text = f"shift of the {part} of {name}, {direction} in its frame"
            found[moved] = Factor("mm", 1e-3, "move", key, text, "")
            text = f"rotation of the {part} of {name} about the axis {direction} of its frame"
            turned = f"{name}_{part}_about_{direction}_deg"
            found[turned] = Factor("deg", _DEGREE, "turn", key, text, "")
    return found


def check_walk_factor(name: str, factors: Mapping[str, Factor]) -> None:
    """Raise an InputError that lists similar names unless a name is that of an input."""
    if name in factors:
        return
    near = difflib.get_close_matches(name, factors, n=4, cutoff=0.4)
    hint = f"; similar names are {', '.join(near)}" if near else ""
    raise InputError(f"study.factor: expected an input of the walk, found {name!r}{hint}")


def varied_walk(setup: WalkSetup, values: Mapping[str, float]) -> WalkSetup:
    """Return a walk with inputs set to values in the units of their names."""
    factors = walk_factors(setup)
    changes: dict[str, dict[Any, float]] = {}
    for name, value in values.items():
        factor = factors[name]
        changes.setdefault(factor.kind, {})[factor.target] = factor.si * value
    return replace(
        setup,
        plant=_varied_plant(setup.plant, changes),
        settings=_varied_settings(setup.settings, changes.get("weight", {})),
        contacts=tuple(_varied_contact(contact, changes) for contact in setup.contacts),
    )


def _varied_plant(plant: Any, changes: Mapping[str, Mapping[Any, float]]) -> RecordedPlant:
    """Return a recorded plant with other ligaments and muscles."""
    ligaments = plant.ligaments
    groups = [group_of(name) for name in ligaments.names]
    varied = [key for key in ("stiffness", "slack_length") if key in changes]
    scales = {key: _scales(groups, changes[key]) for key in varied}
    found: RecordedPlant = plant
    if scales:
        found = replace(found, ligaments=ligaments.scaled(**scales))
    if strength := changes.get("strength"):
        muscles: MuscleSet = found.muscles
        scale = _scales(list(muscles.names), strength)
        found = replace(found, muscles=replace(muscles, max_force=scale * muscles.max_force))
    return found


def _scales(names: list[str], changes: Mapping[str, float]) -> FloatArray:
    """Return the factor of each name: that of all, times that of its own."""
    return changes.get(ALL, 1.0) * np.array([changes.get(name, 1.0) for name in names])


def _varied_settings(settings: ComakSettings, weights: dict[str, float]) -> ComakSettings:
    changed = dict(settings.muscle_weights) | weights
    return replace(settings, muscle_weights=tuple(changed.items()))


def _varied_contact(
    contact: JointContact, changes: Mapping[str, Mapping[Any, float]]
) -> JointContact:
    """Return a contact with another layer and displaced surfaces."""
    modulus = changes.get("modulus", {}).get(contact.name, 1.0)
    thickness = changes.get("thickness", {}).get(contact.name, 1.0)
    found = contact
    if thickness != 1.0:
        found = _with_thickness(found, thickness)
    if modulus != 1.0:
        found = replace(found, model=VariedContact(found.model, stiffness=modulus))
    for part in ("bed", "target"):
        moved, turned = (
            np.array([changes.get(kind, {}).get((contact.name, part, k), 0.0) for k in range(3)])
            for kind in ("move", "turn")
        )
        if moved.any() or turned.any():
            place: Placement = getattr(found, part)
            other: dict[str, Any] = {part: place.after(Placement.of(turned, moved))}
            found = replace(found, **other)
    return found


def _with_thickness(contact: JointContact, scale: float) -> JointContact:
    """Return a contact whose layers have other thicknesses."""
    springs = springs_of(
        contact.model,
        f"{contact.name}_thickness_scale: expected a contact of springs, found a surrogate; "
        "vary the modulus instead, or record the walk without walk.surrogates",
    )
    return replace(contact, model=with_thickness(springs, scale))


#: Instants of the waveforms of a study [% of the walk].
PERCENT = np.linspace(0.0, 100.0, 101)


def walk_catalogue(setup: WalkSetup, result: ComakResult) -> Catalogue:
    """Return the inputs and outputs of a walk; the result is that without changes."""
    outputs = {name: output for name, output, _ in _outputs(setup, result)}
    keys = ("_medial_share_percent", "_total_force_peak_BW", "_total_peak_pressure_MPa")
    return Catalogue(
        walk_factors(setup),
        outputs,
        {name: wave for name, wave, _ in _waves(setup, result)},
        tuple(c + key for c in result.contacts for key in keys if c + key in outputs),
        subject="walks",
        axis="walk [%]",
        note=" ".join(
            [
                "BW are body weights; compartments have forces of their own.",
                *(f"The walk has a flag: {flag}." for flag in setup.flags),
            ]
        ),
        flagged="have frames that did not converge, left the range of the record or a surrogate, "
        "or external loads that do not fit the motion",
    )


def _outputs(setup: WalkSetup, result: ComakResult) -> Iterator[tuple[str, Output, float]]:
    """Yield name, words and value of each output of a walk."""
    weight = body_weight(setup)
    for k, contact in enumerate(result.contacts):
        parts = compartment_forces(result, k)
        for part, force in parts.items():
            name, words = f"{contact}_{part}", contact if part == "total" else f"{contact} {part}"
            for kind, size in (("peak", force.max()), ("mean", force.mean())):
                yield (
                    f"{name}_force_{kind}_BW", Output(f"{words} force, {kind}", "BW"), size / weight
                )  # fmt: skip
            pressures = [frame[k][part].peak_pressure for frame in result.loads]
            pressure = Output(f"{words} peak pressure", "MPa", f"{name}_peak_pressure_Pa")
            yield f"{name}_peak_pressure_MPa", pressure, 1e-6 * np.nanmax(pressures)
        if set(COMPARTMENTS) <= parts.keys():
            share, words = medial_share(parts), f"{contact} medial share of the mean force"
            percent = np.nan if share is None else 100.0 * share
            yield f"{contact}_medial_share_percent", Output(words, "%"), percent
    for name, unit, shown in shown_secondary(setup.plant.motion, result):
        for kind, statistic in (("range", np.ptp), ("min", np.min), ("max", np.max)):
            coordinate = Output(f"{name}, {kind}", sign_of(unit))
            yield f"{name}_{kind}_{unit}", coordinate, statistic(shown)
    tensions = ligament_forces(setup, result)
    for group, force in bundled(setup.plant.ligaments.names, tensions).items():
        yield f"{group}_force_peak_N", Output(f"{group} force, peak", "N"), force.max()
    for group, force in bundled(result.muscles, result.muscle_forces).items():
        yield f"{group}_muscle_peak_N", Output(f"{group} muscle force, peak", "N"), force.max()


def _waves(setup: WalkSetup, result: ComakResult) -> Iterator[tuple[str, Output, FloatArray]]:
    """Yield name, words and values at the frames of each waveform of a walk."""
    weight = body_weight(setup)
    for k, contact in enumerate(result.contacts):
        for part, force in compartment_forces(result, k).items():
            words = contact if part == "total" else f"{contact} {part}"
            yield f"{contact}_{part}_force_BW", Output(f"{words} force", "BW"), force / weight
    for name, unit, shown in shown_secondary(setup.plant.motion, result):
        yield f"{name}_{unit}", Output(name, sign_of(unit)), shown


def walk_outputs(setup: WalkSetup, result: ComakResult) -> dict[str, float]:
    """Return the outputs of a walk by the names of its catalogue."""
    return {name: float(value) for name, _, value in _outputs(setup, result)}


def walk_waves(setup: WalkSetup, result: ComakResult) -> dict[str, FloatArray]:
    """Return the waveforms (101,) of a walk by name [body weights, deg, mm]."""
    span = result.time[-1] - result.time[0]
    percent = 100.0 * (result.time - result.time[0]) / span
    return {name: np.interp(PERCENT, percent, wave) for name, _, wave in _waves(setup, result)}


@dataclass(frozen=True)
class WalkTask:
    """Common settings of the runs of a study, as sent to worker processes."""

    #: Folder of the walk.
    folder: str
    #: What becomes of a run with frames that do not converge: "flag" or "fail".
    unconverged: str
    #: SHA-256 of these settings and the files of the walk.
    source: str

    @classmethod
    def of(cls, folder: Path, unconverged: str) -> WalkTask:
        """Return the task of a finished walk; raise a RunError if the folder is not one."""
        for name in ("config.toml", "plant.npz", "walk.json"):
            if not (folder / name).is_file():
                raise RunError(
                    f"{folder}: expected the folder of a walk with articular contact, with {name}; "
                    "make it with `knee-contact run` and walk.record = true"
                )
        content = hashlib.sha256(unconverged.encode())
        for path in (folder / "config.toml", folder / "plant.npz", *_files_of(folder)):
            content.update(path.read_bytes())
        return cls(str(folder.resolve()), unconverged, content.hexdigest())


def _files_of(folder: Path) -> list[Path]:
    """Return the files from which the contacts of a walk are made."""
    walk = load_section(folder / "config.toml", MuscleWalkFile).walk
    model = data_file(walk.model)
    beds = [mesh for contact in OsimModel(model).contacts for mesh in (contact.bed, contact.target)]
    meshes = [data_file(walk.meshes.get(mesh.file.name, str(mesh.file))) for mesh in beds]
    runs = [Path(run) / "knee.npz" for run in walk.surrogates.values()]
    return [path for path in (model, *meshes, *runs) if path.is_file()]


@lru_cache(maxsize=2)
def recorded_walk(folder: str) -> tuple[WalkSetup, ComakResult, Catalogue]:
    """Return a walk that replays its own record, its result, and its inputs and outputs."""
    record = str(Path(folder) / "plant.npz")
    setup = replayed(load_section(Path(folder) / "config.toml", MuscleWalkFile), record)
    result = setup.comak.run(setup.first_values())
    return setup, result, walk_catalogue(setup, result)


def replayed(file: MuscleWalkFile, record: str) -> WalkSetup:
    """Return the setup of a walk that replays a record."""
    walk = file.walk.model_copy(update={"replay": record})
    return prepare_walk(file.model_copy(update={"walk": walk}))


def _prepare(file: WalkStudyFile, _: Job) -> Experiment:
    """Return the walks of a study, prepared and checked."""
    study = file.study
    task = WalkTask.of(Path(study.walk), study.unconverged)
    setup, result, catalogue = recorded_walk(task.folder)
    for factor in study.factor:
        check_walk_factor(factor.name, catalogue.factors)
    table = study_table(study, catalogue)
    # Factors that cannot be applied are refused here.
    varied_walk(setup, first_values(table))
    nominal = walk_outputs(setup, result)
    judged = stored_judgement(Path(study.walk))
    return Experiment(
        study, catalogue, table, nominal, PERCENT, "recorded walk", task, walk_rows,
        judged,
    )  # fmt: skip


def walk_rows(task: WalkTask, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a study, number of the run and input values, with their results."""
    setup, nominal, catalogue = recorded_walk(task.folder)

    def run(values: dict[str, float]) -> dict[str, Any]:
        return tried(
            lambda: _simulated(task, varied_walk(setup, values), nominal.values),
            catalogue,
            len(PERCENT),
        )

    return with_results(rows, run, catalogue)


def _simulated(task: WalkTask, setup: WalkSetup, nominal: FloatArray) -> dict[str, Any]:
    """Return the results of a run; `nominal` (N, S) [rad, m] are those of the recorded walk."""
    result = setup.comak.run(setup.first_values(), guide=nominal)
    if result.flags and task.unconverged == "fail":
        raise PoseError(result.flags[0])
    flags = [*setup.flags, *result.flags, *contact_flags(result)]
    waves = walk_waves(setup, result)
    return {
        **{"status": OK, "reason": "", **walk_outputs(setup, result)},
        "flagged_instants": len(result.time) if setup.flags else _flagged(result),
        "flags": "; ".join(flags),
        "flag_kinds": joined_kinds(each.flag.kind for each in result.contact_flags),
        "evaluations": int(result.iterations.sum()),
        **{f"wave_{name}": wave.astype(np.float32) for name, wave in waves.items()},
    }


def _flagged(result: ComakResult) -> int:
    """Return the number of frames that did not converge or have a flag of a contact."""
    touched = np.array([any(loads.flags for loads in frame) for frame in result.loads])
    return int((touched | result.outside.any(axis=1) | ~result.converged).sum())


def describe_walk_factors(folder: Path) -> str:
    """Return a line per input of a recorded walk."""
    task = WalkTask.of(folder, "flag")
    file = load_section(Path(task.folder) / "config.toml", MuscleWalkFile)
    factors = walk_factors(replayed(file, str(Path(task.folder) / "plant.npz")))
    width = max(map(len, factors))
    return "\n".join(
        f"{name:{width}}  [{factor.unit or 'factor'}] {factor.text}"
        for name, factor in factors.items()
    )


WALK_STUDY = study_of_runs(WalkStudyFile, _prepare)
