"""Markers that nobody measured, and large errors of markers: a block with four markers."""

import numpy as np
import pytest

from dynamics.musculoskeletal import MarkerSettings, follow_markers, marker_kinematics
from dynamics.musculoskeletal.measured_markers import MeasuredMarkers
from foundation.base.errors import InputError


def markers(path, columns, zeros=(), frames=12):
    """Write a file of markers (.trc) at rest, zero where `zeros` says so."""
    names = tuple(columns)
    positions = np.tile(list(columns.values()), (frames, 1, 1))
    for name, k in zeros:
        positions[slice(None) if k is None else k, names.index(name)] = 0.0
    missing = np.zeros(positions.shape[:2], dtype=bool)
    measured = MeasuredMarkers(names, 0.01 * np.arange(frames), positions, missing, path)
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
        ([("d", None)], {}, ["d: stored as 0, 0, 0 throughout"]),
        ((), {"e": 1.0}, []),
        ([("d", 3)], {}, ["markers without a position or stored as 0, 0, 0 at some"]),
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


def test_an_instant_without_any_marker_is_refused(opensim, tmp_path):
    file = markers(tmp_path / "walk.trc", PLACES, [(name, k) for name in "abc" for k in (3, 4)])
    of_three = MarkerSettings(tuple((n, 1.0) for n in "abc"))
    with pytest.raises(InputError, match=r"found none at 2 of 12 instants, from 0.03 to 0.04 s"):
        follow_markers(MODEL, file, of_three)
    after = MarkerSettings(of_three.weights, start=0.05)
    assert follow_markers(MODEL, file, after).notes == ()


def test_a_marker_of_the_model_that_the_file_lacks_is_told(opensim, tmp_path):
    file = markers(tmp_path / "walk.trc", {name: PLACES[name] for name in "abc"})
    found = follow_markers(MODEL, file, MarkerSettings(tuple((n, 1.0) for n in PLACES)))
    (told,) = found.notes
    assert told.startswith("walk.trc: d: weights of markers that the file does not have")
    assert [fit.name for fit in sorted(found.fits)] == ["a", "b", "c"]


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
    with pytest.raises(InputError, match=r"walk\.trc: .* within 200 mm .* a and b look exchanged"):
        follow_markers(MODEL, file, weights)
    (xa, *a), (xb, *b) = PLACES["a"], PLACES["b"]
    apart = PLACES | {"a": (xa - 0.1, *a), "b": (xb + 0.1, *b)}
    found = follow_markers(MODEL, markers(tmp_path / "walk.trc", apart), weights)
    (told,) = found.notes
    assert "expected markers within 40 mm of the model and 20 mm RMS, found up to" in told
    for name in "ab":
        assert f"{name} " in told.partition("RMS: ")[2]


@pytest.mark.parametrize(("failures", "accuracy"), [(1, 1e-4), (2, 1e-3)])
def test_a_coarser_accuracy_where_opensim_finds_no_motion_is_told(
    opensim, tmp_path, monkeypatch, failures, accuracy
):
    run, tried = marker_kinematics._run, []

    def fails(osim, folder, file, settings):
        tried.append(settings.accuracy)
        if len(tried) <= failures:
            raise RuntimeError("AssemblySolver::track() attempt failed")
        return run(osim, folder, file, settings)

    monkeypatch.setattr(marker_kinematics, "_run", fails)
    settings = MarkerSettings(tuple((n, 1.0) for n in PLACES), accuracy=1e-5)
    found = follow_markers(MODEL, markers(tmp_path / "walk.trc", PLACES), settings)
    assert tried == pytest.approx([1e-5, 1e-4, 1e-3][: failures + 1])
    (note,) = found.notes
    assert note.endswith(f"with the accuracy {accuracy:g}, and not with 1e-05")
    assert np.abs(found.motion.values).max() < 1e-3
    tried, failures = [], 9
    with pytest.raises(InputError, match=r"OpenSim cannot follow the markers: .*track"):
        follow_markers(MODEL, tmp_path / "walk.trc", settings)
