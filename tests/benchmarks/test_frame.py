"""The frame of the benchmarks: cells in units, tables, the command."""

import importlib
import pkgutil

import pytest

import benchmarks
from benchmarks.frame import alike, measured, shown
from benchmarks.peers import Measured, time_to_error


@pytest.mark.parametrize(
    ("cell", "name", "form", "text"),
    [
        (2e-3, "edge [mm]", "g", "2"),
        (0.0123, "error [%]", "+.1f", "+1.2"),
        (0.5, "RMS [% of the largest]", ".0f", "50"),
        ((1e-6, 2e-6), "departure [µm]", "{:.0f} / {:.1f}", "1 / 2.0"),
        (0.5236, "rotation [deg]", ".0f", "30"),
        (9636, "triangles", "d", "9636"),
        ("no flag", "force [%]", ".1f", "no flag"),
        (None, "force [%]", ".1f", ""),
    ],
)
def test_a_cell_shows_si_values_in_the_unit_of_its_column(cell, name, form, text):
    assert shown(cell, name, form) == text


@measured("Edges", {"knee": "", **alike(("edge [mm]", "gap [mm]"), ".1f")})
def edges(*knees):
    for name in knees:
        yield name, 1e-3, None


def test_rows_become_a_table():
    table = edges("left", "right")
    assert table.rows == [("left", 1e-3, None), ("right", 1e-3, None)]
    assert str(table).splitlines() == [
        "### Edges",
        "",
        "| knee | edge [mm] | gap [mm] |",
        "|---|---|---|",
        "| left | 1.0 |  |",
        "| right | 1.0 |  |",
    ]


def test_time_to_error_interpolates_the_logarithms():
    rows = [Measured("x", (1, 1), 1e-3 * 4.0**k, 0.1 / 4.0**k) for k in range(3)]
    assert time_to_error(rows, 0.05) == pytest.approx(2e-3, rel=1e-12)
    assert time_to_error(rows, 0.2) == 1e-3
    assert time_to_error(rows, 1e-3) is None


def test_every_benchmark_can_be_imported():
    """Types of benchmarks are not checked; other engines are left out."""
    left_out = ("hydroelastic", "simbody")
    for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."):
        if not module.name.endswith(left_out):
            importlib.import_module(module.name)
