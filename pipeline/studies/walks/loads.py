"""Loads of a measured walk: joints, muscles, knee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.mechanics.segments import LegSegments, leg_segments
from dynamics.simulator.waveform_tables import ADDUCTION_COLUMN
from dynamics.simulator.waveforms import GaitCycle
from dynamics.walking.c3d_plates import read_ground
from dynamics.walking.filter_edges import edge_notes
from dynamics.walking.foot_fit import fitted_to_foot
from dynamics.walking.inverse_dynamics import LegLoads, inverse_dynamics
from dynamics.walking.knee_loads import KneeLoads, knee_loads
from dynamics.walking.motion_tables import MotionTable, read_motion_table
from dynamics.walking.muscle_loads import MuscleLoads, knee_muscle_loads
from dynamics.walking.muscle_tables import load_leg_muscles
from dynamics.walking.plausibility import check_walk
from dynamics.walking.recognition import recognise
from dynamics.walking.trial import GaitTrial, gait_trial
from pipeline.config.data_folder import data_file
from pipeline.config.reading import ConfigError
from pipeline.studies.walks.schema import MeasuredConfig, WalkFile

#: A ground force that is moved by more than this gives a warning [m].
_NOTABLE = 0.015


@dataclass(frozen=True, eq=False)
class Walk:
    """A stride of a subject.

    Parameters
    ----------
    body_weight : float
        Body weight [N].
    trial, leg, muscles, knee : GaitTrial, LegLoads, MuscleLoads, KneeLoads
        Motion and ground force; loads of the joints, the muscles and the tibiofemoral joint.
    cycle : GaitCycle
        The loads of the knee as inputs of the knee simulator.
    warnings : tuple of str
        Unusual values of the motion and the ground force.
    recognised : mapping
        What was recognised in the files, by topic, as sentences without a full stop.
    force_moved : float
        Constant by which the ground force was moved forward onto the foot [m].
    """

    body_weight: float
    trial: GaitTrial
    leg: LegLoads
    muscles: MuscleLoads
    knee: KneeLoads
    cycle: GaitCycle
    warnings: tuple[str, ...]
    recognised: Mapping[str, str]
    force_moved: float


def measure(file: WalkFile) -> Walk:
    """Return the loads of a walk: inverse dynamics, muscles, knee.

    Raises
    ------
    ConfigError, InputError
        If a file of the measured walking is missing; if the tables, or the loads of the stride,
        cannot be used.
    """
    subject, muscles = file.subject, file.muscles
    segments = leg_segments(
        subject.mass_kg,
        subject.height_m,
        thigh_length=subject.thigh_length_m,
        shank_length=subject.shank_length_m,
        hip=subject.hip_m,
    )
    trial, recognised, told = _stride(file, segments)
    leg = inverse_dynamics(trial, segments)
    unusual = told + check_walk(trial, leg, subject.mass_kg)
    moved = 0.0
    if file.measured.fit_foot:
        trial, moved = fitted_to_foot(trial, leg)
        leg = inverse_dynamics(trial, segments)
    if abs(moved) > _NOTABLE:
        unusual = (*unusual, _moved_warning(moved))
    forces = knee_muscle_loads(
        load_leg_muscles(subject.height_m),
        trial.coordinate("hip_flexion"),
        trial.coordinate("knee_flexion"),
        trial.coordinate("ankle_dorsiflexion"),
        leg.moments,
        sharing=muscles.sharing,
        least_stress=1e3 * muscles.cocontraction_kPa,
    )
    knee = knee_loads(trial, leg, forces, straight_leg=True)
    cycle = knee.gait_cycle(
        least_axial_force=muscles.least_axial_force_N,
        largest_offset=1e-3 * muscles.largest_offset_mm or None,
        adduction=muscles.adduction_moment,
    )
    weight = subject.mass_kg * STANDARD_GRAVITY
    return Walk(weight, trial, leg, forces, knee, cycle, unusual, recognised, moved)


def _stride(
    file: WalkFile, segments: LegSegments
) -> tuple[GaitTrial, Mapping[str, str], tuple[str, ...]]:
    """Return the stride, what was recognised in the files, and doubts about the motion."""
    measured, side = file.measured, file.subject.side
    motion = _table(measured, "motion")
    found = recognise(
        motion,
        _table(measured, "ground"),
        side,
        segments,
        columns=measured.columns,
        in_degrees=measured.in_degrees,
        stride=measured.stride_s,
        pelvis_z=measured.pelvis_z_m,
    )
    trial = gait_trial(
        found.motion,
        found.ground,
        side,
        columns=found.columns,
        stride=found.stride,
        pelvis_z=found.pelvis_z,
        motion_cutoff=measured.motion_cutoff_Hz,
        force_cutoff=measured.force_cutoff_Hz,
    )
    name, keys = Path(motion.source).name, ("the start of measured.stride_s", "its end")
    edges = edge_notes(name, motion.time, trial.time, measured.motion_cutoff_Hz, keys)
    return trial, found.facts, (*found.warnings, *edges)


def _moved_warning(moved: float) -> str:
    """Return the warning of a ground force that was moved by a length [m]."""
    where = "ahead of the metatarsal heads in push-off" if moved < 0.0 else "behind the heel"
    return (
        f"centre of pressure: expected between heel and metatarsal heads at the peaks of the "
        f"force, found {1e3 * abs(moved):.0f} mm {where}; the force is moved by that "
        "(measured.fit_foot)"
    )


def _table(measured: MeasuredConfig, name: str) -> MotionTable:
    path = data_file(getattr(measured, name))
    try:
        return read_ground(path) if name == "ground" else read_motion_table(path)
    except OSError as error:
        raise ConfigError(f"measured.{name}: {path}: {error.strerror}") from error


def loads_table(walk: Walk) -> pd.DataFrame:
    """Return motion, joint moments, muscle forces and knee loads with one row per instant."""
    knee, moments = walk.knee, walk.leg.moments
    columns = {
        "time_s": walk.trial.time,
        "gait_percent": knee.percent,
        "hip_flexion_deg": np.degrees(walk.trial.coordinate("hip_flexion")),
        "knee_flexion_deg": np.degrees(knee.flexion),
        "ankle_dorsiflexion_deg": np.degrees(walk.trial.coordinate("ankle_dorsiflexion")),
        "hip_extension_moment_Nm": moments[:, 0],
        "knee_extension_moment_Nm": moments[:, 1],
        "ankle_plantarflexion_moment_Nm": moments[:, 2],
        "knee_axial_force_N": knee.axial_force,
        "knee_ap_force_N": knee.ap_force,
        "knee_internal_torque_Nm": knee.internal_torque,
        "knee_adduction_moment_Nm": knee.adduction_moment,
        "external_knee_adduction_moment_Nm": knee.external_adduction_moment,
    }
    forces = zip(walk.muscles.names, walk.muscles.forces.T, strict=True)
    return pd.DataFrame(columns | {f"{name}_N": force for name, force in forces})


def waveform_table(cycle: GaitCycle) -> pd.DataFrame:
    """Return a load-driven cycle in the columns of `dynamics.load_gait_cycle`."""
    columns = {
        "gait_percent": cycle.percent,
        "flexion_deg": np.degrees(cycle.flexion),
        "axial_force_N": cycle.axial_force,
        "ap_force_N": cycle.ap_force,
        "internal_torque_Nm": cycle.internal_torque,
    }
    if cycle.adduction_torque is not None:
        columns[ADDUCTION_COLUMN] = cycle.adduction_torque
    return pd.DataFrame(columns)
