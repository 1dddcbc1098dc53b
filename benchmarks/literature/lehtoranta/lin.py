"""Sections 3.8 and 4: the surrogates of Lin, Haftka, Queipo & Fregly (2010)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.literature.lehtoranta.lin_study import LinStudy, study
from benchmarks.literature.statements import Statement, misprint, undecidable
from benchmarks.measures import max_abs
from foundation.base.loads import AXIAL_FORCE, QUANTITY_COLUMNS
from foundation.base.pose import ANGLES, COORDINATES, POSITION, SUPERIOR
from foundation.elastic_foundation import ElasticFoundation, LinearLaw, SeriesLaw
from pipeline import stages
from pipeline.stages.gait_bounds import with_gait_bounds
from pipeline.store.samples import OK, loads_of, poses_of

#: Largest difference of values by surrogate and by elastic foundation, as printed [1].
_DIFFERENCE = 0.015
#: What decides on a gait cycle driven by a surrogate.
_CYCLE = ("anterior_m", "rotation_rad", "medial_force_y_N", "lateral_force_y_N")
#: The coordinate of the direction of each load, in the order of a wrench.
_OWN = (3, 4, 5, 1, 2, 0)
#: Instants of the cycle at which the knee is raised for concept 9, and by how much [m].
_SPARSE, _RAISE = 10, 0.3e-3


def _cheap(of: LinStudy) -> Statement:
    speed = of.simulation.speed
    assert speed is not None
    return Statement(
        "section 3.8, concept 1",
        "an inexpensive model replaces the expensive contact model",
        f"loads of both condyles at a pose: original {speed.original_us:.0f} µs, surrogate "
        f"{speed.surrogate_us:.0f} µs, {speed.ratio:.0f} times",
        speed.ratio > 1.0,
    )


def _two_bodies(of: LinStudy) -> Statement:
    contact = of.run.contact
    layers = LinearLaw(463e6, 0.46, 8e-3), LinearLaw(5e6, 0.45, 3e-3)
    pose = of.poses[len(of.poses) // 4]
    one, other, single = (
        ElasticFoundation(contact.femur, contact.tibia, law, compartments=contact.compartments)
        .loads(pose)
        .wrench
        for law in (SeriesLaw(*layers), SeriesLaw(*layers[::-1]), layers[0])
    )
    swapped = float(max_abs(other - one) / max_abs(one))
    return Statement(
        "section 3.8, concept 2",
        "both bodies have materials and surfaces; one body is the main one",
        "the bed (tibia) is the main body. With a layer on each body the loads are the same if the "
        f"layers are exchanged ({swapped:.0e}); without that of the femur the axial force is "
        f"{single[1] / one[1]:.0f} times as large",
        swapped < 1e-9 and single[1] > 1.01 * one[1],
    )


def _six_parameters(of: LinStudy) -> Statement:
    pose = of.poses[3]
    # R = Ry(-rotation) Rx(-adduction) Rz(flexion).
    turns = Rotation.from_matrix(pose.rotation_matrix).as_euler("YXZ")
    again = np.array([turns[2], -turns[1], -turns[0], *pose.translation])
    away = max_abs(again - pose.array)
    return Statement(
        "section 3.8, concept 3",
        "three translations and three rotations place the other body against the main one",
        f"a pose has {len(pose.array)} coordinates; from position and rotation matrix they come "
        f"back within {away:.0e}",
        len(pose.array) == 6 and away < 1e-12,
    )


def _six_loads(of: LinStudy) -> Statement:
    loads = of.run.contact.loads(of.poses[3])
    parts = sum(loads[name].wrench for name in loads.compartments)
    away = max_abs(parts - loads.wrench)
    return Statement(
        "section 3.8, concept 4",
        "six loads, three forces and three moments, belong to each combination of the six",
        f"a wrench of {len(loads.wrench)} components for each compartment, whose sum is that of "
        f"the knee within {away:.0e} N",
        loads.wrench.shape == (6,) and np.isfinite(loads.wrench).all() and away < 1e-9,
    )


def _own_direction(of: LinStudy) -> Statement:
    found = of.sensitivities()
    strongest = [
        kind.start + int(np.argmax(found[row, kind]))
        for row, kind in enumerate((POSITION,) * 3 + (ANGLES,) * 3)
    ]
    names = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
    listed = ", ".join(
        f"{name} to {COORDINATES[k]}" for name, k in zip(names, strongest, strict=True)
    )
    own = sum(k == wanted for k, wanted in zip(strongest, _OWN, strict=True))
    return Statement(
        "section 3.8, concept 5",
        "each load is most sensitive to the displacement in its own direction",
        f"median over the gait cycle, forces per mm and moments per degree: {listed}",
        own == len(_OWN),
        f"true for {own} of 6 loads on the tilted normals of a condyle. One direction is inverted "
        "here, axial force and height",
    )


def _samples_of_loads(of: LinStudy) -> Statement:
    drawn, first = of.samples("candidates"), of.samples("first")
    away = max_abs(loads_of(first)[:, AXIAL_FORCE] - first["load_N"])
    return Statement(
        "section 3.8, concept 6",
        "sample points combine poses and loads, as a position x with its force Fx",
        f"{len(drawn)} samples are drawn as five coordinates and the axial force; the height that "
        f"carries this force is found, within {away:.0e} N of {first['load_N'].max():.0f} N",
        away < 1e-3,
    )


def _bounds(of: LinStudy) -> Statement:
    config, first = of.run.config, of.samples("first")
    bounded = with_gait_bounds(config, of.run.contact, of.run.path)
    feasible = [
        int((stages.infeasibility(loads_of(first), each.feasibility, 0.0) == "").sum())
        for each in (config, bounded)
    ]
    found = bounded.feasibility
    loads = of.run.contact.evaluate_batch(of.cycle.poses).reshape(-1, 12)
    loads = loads[loads[:, AXIAL_FORCE] > 0.0]
    inside = bool((stages.infeasibility(loads, found, 1e-6) == "").all())
    return Statement(
        "section 3.8, concept 7",
        "a sample is feasible or not by bounds set beforehand, which may come from the original",
        f"of {len(first)} samples {feasible[0]} are feasible by the keys of [feasibility], "
        f'{feasible[1]} by twice the gait cycle of the original (`bounds = "gait"`: AP ratio '
        f"{found.ap_ratio:.2f}, ML ratio {found.ml_ratio:.2f}, {found.peak_pressure_MPa:.1f} MPa)",
        inside and all(0 < count < len(first) for count in feasible),
        "the keys are the default",
    )


def _static_analyses(of: LinStudy) -> Statement:
    kept = of.samples("kept")
    kept = kept[kept["status"] == OK]
    again = of.run.contact.evaluate_batch(poses_of(kept))
    names = list(of.run.contact.compartment_names)
    own = again[np.arange(len(kept)), kept["compartment"].map(names.index)]
    stored = loads_of(kept)[:, :6]
    away = float(max_abs(own[:, :6] - stored) / max_abs(stored))
    return Statement(
        "section 3.8, concept 8",
        "repeated static analyses of the original give the relation that the surrogate learns",
        f"{len(of.training('first', 'kept', 'gait'))} analyses are learnt; {len(kept)} of them, "
        f"made again, agree within {away:.0e}",
        away < 1e-9,
    )


def _six_surrogates(of: LinStudy) -> Statement:
    found = of.largest_rms(of.literal, _CYCLE)
    ours = of.largest_rms(of.run.surrogate, _CYCLE)
    raised = of.cycle.poses[::_SPARSE].copy()
    raised[:, SUPERIOR] += _RAISE
    pull, free = (
        knee.evaluate_batch(raised)[0][..., AXIAL_FORCE].min()
        for knee in (of.literal, of.run.surrogate)
    )
    ended = "does not end" if np.isinf(found) else f"is {100 * found:.1f} % off"
    return Statement(
        "section 3.8, concept 9",
        "six separate surrogates, each load over the six coordinates of the pose",
        f"literally (`direct`, Kriging, the same samples) the gait cycle {ended}; with the "
        f"inverted direction of concepts 5 and 6 it is {100 * ours:.2f} % off (RMS over range)",
        found < _DIFFERENCE,
        f"no sample is out of contact: 0.3 mm above the cycle the literal surrogate pulls with "
        f"{-pull:.0f} N, the inverted one with {abs(free):.0f} N, which has learnt the height of "
        "first contact",
    )


def _other_quantities(of: LinStudy) -> Statement:
    parts = of.validation.models[0].compartments.values()
    worst = {
        column: max(part.at_pose[column].nrmse or 0.0 for part in parts)
        for column in QUANTITY_COLUMNS
    }
    listed = ", ".join(
        f"{name} {100 * max(worst[column] for column in columns):.2f} %"
        for name, columns in _QUANTITIES
    )
    return Statement(
        "section 3.8, concept 10",
        "the surrogate also gives contact pressures and areas and the centre of pressure",
        f"errors of held-out poses over the range, RMS: {listed}",
        max(worst.values()) < _DIFFERENCE,
    )


_QUANTITIES = (
    ("area", ("area_m2",)),
    ("peak pressure", ("peak_pressure_Pa",)),
    ("mean pressure", ("mean_pressure_Pa",)),
    ("centre of pressure", ("cop_x_m", "cop_y_m", "cop_z_m")),
)


def _stage_a(of: LinStudy) -> Statement:
    counts = of.counts["total"]
    m, n, left = counts.candidates, counts.first, counts.predicted
    return misprint(
        "figure 5 (a)",
        "n sample points are chosen, m of them evaluated, m − n are left",
        "m are chosen, n of them evaluated, m − n are left",
        f"{m} chosen, {n} evaluated, {left} left; with the letters of the text m − n = {n - m}",
        left == m - n > 0 > n - m,
        "the caption names no letters; the figure is missing",
    )


def _stage_b(of: LinStudy) -> Statement:
    first = of.samples("first")
    answered = int((first["status"] == "ok").sum())
    return Statement(
        "figure 5 (b)",
        "static analyses of the original at the first sample points",
        f"{answered} of {len(first)} have an answer",
        answered == len(first) == of.counts["total"].first,
    )


def _stage_c(of: LinStudy) -> Statement:
    used, first = len(of.training("first")), len(of.samples("first"))
    return Statement(
        "figure 5 (c)",
        "surrogates are made from the results of these analyses",
        f"{used} of {first} samples are learnt",
        used == first,
        "departure: samples outside of the bounds of stage e (margin 10 %) are left out",
    )


def _stage_d(of: LinStudy) -> Statement:
    counts, screened = of.counts["total"], of.samples("screened-1")
    known = int(np.isfinite(loads_of(screened)[:, :6]).all(axis=1).sum())
    return Statement(
        "figure 5 (d)",
        "the surrogates predict the other m − n sample points",
        f"{known} predictions for {counts.candidates} − {counts.first} samples",
        known == counts.candidates - counts.first,
    )


def _stage_e(of: LinStudy) -> Statement:
    bounds, screened = of.run.config.feasibility, of.samples("screened-1")
    outside = stages.infeasibility(loads_of(screened), bounds, 0.0) != ""
    dropped = (screened["screening"] == stages.screening.DROPPED).to_numpy()
    tolerated = int((outside & ~dropped).sum())
    return Statement(
        "figure 5 (e)",
        "samples with predictions outside of the feasible bounds are removed",
        f"{dropped.sum()} of {len(screened)} removed, none within the bounds; {tolerated} outside "
        "stay",
        tolerated == 0 and outside[dropped].all(),
        "departure: a prediction must exceed a bound by 10 % and by two standard errors",
    )


def _stage_f(of: LinStudy) -> Statement:
    counts = of.counts["total"]
    return Statement(
        "figure 5 (f)",
        "the original evaluates the samples that pass",
        f"{counts.evaluated} of {counts.evaluated + counts.left} evaluated",
        counts.left == 0,
        "departure: a budget (`design.budget`) ends stage f, in the order of the design; with "
        "`budget = 0` all are evaluated",
    )


def _stage_g(of: LinStudy) -> Statement:
    counts = of.counts["total"]
    evaluated = counts.first + counts.evaluated
    return Statement(
        "figure 5 (g)",
        "the final surrogates are made from all sample points",
        f"{counts.training} of {evaluated} samples, and {counts.gait} along simulated gait",
        counts.training == evaluated,
        f"departure: {counts.infeasible} samples outside of the bounds are left out; samples along "
        "gait are added",
    )


def _stage_h(of: LinStudy) -> Statement:
    cycle = of.gait(of.run.surrogate)
    truth = of.run.contact.evaluate_batch(cycle.poses)[..., AXIAL_FORCE]
    found = of.run.surrogate.evaluate_batch(cycle.poses)[0][..., AXIAL_FORCE]
    away = max_abs(found - truth)
    return Statement(
        "figure 5 (h)",
        "during the dynamic simulation the surrogate gives the values between the bodies",
        f"gait cycle of {len(cycle.time)} instants; at its poses the axial force of a condyle is "
        f"within {away:.1f} N of the original's ({truth.max():.0f} N)",
        away < _DIFFERENCE * truth.max(),
    )


def _accuracy(of: LinStudy) -> Statement:
    wear, forces, peaks = [], [], []
    for each in of.combinations:
        truth, found = (sum(each.wear[name]) for name in ("original", "surrogate"))
        wear.append(abs(found / truth - 1.0))
        axial = (each.loads[f"{name}_force_y_N"] for name in ("medial", "lateral"))
        forces += [figures.rms / figures.peak for figures in axial]
        peaks += [abs(p.surrogate_peak / p.peak - 1.0) for p in each.pressure.values()]
    count = len(of.combinations)
    return Statement(
        "section 3.8",
        "values by the surrogate differ by at most 1.5 % from those of the elastic foundation",
        f"{count} of {count + of.failed} combinations of inputs: wear at most "
        f"{100 * max(wear):.2f} %, peak pressures {100 * max(peaks):.2f} %, axial forces of the "
        f"condyles {100 * max(forces):.2f} % of their peak (RMS)",
        of.failed == 0 and max(*wear, *forces, *peaks) <= _DIFFERENCE,
        "the document does not name the values",
    )


def _median_seconds(of: LinStudy, model: str) -> float:
    return float(np.median([each.statistics[model].elapsed for each in of.combinations]))


def _hours(of: LinStudy) -> Statement:
    original, surrogate = (1000.0 * _median_seconds(of, name) for name in ("original", "surrogate"))
    return Statement(
        "section 3.8",
        "284 hours by the elastic foundation, 1.4 hours by the surrogate (203 times)",
        f"thousand gait cycles: {original / 60.0:.0f} min and {surrogate:.0f} s "
        f"({original / surrogate:.0f} times), one core",
        original / surrogate >= 284.0 / 1.4,
        "the original is compiled and needs no solver in between, so that there is less to gain",
    )


def _minutes(of: LinStudy) -> Statement:
    original, surrogate = (
        of.simulation.statistics[name].elapsed for name in ("original", "surrogate")
    )
    return Statement(
        "section 4",
        "a dynamic simulation of gait: 74 minutes by the elastic foundation, 20 s by the surrogate "
        "(222 times)",
        f"{original:.2f} s and {1e3 * surrogate:.0f} ms ({original / surrogate:.0f} times)",
        original / surrogate >= 74.0 * 60.0 / 20.0,
        "departure as of the 284 hours; there the motion is in the sagittal plane, here of six "
        "degrees of freedom",
    )


def _figure_11(of: LinStudy) -> Statement:
    worst = {
        each.column: 100.0 * (each.rms_over_range or 0.0) for each in of.simulation.differences
    }
    return undecidable(
        "figure 11",
        "motions and loads of the gait simulation by the surrogate are accurate",
        "figure missing, and no number is printed",
        f"RMS over range: AP position {worst['anterior_m']:.2f} %, medial axial force "
        f"{worst['medial_force_y_N']:.2f} %, peak pressure "
        f"{worst['medial_peak_pressure_Pa']:.2f} %",
    )


def _of_study(row: Callable[[LinStudy], Statement]) -> Statement:
    return row(study())


#: Section 3.8: concepts, stages, accuracy and time; section 4: the simulation of gait.
STATEMENTS = tuple(
    partial(_of_study, row)
    for row in (
        *(_cheap, _two_bodies, _six_parameters, _six_loads, _own_direction),
        *(_samples_of_loads, _bounds, _static_analyses, _six_surrogates, _other_quantities),
        *(_stage_a, _stage_b, _stage_c, _stage_d, _stage_e, _stage_f, _stage_g, _stage_h),
        *(_accuracy, _hours),
    )
)
GAIT_STATEMENTS = partial(_of_study, _minutes), partial(_of_study, _figure_11)
