"""Loads of a measured walk: joints, muscles, knee."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.mechanics.segments import leg_segments
from dynamics.simulator.waveforms import GaitCycle
from dynamics.walking.inverse_dynamics import LegLoads, inverse_dynamics
from dynamics.walking.knee_loads import KneeLoads, knee_loads
from dynamics.walking.motion_tables import MotionTable, read_motion_table
from dynamics.walking.muscle_loads import MuscleLoads, knee_muscle_loads
from dynamics.walking.muscle_tables import load_leg_muscles
from dynamics.walking.plausibility import check_walk
from dynamics.walking.trial import GaitTrial, gait_trial
from pipeline.config.data_folder import data_file
from pipeline.config.reading import ConfigError
from pipeline.studies.walks.schema import MeasuredConfig, WalkFile


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
    """

    body_weight: float
    trial: GaitTrial
    leg: LegLoads
    muscles: MuscleLoads
    knee: KneeLoads
    cycle: GaitCycle
    warnings: tuple[str, ...]


def measure(file: WalkFile) -> Walk:
    """Return the loads of a walk: inverse dynamics, muscles, knee.

    Raises
    ------
    ConfigError, InputError
        If a file of the measured walking is missing; if the tables, or the loads of the stride,
        cannot be used.
    """
    subject, measured, muscles = file.subject, file.measured, file.muscles
    trial = gait_trial(
        _table(measured, "motion"),
        _table(measured, "ground"),
        subject.side,
        columns=measured.columns,
        stride=measured.stride_s,
        pelvis_z=measured.pelvis_z_m,
        motion_cutoff=measured.motion_cutoff_Hz,
        force_cutoff=measured.force_cutoff_Hz,
    )
    segments = leg_segments(
        subject.mass_kg,
        subject.height_m,
        thigh_length=subject.thigh_length_m,
        shank_length=subject.shank_length_m,
        hip=subject.hip_m,
    )
    leg = inverse_dynamics(trial, segments)
    unusual = check_walk(trial, leg, subject.mass_kg)
    forces = knee_muscle_loads(
        load_leg_muscles(subject.height_m),
        trial.coordinate("hip_flexion"),
        trial.coordinate("knee_flexion"),
        trial.coordinate("ankle_dorsiflexion"),
        leg.moments,
        sharing=muscles.sharing,
        least_stress=1e3 * muscles.cocontraction_kPa,
    )
    knee = knee_loads(trial, leg, forces)
    cycle = knee.gait_cycle(least_axial_force=muscles.least_axial_force_N)
    weight = subject.mass_kg * STANDARD_GRAVITY
    return Walk(weight, trial, leg, forces, knee, cycle, unusual)


def _table(measured: MeasuredConfig, name: str) -> MotionTable:
    path = data_file(getattr(measured, name))
    try:
        return read_motion_table(path, in_degrees=measured.in_degrees)
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
        "external_knee_adduction_moment_Nm": walk.leg.external_adduction_moment,
    }
    forces = zip(walk.muscles.names, walk.muscles.forces.T, strict=True)
    return pd.DataFrame(columns | {f"{name}_N": force for name, force in forces})


def waveform_table(cycle: GaitCycle) -> pd.DataFrame:
    """Return a load-driven cycle in the columns of `dynamics.load_gait_cycle`."""
    return pd.DataFrame(
        {
            "gait_percent": cycle.percent,
            "flexion_deg": np.degrees(cycle.flexion),
            "axial_force_N": cycle.axial_force,
            "ap_force_N": cycle.ap_force,
            "internal_torque_Nm": cycle.internal_torque,
        }
    )
