"""Pictures of the pressure on a bed over a walk."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import kept_figures

from pipeline.studies.muscle_walks.pressures import PressureHistory, pressure_pictures


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


def test_short_walks_show_each_instant():
    with kept_figures() as figures:
        pressure_pictures(history_of(1, instants=3))
    titles = [axes.get_title("left") for axes in figures[0].axes]
    assert [title for title in titles if title] == ["0.1 s", "0.3 s", "0.5 s"]
