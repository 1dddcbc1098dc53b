"""Checks of the sampled domain by some evaluations, and the expected time of a run."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from foundation.base.loads import AREA, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.surfaces.mesh_topology import find_edges
from pipeline.config.schema import Config
from pipeline.config.stage_schema import FeasibilityConfig
from pipeline.errors import StageError
from pipeline.originals.candidates import OFFSET_UNITS, sample_space
from pipeline.originals.contact_original import kind_of, preparation_of
from pipeline.originals.knee import Cost, Knee, KneeInputs, evaluate_rows
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.layer_checks import strength_of
from pipeline.originals.roughness import SMOOTH, coarse_surfaces, loaded_patches, roughness
from pipeline.preparation.expected_time import expected_figures
from pipeline.preparation.findings import Findings
from pipeline.preparation.peaks import check_peaks
from pipeline.preparation.pressed_place import likely_fault
from pipeline.preparation.settling import offsets_of
from pipeline.preparation.swing import LONGEST, TooLong, swing
from pipeline.progress import rounded, say
from pipeline.simulation import gait_cycle
from pipeline.stages.fitting import infeasibility, with_gait_bounds
from pipeline.store.samples import OK, candidate_table, loads_of
from surrogates.sampling.designs import unit_design
from surrogates.sampling.space import SampleSpace

#: Random draws per compartment, and with --deep.
_DRAWS, _DEEP_DRAWS = 24, 200
#: Samples per compartment that are evaluated with the contact model of a run, for its time.
_TIMED = 4
#: Fraction of the draws that may fail or reach the rim, and that may exceed the bounds.
_MANY, _MOST = 0.25, 0.7
#: Fraction of the axial force that one compartment may carry.
_SHARE = 0.8


def check_domain(config: Config, knee: Knee, findings: Findings, *, deep: bool) -> dict[str, Any]:
    """Check the domain of a study; return the expected time and disk space of a run.

    These are time per evaluation and of a run [s], evaluations per sample, workers and disk space
    [bytes]; none if there are errors. With `deep`, more samples are drawn.
    """
    if config.knee.source == "meshes":
        knee = _on_coarse_surfaces(config, knee)
    say("settling the reference path")
    try:
        path = findings.attempt("[space.path], [simulation]", knee.reference_path, config)
    except EquilibriumError as error:
        findings.error("space.path", error)
        return {}
    if path is None:
        return {}
    if config.feasibility.bounds == "gait":
        say("simulating a gait cycle, for the bounds of stage e")
        try:
            config = with_gait_bounds(config, knee.quick, path)
        except StageError as error:
            findings.error("feasibility.bounds", str(error).removeprefix("feasibility.bounds: "))
            return {}
        _note_bounds(config.feasibility, findings)
    space = sample_space(config, path)
    table = check_space(config, knee, space, findings, deep=deep)
    if table is None:
        return {}
    if config.knee.source == "meshes":
        _check_roughness(config, space, findings)
    if config.simulation.kind == "gait":
        say(f"simulating a gait cycle over its range of flexion, for at most {LONGEST:g} s")
        _check_gait(config, knee, space, findings)
    figures = _expected(config, knee, space, table, findings)
    figures["peak_pressure_MPa"] = _peak_pressures(config, knee, space, findings)
    findings.note(
        "run",
        f"about {rounded(figures['run_s'])} on {figures['workers']} cores and "
        f"{1e-6 * figures['disk_bytes']:.0f} MB, on an idle machine",
    )
    return figures


def _on_coarse_surfaces(config: Config, knee: Knee) -> Knee:
    """Return a knee that settles and checks its domain on surfaces of few triangles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # given when the contact model was built
        surfaces = load_surfaces(config)
        coarse = coarse_surfaces(config, surfaces)
        if coarse is surfaces:
            return knee
        return replace(knee, bed=kind_of(config).build(KneeInputs(config, coarse)).quick)


def _note_bounds(found: FeasibilityConfig, findings: Findings) -> None:
    findings.note(
        "feasibility.bounds",
        f"{found.gait_factor:g} times the gait cycle: AP force {found.ap_ratio:.3g} and ML force "
        f"{found.ml_ratio:.3g} of the axial load, peak pressure {found.peak_pressure_MPa:.3g} MPa",
    )


def check_space(
    config: Config, knee: Knee, space: SampleSpace, findings: Findings, *, deep: bool = False
) -> pd.DataFrame | None:
    """Check the sample space of a study by some evaluations, which are returned.

    With `deep`, more samples are drawn. None if the knee cannot carry the loads on the path.
    """
    _check_path(knee, space, findings)
    if findings.has_errors:
        return None
    say("evaluating poses of the domain")
    table = _draws(config, knee, space, _DEEP_DRAWS if deep else _DRAWS)
    for name in config.knee.compartments:
        _check_draws(config, knee, table[table["compartment"] == name], name, findings)
    _check_resolution(config, knee, table, findings)
    if config.simulation.kind == "gait":
        _check_waveforms(config, findings)
    return table


def _expected(
    config: Config, knee: Knee, space: SampleSpace, table: pd.DataFrame, findings: Findings
) -> dict[str, Any]:
    """Return the expected time and disk space of a run; note what a preparation costs."""
    per_load = float(table["evaluations"].sum()) / len(table)
    preparation = preparation_of(config)
    if preparation is None:
        cost = Cost(_mean_seconds(config, knee, table))
    else:
        cost = preparation.cost(knee, config.contact, _typical_area(table))
    findings.add(cost.notes)
    return expected_figures(config, per_load, cost)


def _mean_seconds(config: Config, knee: Knee, table: pd.DataFrame) -> float:
    """Return the mean time of an evaluation of a compartment [s], in some samples of the domain."""
    rows = table[~table["corner"]].groupby("compartment").head(_TIMED)
    begun = time.perf_counter()
    results = evaluate_rows(knee.model, rows, config.design.follow)
    return (time.perf_counter() - begun) / max(int(results["evaluations"].sum()), 1)


def _peak_pressures(
    config: Config, knee: Knee, space: SampleSpace, findings: Findings
) -> dict[str, float]:
    """Return, and note, the peak pressure [MPa] of each compartment on the reference path."""
    model = knee.model if preparation_of(config) is None else knee.quick
    loads = model.loads(space.path.poses(space.path.flexion)).values
    peaks = 1e-6 * loads[..., PEAK_PRESSURE]
    flexion = np.degrees(space.path.flexion[peaks.argmax(axis=0)])
    largest = dict(zip(model.compartment_names, peaks.max(axis=0).tolist(), strict=True))
    words = [
        f"{name} {peak:.3g} MPa at {angle:.0f} deg"
        for (name, peak), angle in zip(largest.items(), flexion, strict=True)
    ]
    force = config.space.path.axial_force_N
    findings.note(
        "[space.path]", f"peak pressures under {force:g} N on the knee: {', '.join(words)}"
    )
    return largest


def _typical_area(table: pd.DataFrame) -> float:
    """Return the median contact area of samples [m²]."""
    return float(table.loc[table["status"] == OK, "area_m2"].median())


def _evaluated(knee: Knee, poses: FloatArray, load: FloatArray, compartment: str) -> pd.DataFrame:
    return evaluate_rows(knee.quick, candidate_table(poses, load, compartment), "load")


def _check_path(knee: Knee, space: SampleSpace, findings: Findings) -> None:
    """Check that each compartment can carry the largest load on the path."""
    poses = space.path.poses(np.linspace(space.flexion[0], space.flexion[1], 3))
    for name in knee.model.compartment_names:
        table = _evaluated(knee, poses, np.full(3, space.load[1]), name)
        failed = table[table["status"] != OK]
        if len(failed):
            row = failed.iloc[0]
            reason = str(row["reason"])
            # A flag, which begins with the compartment, names its fault and remedy.
            if not reason.startswith(f"{name}: "):
                pose = Pose.from_array(poses[failed.index[0]])
                reason += ": " + (
                    likely_fault(knee.quick, pose, name)
                    or "the surfaces miss each other there: check frames and range of flexion"
                )
            findings.error(
                "space.load_N",
                f"the {name} compartment does not carry {space.load[1]:g} N on the path at "
                f"{np.degrees(row['flexion_rad']):.0f} deg of flexion: "
                f"{reason.removeprefix(f'{name}: ')}",
            )


def _draws(config: Config, knee: Knee, space: SampleSpace, count: int) -> pd.DataFrame:
    """Return samples at the corners of the domain and within it."""
    half = np.stack(np.meshgrid(*[[0.0, 1.0]] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    middle = np.full((len(half), 1), 0.5)
    inside = unit_design("sobol", count, 6, np.random.default_rng(0))
    unit = np.concatenate([np.hstack([middle, half, middle]), inside])
    poses, load = space.draw(unit, config.design.load_spread)
    tables = [_evaluated(knee, poses, load, name) for name in config.knee.compartments]
    corner = np.arange(len(unit)) < len(half)
    return pd.concat([table.assign(corner=corner) for table in tables], ignore_index=True)


def _check_draws(
    config: Config, knee: Knee, rows: pd.DataFrame, name: str, findings: Findings
) -> None:
    """Check the samples of a compartment."""
    failed = rows[rows["status"] != OK]
    if len(failed) > _MANY * len(rows):
        findings.warning(
            "[space]",
            f"the {name} compartment has no solution at {len(failed)} of {len(rows)} poses "
            f"({int(failed['corner'].sum())} at corners), for example: "
            f"{failed.iloc[0]['reason']}; narrow rotation_deg, anterior_mm, adduction_deg and "
            "lateral_mm",
        )
    solved = rows[(rows["status"] == OK) & ~rows["corner"]]
    if solved.empty:
        return
    loads = loads_of(solved)
    check_bounds(config, loads, name, findings)
    at_rim = _count_at_rim(knee, loads)
    if at_rim > _MANY * len(solved):
        findings.warning(
            "[space]",
            f"the {name} contact reaches the rim of the tibial mesh in {at_rim} of {len(solved)} "
            "poses, so that the femur slides off: narrow [space], or use a larger surface",
        )


def check_bounds(config: Config, loads: FloatArray, name: str, findings: Findings) -> None:
    """Warn if most loads of a compartment exceed the bounds, so that few samples remain.

    `loads` (N, 12) [N, N m, m², Pa, m] have columns as in `foundation.base.loads.LOAD_COLUMNS`.
    """
    reasons = infeasibility(loads, config.feasibility, config.feasibility.margin)
    outside = [reason for reason in reasons if reason]
    if len(outside) > _MOST * len(loads):
        findings.warning(
            "[feasibility]",
            f"{len(outside)} of {len(loads)} poses exceed the bounds of the {name} compartment, "
            f"for example: {outside[0]}; widen [feasibility], or narrow [space]",
        )


def _count_at_rim(knee: Knee, loads: FloatArray) -> int:
    """Return the number of contacts with their centre closer to the rim than half their radius."""
    tibia = knee.model.tibia
    edges = find_edges(tibia.faces, len(tibia.vertices))
    rim = tibia.vertices[np.unique(edges.ends[edges.count == 1])]
    if len(rim) == 0:
        return 0
    distance = np.linalg.norm(loads[:, None, 9:12] - rim[None], axis=2).min(axis=1)
    return int((distance < 0.5 * np.sqrt(loads[:, AREA] / np.pi)).sum())


def _check_resolution(config: Config, knee: Knee, table: pd.DataFrame, findings: Findings) -> None:
    area = _typical_area(table)
    if not np.isfinite(area):  # no pose has a solution
        return
    findings.add([kind_of(config).check_resolution(knee, config.contact, area)])


def _check_roughness(config: Config, space: SampleSpace, findings: Findings) -> None:
    """Check the surfaces of a model whose pressures follow every ridge of a scan."""
    if config.contact.has_laws:
        return
    say("measuring the roughness of the surfaces")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # given when the contact model was built
        surfaces = load_surfaces(config)
        patches = loaded_patches(config, surfaces, space)
        rms = None if patches is None else roughness(config, surfaces, patches)
    if rms is None:
        return
    text = f"ridges of the meshes change the peak pressures by {100.0 * rms:.2g} %"
    if rms <= SMOOTH:
        findings.note("[knee]", text)
        return
    findings.warning(
        "[knee]",
        f"{text} (expected at most {100.0 * SMOOTH:.0f} %): set smooth_um in [knee.femur] and "
        "[knee.tibia] to a deviation of some tens of micrometres, or use a finer scan",
    )


def _check_waveforms(config: Config, findings: Findings) -> None:
    cycle = findings.attempt("simulation.waveforms", gait_cycle, config.simulation)
    if cycle is None:
        return
    low, high = config.space.flexion_deg
    least, most = np.degrees([cycle.flexion.min(), cycle.flexion.max()])
    if least < low or most > high:
        findings.warning(
            "space.flexion_deg",
            f"flexion in gait ranges from {least:.0f} to {most:.0f} deg, outside [{low:g}, "
            f"{high:g}]: widen the range",
        )
    peak = float(cycle.axial_force.max())
    if _SHARE * peak > config.space.load_N[1]:
        findings.warning(
            "space.load_N",
            f"axial force in gait reaches {peak:.0f} N, mostly on one compartment at times: "
            f"increase the upper limit from {config.space.load_N[1]:g} N to {_SHARE * peak:.0f} N "
            "or more",
        )


def _check_gait(config: Config, knee: Knee, space: SampleSpace, findings: Findings) -> None:
    """Simulate a gait cycle with the contact model, and compare the motion with the domain."""
    try:
        result = swing(config.simulation, space.path, knee.quick)
    except TooLong as error:
        findings.note("[simulation]", f"the contact model simulated {error}; a run takes longer")
        return
    except (EquilibriumError, SimulationError) as error:
        findings.error(
            "[simulation]",
            f"the contact model cannot simulate the gait cycle: {error}. Remedy: increase "
            "simulation.ap_stiffness_N_per_mm and simulation.lateral_stiffness_N_per_mm, or set "
            "simulation.ligaments",
        )
        return
    model, strength = knee.quick, strength_of(config.contact)
    loads = model.loads(result.poses).values
    findings.attempt("[knee]", check_peaks, model, result.poses, loads, strength)
    largest = offsets_of(result, space.path)
    limits = np.array(list(OFFSET_UNITS.values())) * space.offsets
    for name, offset, limit in zip(OFFSET_UNITS, largest, limits, strict=True):
        text = f"gait deviates up to {offset:.2g} from the path (limit {limit:g})"
        if offset > limit:
            findings.warning(f"space.{name}", f"{text}: increase the limit")
        else:
            findings.note(f"space.{name}", text)
