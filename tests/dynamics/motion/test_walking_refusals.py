"""Arguments that walking rejects, with messages that name the argument."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from walks import walk_tables

from dynamics.motion import (
    GaitTrial,
    LegSegments,
    MotionTable,
    Muscle,
    Segment,
    gait_trial,
    knee_muscle_loads,
    leg_segments,
    load_leg_muscles,
    muscle_geometry,
    write_motion_table,
)
from dynamics.motion.motion_tables import motion_text

NAN = np.nan
MOTION, GROUND = walk_tables()
LEG = load_leg_muscles()
POINTS = np.array([[0.0, 0.0, 0.01], [0.0, -0.1, 0.0], [0.01, -0.2, 0.0]])
THIGH = Segment(1.0, (0.1, -1.0), (0.0, -0.5), 1.0)
STILL = np.zeros(1)


def table(motion: MotionTable, rows=None, factor=1.0, later=0.0, source="t.mot") -> MotionTable:
    rows = np.ones(len(motion.time), dtype=bool) if rows is None else rows
    return MotionTable(
        motion.names, motion.time[rows] + later, factor * motion.values[rows], True, source
    )


GAP = table(MOTION, (MOTION.time < 1.0) | (MOTION.time > 1.2))
values = partial(MotionTable, names=("a",), time=[0.0, 1.0], values=[[1.0], [2.0]])
trial = partial(gait_trial, motion=MOTION, ground=GROUND)
stride = partial(
    GaitTrial, time=[0.0, 0.5, 1.0], coordinates=np.zeros((3, 7)), rates=np.zeros((3, 7)),
    accelerations=np.zeros((3, 7)), force=np.zeros((3, 3)), centre_of_pressure=np.zeros((3, 3)),
    torque=np.zeros((3, 3)),
)  # fmt: skip
body = partial(leg_segments, mass=70.0, height=1.7)
muscle = partial(
    Muscle, name="one", area=1e-3, fibre_length=0.1, bodies=("femur", "femur", "tibia"),
    points=POINTS, passages=("fixed", "posterior", "fixed"),
)  # fmt: skip
posture = partial(muscle_geometry, LEG, hip=STILL, knee=STILL, ankle=STILL)
shared = partial(knee_muscle_loads, LEG, STILL, STILL, STILL, moments=[[1.0, 0.0, 0.0]])


def balanced(names, moments):
    still = np.zeros(2) + 0.2
    return knee_muscle_loads(LEG.select(names), still, still, still, [np.zeros(3), moments])


VASTI = ("vastus_medialis", "vastus_intermedius", "vastus_lateralis")


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (values, {"names": ("a", "a")}, r"expected each column once, found 'a' twice"),
        (values, {"names": ("time",)}, r"found 'time' twice"),
        (values, {"time": [0.0, 0.0]}, r"time: expected increasing instants"),
        (values, {"time": [0.0, NAN]}, r"time: expected finite numbers"),
        (values, {"values": [[1.0]]}, r"values: expected shape \(2, 1\)"),
        (partial(motion_text, values()), {}, r"expected in_degrees to be True or False"),
        (
            partial(write_motion_table, table=values(in_degrees=False)),
            {"path": "a.csv"},
            r"path ending: expected one of .* found '\.csv'",
        ),
        *(
            (lambda n=name: motion_text(values(names=(n,), in_degrees=False)), {}, r"without tabs")
            for name in ("", "a\tb", "a\n", " a", "a  b")
        ),
        (trial, {"side": "both"}, r"side: expected one of \['left', 'right'\], found 'both'"),
        (trial, {"columns": {"knee": "k"}}, r"columns: expected one of .* found 'knee'"),
        (trial, {"columns": {"hip_flexion": "h"}}, r"table: expected a column 'h', found pelvis_"),
        (trial, {"columns": {"force": "F"}}, r"table: expected a column 'Fx', found ground"),
        (trial, {"stride": (0.5, 0.5)}, r"stride end: expected > 0\.5 s"),
        (trial, {"stride": (0.5, 3.0)}, r"stride: expected instants between 0 and 2\..* 0\.5 to 3"),
        (trial, {"stride": (NAN, 1.0)}, r"stride start: expected a finite number"),
        (trial, {"motion_cutoff": 45.0}, r"motion_cutoff .* 100 rows .*: .* < 40 Hz, found 45"),
        (trial, {"force_cutoff": -1.0}, r"force_cutoff of .*: expected > 0 Hz"),
        (trial, {"samples": 3}, r"samples: expected >= 5"),
        (trial, {"pelvis_z": np.inf}, r"pelvis_z: expected a finite number"),
        (trial, {"motion": GAP}, r"t\.mot: expected rows at most 0\.0833 s apart .*no row"),
        (trial, {"ground": table(GROUND, later=100.0)}, r"over the same time, .* and 100 to 102"),
        (
            trial,
            {"ground": table(GROUND, factor=1e-3)},
            r"t\.mot, column ground_force_vy: .* force of 0 to 0\.\d+ N",
        ),
        (stride, {"time": [0.0, 0.0, 1.0]}, r"time: expected at least two increasing instants"),
        (stride, {"torque": np.zeros((3, 2))}, r"torque: expected shape \(3, 3\), found \(3, 2\)"),
        (stride, {"torque": np.full((3, 3), NAN)}, r"torque: expected finite numbers, found nan"),
        (stride().coordinate, {"name": "knee"}, r"coordinate: expected one of .* found 'knee'"),
        (body, {"mass": -70.0}, r"mass: expected > 0 kg, found -70"),
        (body, {"height": 0.0}, r"height: expected > 0 m"),
        (body, {"thigh_length": -0.4}, r"thigh_length: expected > 0 m"),
        (body, {"shank_length": "long"}, r"shank_length: expected a number, found 'long'"),
        (body, {"hip": (0.0, 1.0)}, r"hip: expected shape \(3\)"),
        (body, {"toe": (0.0, NAN)}, r"toe: expected finite numbers"),
        (body, {"heel": (0.0, 0.0, 0.0)}, r"heel: expected shape \(2\)"),
        (partial(replace, THIGH), {"inertia": 0.0}, r"segment inertia: expected > 0 kg m²"),
        (
            partial(LegSegments, THIGH, THIGH, THIGH, (0.0, 0.0, 0.0)),
            {"heel": (0.0, 0.0)},
            r"leg shank: expected its axis from ankle to knee along",
        ),
        (muscle, {"area": -1e-3}, r"muscle one: area: expected > 0 m²"),
        (muscle, {"fibre_length": 0.0}, r"muscle one: fibre_length: expected > 0 m"),
        (muscle, {"points": POINTS[:, :2]}, r"muscle one: points: expected shape \(any, 3\)"),
        (muscle, {"points": POINTS[:2]}, r"found 2 points, 3 bodies, 3 passages"),
        (muscle, {"bodies": ("femur", "femur", "shin")}, r"muscle one: body: .*'shin'"),
        (muscle, {"bodies": ("tibia", "femur", "tibia")}, r"one: expected bodies in the order"),
        (muscle, {"bodies": ("femur", "patella", "tibia")}, r"expected the patella as the last"),
        (muscle, {"passages": ("fixed", "medial", "fixed")}, r"muscle one: passage: .*'medial'"),
        (muscle, {"passages": ("anterior", "fixed", "fixed")}, r"a fixed origin and insertion"),
        (partial(replace, LEG), {"muscles": ()}, r"muscles: expected at least one muscle"),
        (partial(replace, LEG), {"tuberosity": [0, 0]}, r"tuberosity: expected shape \(3\)"),
        (LEG.select, {"names": ("soleus",) * 2}, r"expected unique names, found soleus, soleus"),
        (LEG.select, {"names": ("plantaris",)}, r"muscle: expected one of .*found 'plantaris'"),
        (load_leg_muscles, {"height": 0.0}, r"height: expected > 0 m"),
        (posture, {"knee": [NAN]}, r"knee: expected finite numbers"),
        (posture, {"hip": [0.0, 0.0]}, r"hip: expected shape \(1\), found \(2,\)"),
        (posture, {"ankle": 0.0}, r"ankle: expected shape \(1\), found \(\)"),
        (posture, {"knee": [-0.3]}, r"of -10 to 120 deg, found -17.1887 deg at instant 0"),
        (shared, {"moments": [[1.0, NAN, 0.0]]}, r"moments: expected finite numbers"),
        (shared, {"moments": [[1.0, 0.0]]}, r"moments: expected shape \(1, 3\), found \(1, 2\)"),
        (shared, {"sharing": "emg"}, r"sharing: expected one of .*'emg'"),
        (shared, {"least_stress": -1.0}, r"least_stress: expected >= 0 Pa"),
        (
            partial(balanced, VASTI),
            {"moments": [0.0, -20.0, 0.0]},
            r"found -20 N m at the knee at instant 1, of which 20 N m remain",
        ),
        (
            partial(balanced, ("gluteus_maximus", "soleus")),
            {"moments": [-5.0, 0.0, 0.0]},
            r"found -5 N m at the hip at instant 1",
        ),
    ],
)
def test_bad_arguments_are_named(call, change, message):
    with pytest.raises(ValueError, match=message):
        call(**change)
