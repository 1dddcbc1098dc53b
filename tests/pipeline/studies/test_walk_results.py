"""Flags, pictures of pressures and uncertainty of a walk, from made results."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import kept_figures

from dynamics.musculoskeletal import Comak, SimulatedFrames
from dynamics.musculoskeletal.measurement_errors import MeasurementError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import ContactLoads
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
