"""Inverse kinematics from markers, and the functions of secondary coordinates."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.musculoskeletal.marker_kinematics import (
    ConstraintFunctions,
    MarkerSettings,
    Sweep,
    follow_markers,
    followers,
    with_markers,
    write_functions,
)
from dynamics.musculoskeletal.measured_markers import MeasuredMarkers
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.legs import leg_model


def markers(path, columns, zeros=(), frames=12):
    """Write a file of markers (.trc) at rest, zero where `zeros` says so."""
    names = tuple(columns)
    positions = np.tile(list(columns.values()), (frames, 1, 1))
    for name, k in zeros:
        positions[slice(None) if k is None else k, names.index(name)] = 0.0
    measured = MeasuredMarkers(names, 0.01 * np.arange(frames), positions, path)
    path.write_text(measured.text())
    return path


BLOCK = """<OpenSimDocument Version="40000"><Model name="block"><BodySet><objects>
<Body name="block"><mass>1</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia>
</Body></objects></BodySet><JointSet><objects><FreeJoint name="free">
<socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/block</socket_child_frame></FreeJoint></objects></JointSet>
<MarkerSet><objects>{}</objects></MarkerSet></Model></OpenSimDocument>"""
PLACES = {"a": (0.1, 0.2, 0.3), "b": (0.5, 0.2, 0.3), "c": (0.1, 0.7, 0.3), "d": (0.1, 0.2, 0.9)}

MODEL = BLOCK.format(
    "".join(
        f'<Marker name="{name}"><socket_parent_frame>/bodyset/block</socket_parent_frame>'
        f"<location>{' '.join(map(str, place))}</location></Marker>"
        for name, place in PLACES.items()
    )
)


@pytest.mark.parametrize(
    ("zeros", "weights", "told"),
    [
        ((), {}, []),
        ([("d", None)], {}, ["markers without a position at some"]),
        ((), {"e": 1.0}, []),
        ([("d", 3)], {}, ["markers without a position at some"]),
    ],
)
def test_markers_that_nobody_measured_are_told(opensim, tmp_path, zeros, weights, told):
    file = markers(tmp_path / "walk.trc", PLACES, zeros)
    settings = MarkerSettings(tuple((dict.fromkeys(PLACES, 1.0) | weights).items()))
    found = follow_markers(MODEL, file, settings)
    assert found.unknown == tuple(weights)
    assert [text.partition(": ")[2].partition(",")[0][:30] for text in found.notes] == [
        text[:30].partition(",")[0] for text in told
    ]
    assert np.abs(found.motion.values).max() < 1e-3


def test_errors_of_markers_are_those_of_all_distances_at_an_instant(opensim, tmp_path):
    """Where all are 0, OpenSim fails or ends the process if it is to report errors."""
    file = markers(tmp_path / "walk.trc", PLACES)
    settings = MarkerSettings(tuple((n, 1.0) for n in PLACES))
    for _ in range(20):
        found = follow_markers(MODEL, file, settings)
    assert np.abs(found.errors.values).max() < 1e-6
    assert len(found.errors.time) == 12
    file = markers(tmp_path / "walk.trc", PLACES | {"a": (0.1, 0.2, 0.28)}, [("b", 3)])
    found = follow_markers(MODEL, file, settings)
    distances = np.array([fit.distances for fit in found.fits])
    squares = np.nansum(distances**2, axis=0)
    seen = np.where(np.arange(12) == 3, 3, 4)
    np.testing.assert_allclose(found.errors.column("total_squared_error"), squares)
    np.testing.assert_allclose(found.errors.column("marker_error_RMS"), np.sqrt(squares / seen))
    largest = np.nanmax(distances, axis=0)
    np.testing.assert_allclose(found.errors.column("marker_error_max"), largest)


def test_a_last_marker_without_cells_is_missing(opensim, tmp_path):
    """OpenSim drops empty cells at the end of a line, and then the row."""
    file = markers(tmp_path / "walk.trc", PLACES)
    lines = file.read_text().splitlines()
    lines[9] = "\t".join([*lines[9].split("\t")[:-3], "", "", ""])
    file.write_text("\n".join(lines) + "\n")
    found = follow_markers(MODEL, file, MarkerSettings(tuple((n, 1.0) for n in PLACES)))
    assert np.abs(found.motion.values).max() < 1e-3
    assert {fit.name: fit.missing for fit in found.fits} == {"a": 0, "b": 0, "c": 0, "d": 1}


def test_markers_far_off_the_model_are_told(opensim, tmp_path):
    weights = MarkerSettings(tuple((n, 1.0) for n in PLACES))
    exchanged = PLACES | {"a": PLACES["b"], "b": PLACES["a"]}
    file = markers(tmp_path / "walk.trc", exchanged)
    with pytest.raises(
        InputError, match=r"walk\.trc: .* within 200 mm .*; check the unit, names, sides"
    ):
        follow_markers(MODEL, file, weights)
    (xa, *a), (xb, *b) = PLACES["a"], PLACES["b"]
    apart = PLACES | {"a": (xa - 0.1, *a), "b": (xb + 0.1, *b)}
    found = follow_markers(MODEL, markers(tmp_path / "walk.trc", apart), weights)
    (told,) = found.notes
    assert "expected markers within 40 mm of the model and 20 mm RMS, found up to" in told
    for name in "ab":
        assert f"{name} " in told.partition("RMS: ")[2]


AT = np.linspace(0.0, 2.0, 20)
COUPLED = """<OpenSimDocument Version="40000"><Model name="m"><JointSet><objects>
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
    root = ET.fromstring(functions().add_to(COUPLED))
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


def test_markers_replace_those_of_the_model(tmp_path):
    path = tmp_path / "markers.xml"
    path.write_text('<D><MarkerSet><objects><Marker name="knee"/></objects></MarkerSet></D>')
    once = with_markers(COUPLED, path)
    root = ET.fromstring(with_markers(once, path))
    assert [m.get("name") for m in root.iter("Marker")] == ["knee"]
    path.write_text('<MarkerSet><objects><Marker name="bare"/></objects></MarkerSet>')
    assert 'name="bare"' in with_markers(COUPLED, path)
    path.write_text("<D/>")
    with pytest.raises(InputError, match="MarkerSet"):
        with_markers(COUPLED, path)
    old = '<Marker name="knee"><body>tibia</body></Marker>'
    path.write_text(f"<MarkerSet><objects>{old}</objects></MarkerSet>")
    with pytest.raises(InputError, match="found markers with a body, as OpenSim before 4"):
        with_markers(COUPLED, path)


def test_a_sweep_begins_at_rest_and_ends_in_time():
    course = Sweep("flex", ("add",), 0.2, 1.2, 3.0).course
    assert len(course.time) == 301
    assert_allclose(course.values[[0, 150, 300]], [0.2, 0.45, 1.2])
