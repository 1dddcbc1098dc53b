"""Results of walks, and walks from OpenSim-JAM's settings."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import kept_figures

from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal.plant import SimulatedFrames
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import ContactLoads
from pipeline.studies.muscle_walks.frames import contact_flags
from pipeline.studies.muscle_walks.walk import pressure_pictures


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
    return "patellofemoral", (vertices, faces), time, 20e6 * time[:, None] * bell


@pytest.mark.parametrize(
    ("normal", "across", "upward"),
    [(0, "right", "up"), (1, "right", "forward"), (2, "forward", "up")],
)
def test_the_bed_is_seen_along_its_normal(normal, across, upward):
    name, bed, time, values = history_of(normal)
    with kept_figures() as figures:
        instants, largest = pressure_pictures(name, bed, time, values)
    assert instants.text == "Pressure on the bed of patellofemoral at 8 instants"
    assert largest.text == "Largest pressure of each place of the bed of patellofemoral"
    several, one = ([axes for axes in figure.axes if axes.get_title("left")] for figure in figures)
    shown = [float(axes.get_title("left").split()[0]) for axes in several]
    assert_allclose(shown, time[[0, 3, 5, 8, 11, 14, 16, 19]], rtol=5e-3)
    assert one[0].get_title("left") == "largest over the walk"
    places = {"right": 2, "up": 1, "forward": 0}
    for axes in (several[-1], one[0]):
        assert axes.get_xlabel() == f"{across} [mm]"
        assert one[0].get_ylabel() == f"{upward} [mm]"
        triangles = axes.collections[0].get_paths()
        seen = np.concatenate([path.vertices for path in triangles])
        for column, name in enumerate((across, upward)):
            size = 1e3 * np.ptp(bed[0][:, places[name]])
            assert_allclose(np.ptp(seen[:, column]), size, rtol=1e-12)


def test_tables_agree_with_opensim_jam(jam_walk, jam_folder):
    results = jam_folder / "examples/walking/results/comak"
    activations = read_motion_table(results / "walking_activation.sto")
    forces = read_motion_table(results / "walking_force.sto")
    states, found = (read_motion_table(jam_walk / f"{name}.sto") for name in ("states", "forces"))
    rows = slice(len(found.time))
    for name in found.names:
        if (column := f"/forceset/{name}") in forces.names:
            # OpenSim-JAM's own optimum is poor at some instants, with reserves of up to 2.3 N.
            atol = 3.0 if name.endswith("_reserve") else 10.0
            theirs = forces.column(column)[rows]
            assert_allclose(found.column(name), theirs, rtol=0.0, atol=atol, err_msg=name)
        if (column := f"/forceset/{name}/activation") in states.names:
            theirs = activations.column(f"/forceset/{name}")[rows]
            assert_allclose(states.column(column), theirs, rtol=0.0, atol=1e-2, err_msg=name)
    values = read_motion_table(results / "walking_values.sto")
    motion = read_motion_table(jam_walk / "kinematics.mot")
    # In the table of values, three angles of the left leg are in radians.
    for column in {*motion.names} - {"knee_flex_l", "ankle_flex_l", "subt_angle_l"}:
        theirs = values.column(column)[: len(motion.time)]
        assert_allclose(motion.column(column), theirs, rtol=0.0, atol=0.1, err_msg=column)
