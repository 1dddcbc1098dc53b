"""Results of walks, walks from OpenSim-JAM's settings, and commands without OpenSim."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import kept_figures

from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal import Comak
from dynamics.musculoskeletal.measurement_errors import MeasurementError
from dynamics.musculoskeletal.plant import SimulatedFrames
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import ContactLoads
from pipeline.cli.main import main
from pipeline.studies.jam_settings import mesh_in
from pipeline.studies.muscle_walks.frames import contact_flags
from pipeline.studies.muscle_walks.summary import uncertainty_text, walk_uncertainty
from pipeline.studies.muscle_walks.walk import PressureHistory, pressure_pictures
from tests.dynamics.musculoskeletal.synthetic import contact, record, settings


def frames(*forces, flags=()):
    """Return frames of one contact with these forces [N]."""
    loads = []
    for force in forces:
        row = np.zeros(12)
        row[1] = force
        loads.append((ContactLoads([row], ("joint",), flags),))
    time = 0.1 * np.arange(float(len(forces)))
    none = np.zeros((len(forces), 0))
    courses = dict.fromkeys(("values", "speeds", "activations", "muscle_forces"), none)
    return SimulatedFrames(
        time=time, secondary=(), muscles=(), contacts=("knee_contact",), loads=tuple(loads),
        **courses,
    )  # fmt: skip


def test_a_contact_that_never_touches_is_flagged_before_others():
    beyond = Flag(FlagKind.OUTSIDE_LOAD, "joint", (910.0, 10.0))
    told = contact_flags(frames(0.0, 0.0, 0.0, flags=(beyond,)))
    assert told[0].startswith("knee_contact: the surfaces touch in none of 3 frames")
    assert "walk.meshes" in told[0]
    assert told[1:] == [
        "knee_contact: joint: outside the trained domain, axial load of … N, … N beyond "
        "(3 frames, first at 0 s)"
    ]


def history_of(normal, instants=20):
    """A square bed of 20 mm that faces `normal`; the pressure at its middle rises with time."""
    ticks = np.linspace(-10e-3, 10e-3, 5)
    plane = np.stack(np.meshgrid(ticks, 2.0 * ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    corner = (np.arange(4)[:, None] * 5 + np.arange(4)).ravel()
    halves = [corner, corner + 1, corner + 6], [corner, corner + 6, corner + 5]
    faces = np.concatenate([np.column_stack(half) for half in halves])
    vertices = np.insert(plane, normal, 1e-3, axis=1)
    bell = 1.0 - (plane**2).sum(axis=1) / 15e-3**2
    time = np.linspace(0.1, 0.5, instants)
    return PressureHistory("patellofemoral", vertices, faces, time, 20e6 * time[:, None] * bell)


@pytest.mark.parametrize(
    ("normal", "across", "upward"),
    [(0, "right", "up"), (1, "right", "forward"), (2, "forward", "up")],
)
def test_the_bed_is_seen_along_its_normal(normal, across, upward):
    history = history_of(normal)
    with kept_figures() as figures:
        instants, largest = pressure_pictures(history)
    assert instants.text == "Pressure on the bed of patellofemoral at 8 instants"
    assert largest.text == "Largest pressure of each place of the bed of patellofemoral"
    several, one = ([axes for axes in figure.axes if axes.get_title("left")] for figure in figures)
    shown = [float(axes.get_title("left").split()[0]) for axes in several]
    assert_allclose(shown, history.time[[0, 3, 5, 8, 11, 14, 16, 19]], rtol=5e-3)
    assert one[0].get_title("left") == "largest over the walk"
    places = {"right": 2, "up": 1, "forward": 0}
    for axes in (several[-1], one[0]):
        assert axes.get_xlabel() == f"{across} [mm]"
        assert one[0].get_ylabel() == f"{upward} [mm]"
        triangles = axes.collections[0].get_paths()
        seen = np.concatenate([path.vertices for path in triangles])
        for column, name in enumerate((across, upward)):
            size = 1e3 * np.ptp(history.vertices[:, places[name]])
            assert_allclose(np.ptp(seen[:, column]), size, rtol=1e-12)


@pytest.fixture(scope="module")
def walk():
    plant = record()
    setup = SimpleNamespace(contacts=(contact(),), settings=settings())
    return setup, Comak(plant, setup.contacts, setup.settings).run(plant.start), plant


def error(plant, force):
    """Return an error by which the height needs another force [N]."""
    needed = np.zeros_like(plant.frames.needed)
    needed[:, 2] = force
    return MeasurementError(f"{force:g} N", "N", force, 0.1, 0.02, needed)


def test_peaks_move_as_in_a_walk_with_the_error(walk):
    setup, result, plant = walk
    errors = [error(plant, force) for force in (0.0, 3.0, 4.0)]
    found = walk_uncertainty(setup, result, plant, errors)
    none, some, _ = (each.percent["touch"] for each in found.errors.values())
    assert none["total"] == pytest.approx([0.0, 0.0], abs=1e-6)
    forces = np.array([[row[0].force[1] for row in result.loads]])
    frames = plant.frames._replace(needed=plant.frames.needed + errors[1].needed)
    other = Comak(replace(plant, frames=frames), setup.contacts, setup.settings).run(plant.start)
    at = forces.argmax()
    change = 100.0 * (other.loads[at][0].force[1] / forces.max() - 1.0)
    assert abs(change) > 0.5
    assert np.abs(np.array(some["total"]) - change).min() < 0.05 * abs(change)
    largest = [np.abs(e.percent["touch"]["medial"]).max() for e in found.errors.values()]
    assert found.percent["touch"]["medial"] == pytest.approx(np.linalg.norm(largest))
    assert "move the peaks by about ±" in uncertainty_text(found)[0]


FEMUR = "lenhart2015-R-femur-cartilage.stl"


@pytest.fixture(scope="module")
def jam_settings(jam_folder):
    return jam_folder / "examples/walking/inputs/comak_settings.xml"


@pytest.fixture(scope="module")
def done(jam_settings, jam_walk, knee_data, tmp_path_factory):
    """Return the folder of the first frames from OpenSim-JAM's own settings, recorded before."""
    folder = tmp_path_factory.mktemp("comak") / "out"
    recorded = f"--set=walk.replay={jam_walk / 'plant.npz'}"
    options = [f"--geometry={knee_data / 'jam_lenhart2015_knee'}", "--set=comak.stop_s=1.24"]
    options.append(recorded)
    assert main(["run", str(jam_settings), *options, "--out", str(folder), "--quiet"]) == 0
    return folder


def test_tables_agree_with_opensim_jam(done, jam_folder):
    """In its tables, three angles of the left leg are in radians."""
    in_radians = ("knee_flex_l", "ankle_flex_l", "subt_angle_l")
    wrong = {f"/jointset/{n[:-6] if 'subt' not in n else 'subtalar'}_l/{n}" for n in in_radians}
    for name, tolerance in (("values", 0.1), ("activation", 1e-2), ("force", 10.0)):
        found = read_motion_table(done / f"walking_{name}.sto")
        wanted = read_motion_table(
            jam_folder / f"examples/walking/results/comak/walking_{name}.sto"
        )
        for column in set(found.names) - set(in_radians):
            theirs = wanted.column(column)[: len(found.time)]
            # OpenSim-JAM's own optimum is poor at some instants, with reserves of up to 2.3 N.
            atol = 3.0 if column.endswith("_reserve") else tolerance
            assert_allclose(found.column(column), theirs, rtol=0.0, atol=atol, err_msg=column)
    found = read_motion_table(done / "walking_kinematics.sto")
    wanted = read_motion_table(jam_folder / "examples/walking/results/comak/walking_kinematics.sto")
    for column in found.names:
        path, _, kind = column.rpartition("/")
        if path in wrong:
            continue
        # A converged frame errs by up to 1 rad/s² = 57.3 deg/s², and that of OpenSim-JAM too.
        tolerance = {"value": 0.1, "speed": 10.0, "acc": 115.0}[kind]
        theirs = wanted.column(column)[: len(found.time)]
        assert_allclose(found.column(column), theirs, rtol=0.0, atol=tolerance, err_msg=column)


def test_meshes_are_found_by_the_parts_of_their_names(tmp_path):
    for name in ("A1-R-femur-cart.obj", "A1-R-femur-cart-coarse.stl", "A1-R-tibia-cart.obj"):
        (tmp_path / name).touch()
    with pytest.warns(UserWarning, match=r"A1-R-femur-cart\.obj is taken"):
        assert mesh_in(tmp_path, FEMUR).name == "A1-R-femur-cart.obj"
    with pytest.raises(InputError, match=r"expected the mesh patella\.stl, found A1-R-femur-cart"):
        mesh_in(tmp_path, "patella.stl")
    (tmp_path / "B2-R-femur-cart.stl").touch()
    with pytest.raises(InputError, match="expected the mesh lenhart2015-R-femur"):
        mesh_in(tmp_path, FEMUR)
    (tmp_path / FEMUR).touch()
    assert mesh_in(tmp_path, FEMUR).name == FEMUR
