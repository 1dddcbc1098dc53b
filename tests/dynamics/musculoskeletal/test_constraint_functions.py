"""Secondary coordinates as functions of knee flexion."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.musculoskeletal import (
    ConstraintFunctions,
    Sweep,
    followers,
    with_markers,
    write_functions,
)
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.legs import leg_model

AT = np.linspace(0.0, 2.0, 20)
MODEL = """<OpenSimDocument Version="40000"><Model name="m"><JointSet><objects>
<CustomJoint name="knee"><coordinates>
<Coordinate name="flex"><default_value>0.5</default_value><locked>true</locked></Coordinate>
<Coordinate name="add"><clamped>true</clamped></Coordinate><Coordinate name="ty"/>
</coordinates></CustomJoint></objects></JointSet></Model></OpenSimDocument>"""
PATHS = {"add": "/jointset/knee/add", "ty": "/jointset/knee/ty"}


def functions():
    """Return cubic functions, which cubic splines give exactly."""
    return ConstraintFunctions("flex", ("add", "ty"), AT, np.column_stack([AT**3, 0.1 - AT**2]))


def test_splines_are_exact_for_cubics_and_straight_outside():
    at = np.array([0.03, 0.5, 1.99])
    assert_allclose(functions()(at), np.column_stack([at**3, 0.1 - at**2]), atol=1e-12)
    outside = functions()(np.array([-0.5, 2.5]))
    assert_allclose(outside, [[0.0, 0.1], [8.0 + 6.0, -3.9 - 2.0]], atol=1e-10)


def test_functions_are_read_as_written(tmp_path):
    path = tmp_path / "functions.xml"
    write_functions(path, [functions()], PATHS)
    found = ConstraintFunctions.read(path, "flex")
    assert found.secondary == ("add", "ty")
    assert_allclose(found.at, AT, rtol=0, atol=0)
    assert_allclose(found.values, functions().values, rtol=0, atol=0)
    names = [spline.get("name") for spline in ET.parse(path).getroot().iter("SimmSpline")]
    assert names == list(PATHS.values())


def test_coordinates_follow_the_coupled_one_of_their_leg(tmp_path):
    joints = leg_model(tmp_path, right=True).joints
    coupled = ("hip_l_rz", "knee_r_rz")
    found = followers(joints, coupled, ("knee_r_ty", "hip_l_tx", "hip_r_rx"))
    assert found == {"hip_l_rz": ("hip_l_tx",), "knee_r_rz": ("knee_r_ty", "hip_r_rx")}
    assert followers(joints, ("any",), ("all",)) == {"any": ("all",)}
    with pytest.raises(InputError, match="expected coordinates of the model, found elbow"):
        followers(joints, coupled, ("elbow",))
    with pytest.raises(InputError, match="of the leg of hip_l_rz, found none"):
        followers(joints, coupled, ("knee_r_ty",))


def test_a_model_follows_the_functions():
    root = ET.fromstring(functions().add_to(MODEL))
    coordinates = {c.get("name"): c for c in root.iter("Coordinate")}
    assert float(coordinates["add"].find("default_value").text) == pytest.approx(0.125)
    assert float(coordinates["ty"].find("default_value").text) == pytest.approx(-0.15)
    assert coordinates["add"].find("clamped").text == "false"
    assert coordinates["flex"].find("locked").text == "false"
    couplers = root.findall("Model/ConstraintSet/objects/CoordinateCouplerConstraint")
    assert [c.find("dependent_coordinate_name").text for c in couplers] == ["add", "ty"]
    assert {c.find("independent_coordinate_names").text for c in couplers} == {"flex"}
    points = couplers[0].find("coupled_coordinates_function/SimmSpline/y").text.split()
    assert_allclose(np.array(points, dtype=float), AT**3)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "functions.xml"
    path.write_text("<OpenSimDocument><FunctionSet><objects/></FunctionSet></OpenSimDocument>")
    with pytest.raises(InputError, match="expected SimmSplines, found none"):
        ConstraintFunctions.read(path, "flex")
    write_functions(path, [functions()], PATHS)
    path.write_text(path.read_text().replace("<x>0.0 ", "<x>-1.0 ", 1))
    with pytest.raises(InputError, match="through the same points, found different ones"):
        ConstraintFunctions.read(path, "flex")


def test_markers_replace_those_of_the_model(tmp_path):
    path = tmp_path / "markers.xml"
    path.write_text('<D><MarkerSet><objects><Marker name="knee"/></objects></MarkerSet></D>')
    once = with_markers(MODEL, path)
    root = ET.fromstring(with_markers(once, path))
    assert [m.get("name") for m in root.iter("Marker")] == ["knee"]
    path.write_text('<MarkerSet><objects><Marker name="bare"/></objects></MarkerSet>')
    assert 'name="bare"' in with_markers(MODEL, path)
    path.write_text("<D/>")
    with pytest.raises(InputError, match="MarkerSet"):
        with_markers(MODEL, path)
    old = '<Marker name="knee"><body>tibia</body></Marker>'
    path.write_text(f"<MarkerSet><objects>{old}</objects></MarkerSet>")
    with pytest.raises(InputError, match="found markers with a body, as OpenSim before 4"):
        with_markers(MODEL, path)


def test_functions_of_other_coordinates_are_refused():
    with pytest.raises(InputError, match="found hip"):
        ConstraintFunctions("hip", ("add",), AT, AT[:, None]).add_to(MODEL)


@pytest.mark.parametrize("at", [AT[:3], AT[::-1]])
def test_few_or_falling_points_are_refused(at):
    with pytest.raises(InputError, match="at least 4 increasing values of flex"):
        ConstraintFunctions("flex", ("add",), at, at[:, None])


def test_a_sweep_begins_at_rest_and_ends_in_time():
    course = Sweep("flex", ("add",), 0.2, 1.2, 3.0).course
    assert len(course.time) == 301
    assert_allclose(course.values[[0, 150, 300]], [0.2, 0.45, 1.2])
