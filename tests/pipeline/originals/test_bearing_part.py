"""Rounded edge of a tibial shell: left out, counted, drawn."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from solids import closed_insert, rounded_disc

from foundation.anatomy.bearing_surface import tibial_bearing
from pipeline.originals.bearing_part import BearingPart, bearing_part
from pipeline.preparation.alignment_picture import draw_alignment


def test_rounded_edge_of_a_tibia_is_left_out_and_counted():
    disc, _ = rounded_disc(15e-3, 1.2e-3)
    part, wall = bearing_part(disc, "tibia"), tibial_bearing(disc)
    assert part.edge is not None
    assert len(part.mesh.faces) + len(part.edge.faces) == len(wall.faces)
    np.testing.assert_allclose(part.mesh.areas.sum() + part.edge.areas.sum(), wall.areas.sum())
    edge = f"in {len(part.edge.faces):,} triangles of the rounded edge, with no inner wall opposite"
    assert edge in part.words
    others = len(disc.faces) - len(wall.faces)
    assert f"in {others:,} triangles that face elsewhere" in part.words


def test_insert_has_no_rounded_edge():
    solid, _ = closed_insert()
    part = bearing_part(solid, "tibia")
    assert part.edge is None
    assert "rounded edge" not in part.words
    np.testing.assert_array_equal(part.mesh.centroids, tibial_bearing(solid).centroids)


def test_picture_shows_the_edge_and_a_cross(tmp_path, monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    disc, _ = rounded_disc(15e-3, 1.2e-3)
    femur = closed_insert()[0]
    parts = {"femur": BearingPart(femur, femur), "tibia": bearing_part(disc, "tibia")}
    draw_alignment(tmp_path / "knee.png", {"right knee": parts}, np.array([1e-3, 2e-3, 3e-3]))
    (figure,) = figures
    for axes in figure.axes:
        (surfaces,) = axes.collections
        reds = surfaces.get_facecolor()
        assert (reds[:, 0] > 3.0 * reds[:, 1]).any()
        crosses = [line for line in axes.lines if line.get_marker() == "x"]
        assert len(crosses) == 1
    front = figure.axes[0]
    cross = next(line for line in front.lines if line.get_marker() == "x")
    np.testing.assert_allclose([cross.get_xdata()[0], cross.get_ydata()[0]], [-3.0, 2.0])
