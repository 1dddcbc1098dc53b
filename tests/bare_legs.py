"""A standing person of two legs without articular contact: model, motion, ground force, walk."""

import numpy as np

from dynamics.motion.motion_tables import MotionTable, write_motion_table
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import prepare_walk

#: Masses of pelvis, thigh, shank and foot [kg].
MASSES = {"pelvis": 40.0, "femur": 8.0, "tibia": 4.0, "calcn": 1.0}
GRAVITY = 10.0
WEIGHT = GRAVITY * (MASSES["pelvis"] + 2.0 * sum(list(MASSES.values())[1:]))
TIME = np.linspace(0.0, 1.0, 101)
#: Weight of shank and foot [N], and height of hip, length of thigh and shank [m].
BELOW, HEIGHT, THIGH, SHANK = GRAVITY * 5.0, 0.9, 0.4, 0.4
#: Muscles of a right leg: name, bodies and points of its ends [m], largest force [N].
MUSCLES = (
    ("iliopsoas", "pelvis", (0.06, 0.0, 0.1), "femur", (0.02, -0.1, 0.0), 2000.0),
    ("gluteus", "pelvis", (-0.06, 0.0, 0.1), "femur", (-0.02, -0.1, 0.0), 2000.0),
    ("vasti", "femur", (0.04, -0.2, 0.0), "tibia", (0.04, -0.1, 0.0), 5000.0),
    ("hamstrings", "femur", (-0.04, -0.2, 0.0), "tibia", (-0.04, -0.1, 0.0), 3000.0),
    ("soleus", "tibia", (-0.04, -0.2, 0.0), "calcn", (-0.04, -0.05, 0.0), 5000.0),
    ("tibialis", "tibia", (0.04, -0.2, 0.0), "calcn", (0.04, -0.05, 0.0), 2000.0),
)
_JOINTS = (
    ("hip_flexion", "pelvis", "femur", (0.0, 0.0, 0.1)),
    ("knee_angle", "femur", "tibia", (0.0, -THIGH, 0.0)),
    ("ankle_angle", "tibia", "calcn", (0.0, -SHANK, 0.0)),
)


def _text(values):
    return " ".join(map(repr, np.asarray(values, dtype=float).tolist()))


def _on_side(body, side):
    return body if body == "pelvis" else f"{body}_{side}"


def _body(name, mass, middle=(0.0, -0.2, 0.0)):
    return (
        f'<Body name="{name}"><mass>{mass}</mass><mass_center>{_text(middle)}</mass_center>'
        "<inertia>0.1 0.1 0.1 0 0 0</inertia></Body>"
    )


def _joint(kind, name, parent, child, at, coordinates, turn=(0.0, 0.0, 0.0)):
    frames = "".join(
        f'<PhysicalOffsetFrame name="{end}"><socket_parent>{body}</socket_parent><translation>'
        f"{_text(place)}</translation><orientation>{_text(turn)}</orientation>"
        "</PhysicalOffsetFrame>"
        for end, body, place in (("inner", parent, at), ("outer", child, (0.0, 0.0, 0.0)))
    )
    listed = "".join(f'<Coordinate name="{c}"/>' for c in coordinates)
    return (
        f'<{kind} name="{name}"><socket_parent_frame>inner</socket_parent_frame>'
        f"<socket_child_frame>outer</socket_child_frame><coordinates>{listed}</coordinates>"
        f"<frames>{frames}</frames></{kind}>"
    )


def _muscle(name, ends, strength):
    points = "".join(
        f'<PathPoint name="{name}_{k}"><socket_parent_frame>/bodyset/{body}</socket_parent_frame>'
        f"<location>{_text(at)}</location></PathPoint>"
        for k, (body, at) in enumerate(ends)
    )
    return (
        f'<Millard2012EquilibriumMuscle name="{name}"><max_isometric_force>{strength}'
        "</max_isometric_force><optimal_fiber_length>0.1</optimal_fiber_length>"
        "<tendon_slack_length>0.1</tendon_slack_length><minimum_activation>0</minimum_activation>"
        "<min_control>0</min_control>"
        f'<GeometryPath name="geometrypath"><PathPointSet name="points"><objects>{points}'
        "</objects></PathPointSet></GeometryPath></Millard2012EquilibriumMuscle>"
    )


def bare_model(path, *, muscles=MUSCLES, knee_turn=(0.0, 0.0, 0.0), more=""):
    """Write the model; `knee_turn` are the angles of the frames of the knee joints [rad].

    `more` is text of further sets of the model.
    """
    bodies, joints, forces = [_body("pelvis", MASSES["pelvis"], (0.0, 0.1, 0.0))], [], []
    root = [f"pelvis_{name}" for name in ("tilt", "list", "rotation", "tx", "ty", "tz")]
    joints.append(_joint("FreeJoint", "root", "/ground", "/bodyset/pelvis", (0, 0, 0), root))
    for side, sign in (("r", 1.0), ("l", -1.0)):
        mirror = np.array([1.0, 1.0, sign])
        bodies += [_body(f"{name}_{side}", MASSES[name]) for name in ("femur", "tibia")]
        bodies.append(_body(f"calcn_{side}", MASSES["calcn"], (0.0, -0.05, 0.0)))
        for name, parent, child, at in _JOINTS:
            parent = f"/bodyset/{_on_side(parent, side)}"
            child, turn = f"/bodyset/{child}_{side}", knee_turn if "knee" in name else (0, 0, 0)
            label = f"{name}_{side}"
            joint = label.replace("_angle", "").replace("_flexion", "")
            joints.append(_joint("PinJoint", joint, parent, child, mirror * at, [label], turn))
        for name, first, start, second, end, strength in muscles:
            ends = [(_on_side(b, side), mirror * p) for b, p in ((first, start), (second, end))]
            forces.append(_muscle(f"{name}_{side}", ends, strength))
    path.write_text(
        f'<OpenSimDocument Version="40000"><Model name="bare"><gravity>0 -{GRAVITY} 0</gravity>'
        f"<BodySet><objects>{''.join(bodies)}</objects></BodySet>"
        f"<JointSet><objects>{''.join(joints)}</objects></JointSet>"
        f"<ForceSet><objects>{''.join(forces)}</objects></ForceSet>{more}</Model>"
        "</OpenSimDocument>"
    )
    return path


def standing(folder, force, point=(0.0, 0.0, 0.1), torque=(0.0, 0.0, 0.0), **angles):
    """Write a motion of angles [deg], and a force plate [N, m, N m]; return both files.

    All are constants, or courses over `TIME`.
    """
    columns = {"pelvis_ty": HEIGHT, "pelvis_tx": 0.0} | dict.fromkeys(
        [f"{name}_{side}" for name, *_ in _JOINTS for side in "rl"], 0.0
    )
    columns |= angles
    values = np.column_stack([np.broadcast_to(v, len(TIME)) for v in columns.values()])
    motion, loads = folder / "motion.mot", folder / "plates.mot"
    write_motion_table(motion, MotionTable(tuple(columns), TIME, values, True))
    heads = "ground_force_v", "ground_force_p", "ground_torque_"
    names = tuple(head + axis for head in heads for axis in "xyz")
    rows = np.column_stack([np.broadcast_to(v, len(TIME)) for v in (*force, *point, *torque)])
    write_motion_table(loads, MotionTable(names, TIME, rows, False))
    return motion, loads


def bare_walk(model, motion, loads, **comak):
    """Return the configuration of a tenth of a second; other keys of [comak] replace these."""
    keys = {"start_s": 0.4, "stop_s": 0.5} | comak
    walk = {"name": "bare", "model": str(model), "motion": str(motion)}
    return MuscleWalkFile(walk={**walk, "external_loads": str(loads)}, comak=keys)


def solved(file):
    """Return the setup of a walk and its result."""
    setup = prepare_walk(file)
    return setup, setup.comak.run(setup.first_values())
