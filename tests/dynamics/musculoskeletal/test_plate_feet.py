"""Force plates of a C3D file act on the feet above them."""

import numpy as np
import pytest
from c3d_files import corners, plate, write_c3d
from numpy.testing import assert_allclose

from dynamics.musculoskeletal import CoordinateMotion, OpenSimSystem, loaded_by_plates
from dynamics.musculoskeletal.external_loads import read_external_loads
from foundation.base.errors import InputError

pytest.importorskip("ezc3d", reason="C3D files need ezc3d (the c3d extra)")

BODY = """<Body name="{0}"><mass>{1}</mass><mass_center>0 0 0</mass_center>
<inertia>1 1 1 0 0 0</inertia></Body>"""
SLIDE = """<SliderJoint name="slide_{0}"><coordinates><Coordinate name="{0}_x"/></coordinates>
<socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/{0}
</socket_child_frame></SliderJoint>"""
BODIES = ("trunk", "foot_r", "foot_l")
MODEL = (
    '<OpenSimDocument Version="40000"><Model name="feet"><BodySet><objects>'
    + "".join(BODY.format(name, 1.0) for name in BODIES)
    + "</objects></BodySet><JointSet><objects>"
    + "".join(SLIDE.format(name) for name in BODIES)
    + "</objects></JointSet></Model></OpenSimDocument>"
)
#: Middles of two plates in a laboratory with z up, and the places of the feet on them [m].
FIRST, SECOND = 0.3, 1.1
TIME = 0.01 * np.arange(120)


def motion():
    """Return the feet: the right one stays on the first plate, then on the second."""
    right = np.where(TIME < 0.6, FIRST, SECOND)
    values = np.stack([np.full(120, 0.3), right, np.where(TIME < 0.3, -1.0, 1.3)], axis=1)
    zero = np.zeros_like(values)
    names = tuple(f"{name}_x" for name in BODIES)
    return CoordinateMotion(names, (False,) * 3, TIME, values, zero, zero)


def walk(path, shift=0.0):
    """Write two plates: the right foot steps on the first from 0.1 to 0.5 s, then both on both."""
    places = [corners([x, 0.0, 0.0], 0.0) for x in (FIRST, SECOND)]
    loads = [(TIME > 0.1) & (TIME < 0.5), (TIME > 0.705) & (TIME < 1.1)]
    plates = []
    for corner, bears, x in zip(places, loads, (FIRST, SECOND), strict=True):
        force = np.outer(700.0 * bears, [0.1, 0.0, 1.0])
        point = np.tile([x + 0.05 + shift, 0.02, 0.0], (120, 1))
        plates.append(plate(2, corner, [0, 0, -0.03], force, point, 2.0 * bears))
    return write_c3d(path, None, plates)


@pytest.fixture
def system(opensim):
    return OpenSimSystem(MODEL)


def test_each_contact_acts_on_the_nearest_foot(system, tmp_path):
    path = walk(tmp_path / "walk.c3d")
    found = loaded_by_plates(MODEL, system, motion(), path).external_loads
    assert found.path == path
    assert found.notes == ()
    # The trunk is as near as the foot, and no foot; the left foot is 0.2 m beside the second plate.
    assert [(each.body, each.plate.name) for each in found.forces] == [
        ("foot_r", "plate_1_foot_r"),
        ("foot_r", "plate_2_foot_r"),
    ]
    for each, (x, instant) in zip(found.forces, ((FIRST, 0.3), (SECOND, 0.9)), strict=True):
        there = each.at(np.array([instant]))
        assert_allclose(there.force, [[70.0, 700.0, 0.0]], atol=1e-3)
        assert_allclose(there.point, [[x + 0.05, 0.0, -0.02]], atol=1e-6)
        assert_allclose(there.torque, [[0.0, -2.0, 0.0]], atol=1e-3)
    # The force reaches the model: the load is what the motion does not need.
    loaded = loaded_by_plates(MODEL, system, motion(), path)
    loaded.set(0.3, *(values[30] for values in (motion().values, motion().speeds)))
    assert loaded.needed_forces(np.zeros(3))[1] == pytest.approx(-70.0, abs=1e-3)


def test_plates_without_a_foot_are_named(system, tmp_path):
    path = walk(tmp_path / "walk.c3d")
    short = motion()
    values = short.values + np.where(TIME > 0.6, 0.9, 0.0)[:, None]
    away = CoordinateMotion(
        short.names, short.rotational, TIME, values, short.speeds, short.accelerations
    )
    (note,) = loaded_by_plates(MODEL, system, away, path).external_loads.notes
    assert note.startswith("walk.c3d: a contact with force plate 2 at 0.71 s is 0.85 m from foot_r")
    far = CoordinateMotion(
        short.names, short.rotational, TIME, values + 3.0, short.speeds, short.accelerations
    )
    with pytest.raises(InputError, match=r"expected a foot on a force plate from 0 to 1\.19 s"):
        loaded_by_plates(MODEL, system, far, path)


def test_external_loads_name_the_columns_of_a_plate(opensim, tmp_path):
    walk(tmp_path / "walk.c3d")
    stem = "".join(
        f"<{kind}_identifier>{name}</{kind}_identifier>"
        for kind, name in (("force", "ground_force_1_v"), ("point", "ground_force_1_p"))
    )
    text = (
        '<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="one">'
        f"<applied_to_body>foot_r</applied_to_body>{stem}</ExternalForce></objects>"
        "<datafile>walk.c3d</datafile></ExternalLoads></OpenSimDocument>"
    )
    path = tmp_path / "loads.xml"
    path.write_text(text)
    (force,) = OpenSimSystem(MODEL, path).external_loads.forces
    assert_allclose(force.at(np.array([0.3])).force, [[70.0, 700.0, 0.0]], atol=1e-3)
    path.write_text(text.replace("ground_force_1_v", "1_ground_force_v"))
    with pytest.raises(InputError, match=r"plates of walk\.c3d, .* found 1_ground_force_vx"):
        read_external_loads(path)
