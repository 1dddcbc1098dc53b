"""Files of other laboratories: names, signs, units, plates and strides that are recognised."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import HEIGHT, MASS, PERIOD, walk_tables

from dynamics.walking import (
    MotionTable,
    check_walk,
    gait_trial,
    inverse_dynamics,
    leg_motion,
    leg_segments,
    read_motion_table,
    recognise,
)

SEGMENTS = leg_segments(MASS, HEIGHT)
#: Heel strikes of the right foot of `two_legs` [s].
STRIKES = (1.21, 2.31)
AXES = "xyz"


def table(columns, like, time=None):
    instants = like.time if time is None else time
    rows = np.column_stack(list(columns.values()))
    return MotionTable(tuple(columns), instants, rows, like.in_degrees, like.source)


def two_legs(end=2.42):
    """Return motion and ground force of both legs, the left one half a stride later."""
    half = 0.5 * PERIOD
    motion, ground = walk_tables()
    other, plate = walk_tables(side="left")
    time = motion.time[(motion.time >= half) & (motion.time <= end + 1e-9)]

    def at(source, name, delay=0.0):
        return np.interp(time - delay, source.time, source.column(name))

    angles = {n: at(motion, n) for n in motion.names}
    angles |= {n: at(other, n, half) for n in other.names if n.endswith("_l")}
    forces = {n: at(ground, n) for n in ground.names}
    forces |= {n: at(plate, n, half) for n in plate.names}
    forces["1_ground_force_px"] += 1.2 * half
    return table(angles, motion, time), table(forces, ground, time)


def columns_of(source):
    return {name: source.column(name) for name in source.names}


def renamed(source, change):
    return table({change(n): values for n, values in columns_of(source).items()}, source)


def found(motion, ground, side="right", **options):
    return recognise(motion, ground, side, SEGMENTS, **options)


def trial_of(recognised, side="right"):
    return gait_trial(
        recognised.motion,
        recognised.ground,
        side,
        columns=recognised.columns,
        stride=recognised.stride,
        pelvis_z=recognised.pelvis_z,
    )


@pytest.fixture(scope="module")
def plain():
    """Return the stride with OpenSim's names, stated by hand."""
    return gait_trial(*two_legs(), "right", stride=STRIKES)


def assert_same(trial, expected, atol=1e-9):
    for name in ("time", "coordinates", "force", "centre_of_pressure", "torque"):
        one, other = getattr(trial, name), getattr(expected, name)
        assert_allclose(one, other, rtol=0.0, atol=atol * (1.0 + np.abs(other).max()), err_msg=name)


def rajagopal(name):
    return name.replace("1_ground_force_", "ground_force_l_").replace(
        "1_ground_torque_", "ground_torque_l_"
    )


STYLES = {
    "numbers": lambda n: re.sub(
        r"^(1_)?ground_(force|torque)_", lambda m: f"ground_{m[2]}_{2 if m[1] else 1}_", n
    ),
    "sides": lambda n: re.sub(
        r"^(1_)?ground_(force|torque)_", lambda m: f"ground_{m[2]}_{'l' if m[1] else 'r'}_", n
    ),
    "sides first": lambda n: re.sub(
        r"^(1_)?ground_", lambda m: f"{'l' if m[1] else 'r'}_ground_", n
    ),
    "sides last": lambda n: f"{n.removeprefix('1_')}{'_l' if n.startswith('1_') else '_r'}",
    "bones": lambda n: re.sub(
        r"^(1_)?ground_(force|torque)_",
        lambda m: f"ground_{m[2]}_calcn_{'l' if m[1] else 'r'}_", n,
    ),
    "moments": lambda n: re.sub(r"torque_([xyz])$", r"moment_m\1", n),
    "capitals": lambda n: re.sub(
        r"^(1_)?ground_(force_([vp])|torque_)([xyz])$",
        lambda m: f"FP{2 if m[1] else 1}_{ {'v': 'F', 'p': 'P', None: 'M'}[m[3]] }{m[4].upper()}",
        n,
    ),
    "swapped": lambda n: n.removeprefix("1_") if n.startswith("1_") else f"1_{n}",
}  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
def test_plates_of_any_style_belong_to_the_foot_above(style, plain):
    motion, ground = two_legs()
    recognised = found(motion, renamed(ground, STYLES[style]), pelvis_z=0.0)
    assert recognised.stride == pytest.approx(STRIKES, abs=5e-3)
    assert "by the position of the foot" in recognised.facts["plates"]
    assert "both in the ground force" in recognised.facts["stride"]
    stated = found(motion, renamed(ground, STYLES[style]), pelvis_z=0.0, stride=STRIKES)
    assert stated.facts["stride"] == "stated"
    assert_same(trial_of(stated), plain)


@pytest.mark.parametrize("side", ["right", "left"])
def test_signs_and_names_of_opensims_models(side):
    motion, ground = two_legs()
    end = side[0]
    flexed = {n: -v if n.startswith("knee") else v for n, v in columns_of(motion).items()}
    flexed["pelvis_tz"] = np.full(len(motion.time), 0.03)
    names = {"hip_flexion": "hip_flex", "knee_angle": "knee_flex", "ankle_angle": "ankle_flex"}
    jam = {
        next((n.replace(old, new) for old, new in names.items() if old in n), n): v
        for n, v in flexed.items()
    }
    paths = {f"/jointset/joint/{n}/value": v for n, v in flexed.items()}
    expected = trial_of(found(motion, ground, side, stride=STRIKES, pelvis_z=0.03), side)
    for columns, word in (
        (flexed, f"knee_angle_{end} is positive in flexion, as in models like Rajagopal"),
        (jam, f"knee_flex_{end} is positive in flexion, as in models like OpenSim-JAM"),
        (paths, "positive in flexion"),
    ):
        recognised = found(table(columns, motion), ground, side, stride=STRIKES)
        assert word in recognised.facts["motion"]
        assert "pelvis_tz" in recognised.facts["pelvis"]
        assert_same(trial_of(recognised, side), expected, 1e-8)
    told = found(motion, ground, side, stride=STRIKES).facts["motion"]
    assert told == (
        f"knee_angle_{end} is negative in flexion, as in models like gait2392 and gait10dof18musc"
    )


def test_a_stated_column_keeps_its_sign():
    motion, _ground = two_legs()
    leg = leg_motion(motion, "right", {"knee_flexion": "knee_angle_r"})
    assert_allclose(
        leg.table.column("knee_flexion"), np.radians(motion.column("knee_angle_r")), rtol=1e-14
    )
    assert leg.notes[0] == "knee_angle_r is stated as positive in flexion"


@pytest.mark.parametrize("header", [True, False, None])
def test_units_follow_the_range_of_motion(header):
    motion, _ = two_legs()
    expected = leg_motion(motion, "right").table.values
    angular = np.array([not n.startswith(("pelvis_tx", "pelvis_ty")) for n in motion.names])
    scale = np.where(angular, np.pi / 180.0, 1.0)
    for values in (motion.values, scale * motion.values):
        told = MotionTable(motion.names, motion.time, values, header)
        leg = leg_motion(told, "right")
        assert_allclose(leg.table.values, expected, rtol=1e-12, atol=1e-12)
        right = header is (values is motion.values)
        assert ("by the range of motion" in " ".join(leg.notes)) is not right


def test_single_columns_in_radians():
    """OpenSim-JAM writes two angles of the left leg in radians under a header that says degrees."""
    motion, _ = two_legs()
    values = motion.values.copy()
    for name in ("knee_angle_l", "ankle_angle_l"):
        values[:, motion.names.index(name)] *= np.pi / 180.0
    mixed = MotionTable(motion.names, motion.time, values, True)
    leg = leg_motion(mixed, "left")
    assert_allclose(leg.table.values, leg_motion(motion, "left").table.values, rtol=1e-12)
    assert "knee_angle_l in radians, ankle_angle_l in radians" in leg.notes[1]
    stated = leg_motion(mixed, "right", in_degrees=True)
    assert len(stated.notes) == 1


def test_a_walk_against_the_x_axis_is_turned(plain):
    motion, ground = two_legs()
    turned = columns_of(motion) | {"pelvis_rotation": np.full(len(motion.time), 178.0)}
    turned["pelvis_tx"] = -turned["pelvis_tx"]
    plates = {n: -v if n.endswith(("x", "z")) else v for n, v in columns_of(ground).items()}
    recognised = found(table(turned, motion), table(plates, ground), stride=STRIKES, pelvis_z=0.0)
    assert "against the x axis" in recognised.facts["motion"]
    assert_same(trial_of(recognised), plain)


@pytest.mark.parametrize("stated", [True, False, None])
@pytest.mark.parametrize("unit", ["degrees", "radians"])
@pytest.mark.parametrize(("heading", "backward"), [(3.0, False), (-4.5, False), (178.0, True)])
def test_the_heading_is_in_the_unit_of_the_other_angles(stated, unit, heading, backward):
    """Whatever the header says: 3 degrees that are read as radians would turn the subject about."""
    motion, _ = two_legs()
    columns = columns_of(motion) | {"pelvis_rotation": np.full(len(motion.time), heading)}
    if unit == "radians":
        columns |= {n: np.radians(v) for n, v in columns.items() if "_t" not in n or "tilt" in n}
    rows = np.column_stack(list(columns.values()))
    found = leg_motion(MotionTable(tuple(columns), motion.time, rows, stated), "right")
    assert found.backward == backward
    wanted = leg_motion(motion, "right").table.column("knee_flexion")
    assert_allclose(found.table.column("knee_flexion"), wanted, rtol=1e-12)


@pytest.mark.parametrize("heading", [-3.0, 2.0, 3.0, 5.0])
@pytest.mark.parametrize("in_degrees", [False, None])
def test_a_heading_in_degrees_under_a_wrong_header_turns_nobody(plain, heading, in_degrees):
    """As radians, three of these headings would face backwards and exchange the legs."""
    motion, ground = two_legs()
    columns = columns_of(motion) | {"pelvis_rotation": np.full(len(motion.time), heading)}
    rows = np.column_stack(list(columns.values()))
    wrong = MotionTable(tuple(columns), motion.time, rows, in_degrees, "walk.mot")
    recognised = found(wrong, ground, stride=STRIKES, pelvis_z=0.0)
    assert "against the x axis" not in recognised.facts["motion"]
    assert_same(trial_of(recognised), plain)
    if in_degrees is None:
        assert recognised.warnings == ()
    else:
        (told,) = recognised.warnings
        assert told.startswith("walk.mot: the header states inDegrees=no, but the ranges of hip_")
        assert "are typical of degrees" in told


def test_radians_under_a_header_of_degrees_are_told(plain):
    motion, ground = two_legs()
    columns = columns_of(motion) | {"pelvis_rotation": np.full(len(motion.time), 178.0)}
    columns = {
        n: v if n in ("pelvis_tx", "pelvis_ty") else np.radians(v) for n, v in columns.items()
    }
    columns["pelvis_tx"] = -columns["pelvis_tx"]
    plates = {n: -v if n.endswith(("x", "z")) else v for n, v in columns_of(ground).items()}
    recognised = found(table(columns, motion), table(plates, ground), stride=STRIKES, pelvis_z=0.0)
    assert "against the x axis" in recognised.facts["motion"]
    assert_same(trial_of(recognised), plain)
    (told,) = recognised.warnings
    assert "the header states inDegrees=yes" in told
    stated = leg_motion(table(columns, motion), "right", in_degrees=False)
    assert stated.warnings == ()
    assert leg_motion(motion, "right").warnings == ()


def off_the_plates(ground, after):
    """Return a ground force without contacts after an instant."""
    return MotionTable(
        ground.names,
        ground.time,
        np.where((ground.time > after)[:, None], 0.0, ground.values),
        True,
    )


@pytest.mark.parametrize("share", [1.1, 1.04])
def test_a_second_strike_off_the_plates_is_found_in_the_motion(share):
    begin, end = STRIKES
    motion, ground = two_legs(end=begin + share * (end - begin))
    recognised = found(motion, off_the_plates(ground, 2.2))
    assert recognised.stride[0] == pytest.approx(begin, abs=5e-3)
    assert recognised.stride[1] == pytest.approx(end, abs=0.02)
    assert "off the plates" in recognised.facts["stride"]


def test_a_motion_that_ends_with_the_stride_takes_the_other_foot():
    motion, ground = two_legs(end=2.31)
    recognised = found(motion, off_the_plates(ground, 2.2))
    assert recognised.stride[1] == pytest.approx(2.31, abs=0.02)


@pytest.mark.parametrize(
    ("begin", "end", "words"),
    [(1.15, 2.30, "the joint angles are the same again"), (0.13, 1.25, "angles were the same")],
)
def test_a_record_of_just_a_stride_closes_by_its_posture(begin, end, words):
    """One leg, one heel strike; the record ends just before, or begins just after, the other."""
    motion, ground = (
        MotionTable(t.names, t.time[k], t.values[k], True)
        for t in walk_tables()
        for k in [(t.time > begin) & (t.time < end)]
    )
    recognised = found(motion, off_the_plates(ground, 2.2))
    assert words in recognised.facts["stride"]
    assert recognised.stride[1] - recognised.stride[0] == pytest.approx(PERIOD, abs=0.03)


def test_a_force_that_ends_in_swing_is_zero_from_there():
    motion, ground = two_legs()
    kept = ground.time < 2.25
    short = MotionTable(ground.names, ground.time[kept], ground.values[kept], True)
    recognised = found(motion, short, pelvis_z=0.0)
    assert "zero after the last row at 2.24" in recognised.facts["plates"]
    trial = trial_of(recognised)
    assert recognised.stride[1] == pytest.approx(STRIKES[1], abs=0.02)
    whole = gait_trial(motion, ground, "right", stride=recognised.stride)
    early = trial.percent < 80.0
    assert_allclose(trial.force[early], whole.force[early], atol=1e-3 * whole.force.max())


def test_one_foot_on_two_plates():
    motion, ground = two_legs()
    whole = found(motion, ground, stride=STRIKES).ground
    columns = columns_of(ground)
    heel = 1.0 / (1.0 + np.exp(-40.0 * (ground.time - 1.5)))
    parts = {n: v for n, v in columns.items() if n.startswith("1_")}
    for k, share in (("a", heel), ("b", 1.0 - heel)):
        for axis in AXES:
            parts[f"plate{k}_ground_force_v{axis}"] = share * columns[f"ground_force_v{axis}"]
            parts[f"plate{k}_ground_force_p{axis}"] = columns[f"ground_force_p{axis}"]
            parts[f"plate{k}_ground_torque_{axis}"] = share * columns[f"ground_torque_{axis}"]
    recognised = found(motion, table(parts, ground), stride=STRIKES)
    loaded = whole.column("force_y") > 50.0
    assert_allclose(recognised.ground.values[loaded], whole.values[loaded], rtol=1e-9, atol=1e-9)
    assert "platea_ground_force_vx, plateb_ground_force_vx" in recognised.facts["plates"]


def test_the_pelvis_is_midway_between_the_feet():
    motion, ground = two_legs()
    moved = {n: v + 0.05 if n.endswith("pz") else v for n, v in columns_of(ground).items()}
    recognised = found(motion, table(moved, ground))
    assert recognised.pelvis_z == pytest.approx(0.05, abs=2e-3)
    alone = {n: v for n, v in moved.items() if not n.startswith("1_")}
    one = found(motion, table(alone, ground))
    assert one.pelvis_z == pytest.approx(0.05 + 0.005, abs=2e-3)
    assert "hip is above the force" in one.facts["pelvis"]


def without(source, *names):
    return table({n: v for n, v in columns_of(source).items() if n not in names}, source)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m, g: (m, MotionTable(g.names, g.time, -g.values)),
            r'ground on a foot .*set measured\.columns\.force to "-ground_force_v" and torque to '
            r'"-ground_torque_"$',
        ),
        (
            lambda m, g: (
                m,
                table({n: 1e3 * v if "_p" in n else v for n, v in columns_of(g).items()}, g),
            ),
            r"points of application in metres, found .*; convert the points to metres, and torques",
        ),
        (
            lambda m, g: (m, renamed(g, lambda n: n.translate(str.maketrans("yz", "zy")))),
            r"force along y \(up\), found the largest along z .*turn the axes so that y is up$",
        ),
        (
            lambda m, g: (m, MotionTable(g.names, g.time, 1e-3 * g.values)),
            r"found 0 to 0\.\d+ N; convert the forces to newtons, or turn the axes",
        ),
        (
            lambda m, g: (without(m, "hip_flexion_r"), g),
            r"a column hip_flexion_r or hip_flex_r for the right leg, .*"
            r"set measured\.columns\.hip_flexion to the name of the column$",
        ),
        (
            lambda m, g: (
                table(columns_of(m) | {"knee_angle_r": 0.2 * m.column("knee_angle_r")}, m), g,
            ),
            r'knee_angle_r: .*set measured\.columns\.knee_flexion to "knee_angle_r", or to '
            r'"-knee_angle_r" if the angle is negative in flexion$',
        ),
        (
            lambda m, g: (m, renamed(g, lambda n: n.replace("ground", "x").replace("_v", "_w"))),
            r"columns of force and point .*set measured\.columns\.force, point and torque to",
        ),
        *(
            (
                lambda m, g, absent=absent: (m, without(g, f"ground_force_{absent}")),
                rf"has columns ground_force_v\* but no ground_force_{absent}; add the columns, "
                r"or set measured\.columns\.force, point and torque to",
            )
            for absent in ("px", "pz", "vx", "vy")
        ),
        (
            lambda m, g: (m, table({n: v for n, v in columns_of(g).items() if "1_" in n}, g)),
            r'of the right foot with a plate, .*set subject\.side to "left", or measured\.columns',
        ),
        (
            lambda m, g: (m, without(g, *(f"ground_force_p{axis}" for axis in AXES))),
            r"of the right foot with a plate, .* and columns ground_force_v\* without those of the "
            r"point of application such as ground_force_px; add these columns$",
        ),
        (
            lambda m, g: (m, MotionTable(g.names, g.time, g.values * (g.time < 1.1)[:, None])),
            r"expected a contact of the right foot|expected a stride of the right foot",
        ),
    ],
)  # fmt: skip
def test_what_is_not_evident_names_the_key_to_set(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        found(*change(*two_legs()))
    assert ". " not in str(caught.value).replace(".mot", "")


def test_stated_columns_of_the_force_may_have_a_sign():
    motion, ground = two_legs()
    columns = {"force": "-ground_force_v", "torque": "-ground_torque_"}
    names = [n for n in ground.names if n.startswith(("ground_force_v", "ground_torque"))]
    signs = np.where([n in names for n in ground.names], -1.0, 1.0)
    away = MotionTable(ground.names, ground.time, signs * ground.values, True)
    one = found(motion, away, columns=columns, pelvis_z=0.0, stride=STRIKES)
    assert_same(trial_of(one), trial_of(found(motion, ground, pelvis_z=0.0, stride=STRIKES)))


def test_points_of_unloaded_plates_may_be_anywhere(plain):
    """Some files divide noise by noise: points of hundreds of metres without a foot there."""
    motion, ground = two_legs()
    columns = columns_of(ground)
    idle = columns["ground_force_vy"] == 0.0
    columns["ground_force_px"] = np.where(idle, 346.0, columns["ground_force_px"])
    columns["ground_force_vy"] = np.where(idle, 2.0, columns["ground_force_vy"])
    recognised = found(motion, table(columns, ground), stride=STRIKES, pelvis_z=0.0)
    trial = trial_of(recognised)
    assert_allclose(trial.force, plain.force, atol=1e-8)
    segments = inverse_dynamics(trial, SEGMENTS), inverse_dynamics(plain, SEGMENTS)
    assert_allclose(segments[0].moments, segments[1].moments, atol=1e-6)


def test_an_unused_plate_is_no_contact():
    motion, ground = two_legs()
    more = columns_of(ground) | {
        f"ground_{what}_3_{letter}{axis}": np.zeros(len(ground.time))
        for what, letter in (("force", "v"), ("force", "p"), ("torque", ""))
        for axis in AXES
    }
    recognised = found(motion, table(more, ground))
    assert recognised.facts["plates"].startswith("3 contacts with ground_force_vx, by")


def test_half_a_stride_names_the_key_to_set():
    motion, ground = two_legs(end=1.9)
    with pytest.raises(ValueError, match=r"one heel strike .*set measured\.stride_s to .*\[1\.21"):
        found(motion, ground)


@pytest.mark.parametrize(("side", "words"), [("left", "in radians"), ("right", "off the plates")])
def test_the_walk_of_opensim_jam_runs_as_it_is(knee_data, side, words):
    """Its left knee is in radians; its right foot has one contact, its left foot two plates."""
    folder = knee_data / "jam_comak_walking"
    motion = read_motion_table(
        folder / "examples/walking/results/comak-inverse-kinematics/overground_17_ik.mot"
    )
    ground = read_motion_table(folder / "models/lenhart2015/motion_data/overground_17_grf.mot")
    segments = leg_segments(62.0, 1.70)
    recognised = recognise(motion, ground, side, segments)
    begin, end = {"left": (0.741, 1.788), "right": (1.263, 2.32)}[side]
    assert recognised.stride == pytest.approx((begin, end), abs=0.015)
    assert words in " ".join(recognised.facts.values())
    trial = trial_of(recognised, side)
    loads = inverse_dynamics(trial, segments)
    assert all("mean over the stride" in text for text in check_walk(trial, loads, 62.0))
