"""What a checkup says about the sampled domain: a handful of evaluations, and what a run takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.loads import COMPARTMENTS
from foundation.surfaces.mesh_topology import find_edges
from pipeline.config.schema import Config
from pipeline.execution.backends import Execution
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import Knee, evaluate_rows
from pipeline.preparation.expected_time import expected_bytes, seconds_per_evaluation, stages_of
from pipeline.preparation.mesh_checkup import Remark, edge_length
from pipeline.progress import rounded, say
from pipeline.simulation import GaitSimulation, gait_cycle
from pipeline.stages import infeasibility
from pipeline.store.samples import CANDIDATE_COLUMNS, OK, POSE_COLUMNS, loads_of
from surrogates.sampling.designs import unit_design
from surrogates.sampling.space import OFFSET_COORDINATES, SampleSpace

#: Random draws of each compartment, and with --deep.
_DRAWS, _DEEP_DRAWS = 24, 200
#: Part of the draws that may have no answer, break the bounds or touch the rim.
_MANY = 0.25
_MOST = 0.7
#: Triangles across a contact that the model wants (a rule of thumb).
_ACROSS = {"curved": 6.0, "flat": 20.0}
#: Part of the axial force that one compartment may carry.
_SHARE = 0.8


def check_domain(config: Config, knee: Knee, *, deep: bool) -> tuple[list[Remark], dict[str, Any]]:
    """Return what evaluations in the domain of a study tell, and the figures found."""
    say("settling the reference path")
    try:
        path = knee.reference_path(config)
    except EquilibriumError as error:
        text = (
            f"the knee does not settle under {config.space.path.axial_force_N:g} N: {error}; give "
            "simulation.ap_stiffness_N_per_mm and lateral_stiffness_N_per_mm more, check axes and "
            'the split, or give the path as a table (space.path.kind = "table")'
        )
        return [Remark("error", "space.path", text)], {}
    except InputError as error:
        return [Remark("error", "[space.path], [simulation]", str(error))], {}
    space = sample_space(config, path)
    remarks = _check_path(knee, space)
    if remarks:
        return remarks, {}
    say("evaluating poses of the domain")
    table = _draws(config, knee, space, _DEEP_DRAWS if deep else _DRAWS)
    remarks = [
        *_check_draws(config, knee, table),
        *_check_resolution(config, knee, table),
        *_check_waveforms(config),
    ]
    if deep:
        say("simulating a gait cycle with the original model")
        remarks += _check_gait(config, knee, space)
    figures = _expected(config, table, seconds_per_evaluation(knee.model, path))
    text = (
        f"about {rounded(figures['run_s'])} on {figures['workers']} cores and "
        f"{1e-6 * figures['disk_bytes']:.0f} MB, if the machine is idle and the kernels are "
        "compiled"
    )
    return [*remarks, Remark("note", "run", text)], figures


def _evaluated(knee: Knee, poses: FloatArray, load: FloatArray, compartment: str) -> pd.DataFrame:
    table = pd.DataFrame(poses, columns=pd.Index(POSE_COLUMNS))
    table = table.assign(compartment=compartment, index=np.arange(len(poses)), load_N=load)
    return evaluate_rows(knee.model, table[list(CANDIDATE_COLUMNS)], "load")


def _check_path(knee: Knee, space: SampleSpace) -> list[Remark]:
    """Return whether each compartment can carry the largest load on the path itself."""
    flexion = np.linspace(space.flexion[0], space.flexion[1], 3)
    remarks = []
    for name in COMPARTMENTS:
        table = _evaluated(knee, space.path.poses(flexion), np.full(3, space.load[1]), name)
        failed = table[table["status"] != OK]
        if len(failed):
            row = failed.iloc[0]
            text = (
                f"the {name} compartment does not carry {space.load[1]:g} N on the path at "
                f"{np.degrees(row['flexion_rad']):.0f} deg of flexion: {row['reason']}; lower "
                "space.load_N, or check thickness, modulus and the path"
            )
            remarks.append(Remark("error", "space.load_N", text))
    return remarks


def _draws(config: Config, knee: Knee, space: SampleSpace, count: int) -> pd.DataFrame:
    """Return samples at the corners of the domain and within it."""
    half = np.stack(np.meshgrid(*[[0.0, 1.0]] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    middle = np.full((len(half), 1), 0.5)
    inside = unit_design("sobol", count, 6, np.random.default_rng(0))
    unit = np.concatenate([np.hstack([middle, half, middle]), inside])
    poses, load = space.draw(unit, config.design.load_spread)
    parts = [_evaluated(knee, poses, load, name) for name in COMPARTMENTS]
    corner = np.arange(len(unit)) < len(half)
    return pd.concat([part.assign(corner=corner) for part in parts], ignore_index=True)


def _check_draws(config: Config, knee: Knee, table: pd.DataFrame) -> list[Remark]:
    remarks = []
    for name in COMPARTMENTS:
        rows = table[table["compartment"] == name]
        failed = rows[rows["status"] != OK]
        if len(failed) > _MANY * len(rows):
            corners = int(failed["corner"].sum())
            text = (
                f"{len(failed)} of {len(rows)} poses ({corners} of them corners) give the {name} "
                f"compartment no answer, for example: {failed.iloc[0]['reason']}; narrow "
                "rotation_deg, anterior_mm, adduction_deg and lateral_mm"
            )
            remarks.append(Remark("warning", "[space]", text))
        answered = rows[(rows["status"] == OK) & ~rows["corner"]]
        if answered.empty:
            continue
        loads = loads_of(answered)
        remarks += check_bounds(config, loads, name)
        over = _over_rim(knee, loads)
        if over > _MANY * len(answered):
            text = (
                f"the {name} contact reaches the rim of the tibial mesh in {over} of "
                f"{len(answered)} poses: the femur slides off; narrow [space], or give a larger "
                "surface"
            )
            remarks.append(Remark("warning", "[space]", text))
    return remarks


def check_bounds(config: Config, loads: FloatArray, name: str) -> list[Remark]:
    """Return a warning if most loads (N, 12) of a compartment would not be learnt from."""
    reasons = infeasibility(loads, config.feasibility, config.feasibility.margin)
    outside = [reason for reason in reasons if reason]
    if len(outside) <= _MOST * len(loads):
        return []
    text = (
        f"{len(outside)} of {len(loads)} poses within the domain break the bounds for the {name} "
        f"compartment, for example: {outside[0]}; widen [feasibility], or narrow [space]"
    )
    return [Remark("warning", "[feasibility]", text)]


def _over_rim(knee: Knee, loads: FloatArray) -> int:
    """Return how many contacts have their centre nearer to the rim than half their radius."""
    tibia = knee.model.tibia
    edges = find_edges(tibia.faces, len(tibia.vertices))
    rim = tibia.vertices[np.unique(edges.ends[edges.count == 1])]
    if len(rim) == 0:
        return 0
    distance = np.linalg.norm(loads[:, None, 9:12] - rim[None], axis=2).min(axis=1)
    return int((distance < 0.5 * np.sqrt(loads[:, 6] / np.pi)).sum())


def _check_resolution(config: Config, knee: Knee, table: pd.DataFrame) -> list[Remark]:
    answered = table[table["status"] == OK]
    radius = float(np.sqrt(answered["area_m2"].median() / np.pi))
    edge = edge_length(knee.model.tibia)
    across = 2.0 * radius / edge
    wanted = _ACROSS[config.contact.surface]
    text = f"a typical contact is {2e3 * radius:.0f} mm across, {across:.1f} triangles of the tibia"
    if across >= wanted:
        return [Remark("note", "[knee.tibia]", text)]
    remedy = f": expected {wanted:g}; peak pressures will be rough: give a mesh with edges of "
    return [Remark("warning", "[knee.tibia]", f"{text}{remedy}{2e3 * radius / wanted:.1g} mm")]


def _check_waveforms(config: Config) -> list[Remark]:
    cycle, remarks = gait_cycle(config.simulation), []
    low, high = config.space.flexion_deg
    least, most = np.degrees([cycle.flexion.min(), cycle.flexion.max()])
    if least < low or most > high:
        text = (
            f"gait flexes from {least:.0f} to {most:.0f} deg, beyond [{low:g}, {high:g}]: widen it"
        )
        remarks.append(Remark("warning", "space.flexion_deg", text))
    peak = float(cycle.axial_force.max())
    if _SHARE * peak > config.space.load_N[1]:
        text = (
            f"gait's axial force reaches {peak:.0f} N, of which one compartment may carry most: "
            f"{config.space.load_N[1]:g} N is little, give {_SHARE * peak:.0f} N or more"
        )
        remarks.append(Remark("warning", "space.load_N", text))
    return remarks


def _check_gait(config: Config, knee: Knee, space: SampleSpace) -> list[Remark]:
    """Return where the original model's gait cycle leaves the domain."""
    simulation = config.simulation
    try:
        result = GaitSimulation.of(simulation, space.path)(knee.model)
    except (EquilibriumError, SimulationError) as error:
        text = f"the gait cycle cannot be simulated with the original model: {error}"
        return [Remark("error", "[simulation]", text)]
    poses = result.poses
    offsets = (poses - space.path.poses(poses[:, 0]))[:, OFFSET_COORDINATES]
    remarks = []
    names = ("adduction_deg", "rotation_deg", "anterior_mm", "lateral_mm")
    factors = np.array([180.0 / np.pi, 180.0 / np.pi, 1e3, 1e3])
    largest = factors * np.abs(offsets).max(axis=0)
    for name, found, limit in zip(names, largest, factors * space.offsets, strict=True):
        text = f"gait goes {found:.2g} from the path, of {limit:g}"
        if found > limit:
            remarks.append(Remark("warning", f"space.{name}", f"{text}: widen it"))
        else:
            remarks.append(Remark("note", f"space.{name}", text))
    return remarks


def _expected(config: Config, table: pd.DataFrame, per_evaluation: float) -> dict[str, Any]:
    """Return the time of an evaluation, of a run, and its disk space."""
    per_load = float(table["evaluations"].sum()) / len(table)
    workers = Execution.of(config.run).workers
    stages = stages_of(config, per_load)
    return {
        "evaluation_s": per_evaluation,
        "evaluations_per_sample": per_load,
        "workers": workers,
        "run_s": sum(stage.expected(per_evaluation, workers) for stage in stages),
        "disk_bytes": expected_bytes(config),
    }
