"""Walking: from measured motion and ground force to the loads of a leg's joints and muscles.

`read_motion_table` reads motion and force files of OpenSim, `recognise` finds columns, signs,
plates and heel strikes, `gait_trial` extracts a stride, `fitted_to_foot` moves its force onto the
foot, `leg_segments` returns masses and lengths of the leg, `inverse_dynamics` forces and moments at
hip, knee and ankle, `check_walk` checks the consistency of motion and force, `knee_muscle_loads`
returns the muscle forces that balance the moments, and `knee_loads` the loads on contact and
ligaments of the knee. `dynamics.walking.columns` states frames, units and signs.
"""

from dynamics.mechanics.segments import LegSegments, Segment, leg_segments
from dynamics.walking.columns import OPENSIM_COLUMNS, TRIAL_COORDINATES
from dynamics.walking.conventions import LegMotion, leg_motion
from dynamics.walking.foot_fit import fitted_to_foot, force_ahead
from dynamics.walking.inverse_dynamics import JointLoad, LegLoads, inverse_dynamics
from dynamics.walking.knee_loads import KneeLoads, knee_loads, lateral_offset
from dynamics.walking.motion_tables import MotionTable, read_motion_table, write_motion_table
from dynamics.walking.muscle_loads import MuscleLoads, knee_muscle_loads
from dynamics.walking.muscle_paths import MuscleGeometry, muscle_geometry
from dynamics.walking.muscle_tables import load_leg_muscles
from dynamics.walking.muscles import LegMuscles, Muscle
from dynamics.walking.plausibility import check_walk
from dynamics.walking.recognition import Recognition, recognise
from dynamics.walking.strikes import find_stride, foot_events, kinematic_strikes
from dynamics.walking.trial import GaitTrial, gait_trial

__all__ = [
    "OPENSIM_COLUMNS",
    "TRIAL_COORDINATES",
    "GaitTrial",
    "JointLoad",
    "KneeLoads",
    "LegLoads",
    "LegMotion",
    "LegMuscles",
    "LegSegments",
    "MotionTable",
    "Muscle",
    "MuscleGeometry",
    "MuscleLoads",
    "Recognition",
    "Segment",
    "check_walk",
    "find_stride",
    "fitted_to_foot",
    "foot_events",
    "force_ahead",
    "gait_trial",
    "inverse_dynamics",
    "kinematic_strikes",
    "knee_loads",
    "knee_muscle_loads",
    "lateral_offset",
    "leg_motion",
    "leg_segments",
    "load_leg_muscles",
    "muscle_geometry",
    "read_motion_table",
    "recognise",
    "write_motion_table",
]
