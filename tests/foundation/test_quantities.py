"""The quantities of poses and loads: one table of names, units and factors."""

from __future__ import annotations

import numpy as np
import pytest

from foundation.base.loads import LOAD_COLUMNS
from foundation.base.pose import POSE_COLUMNS
from foundation.base.quantities import QUANTITIES

#: SI unit in a column's name -> unit for people in a column's name, and the factor.
FOR_PEOPLE = {
    "rad": ("deg", 180.0 / np.pi),
    "m": ("mm", 1e3),
    "N": ("N", 1.0),
    "Nm": ("Nmm", 1e3),
    "m2": ("mm2", 1e6),
    "Pa": ("MPa", 1e-6),
}


def test_each_column_of_poses_and_loads_has_a_quantity():
    assert tuple(QUANTITIES) == (*POSE_COLUMNS, *LOAD_COLUMNS)


@pytest.mark.parametrize("column", QUANTITIES)
def test_units_for_people(column):
    quantity = QUANTITIES[column]
    name, _, unit = column.rpartition("_")
    token, factor = FOR_PEOPLE[unit]
    assert (quantity.name, quantity.column_for_people) == (name, f"{name}_{token}")
    np.testing.assert_allclose(quantity.for_people([0.5, -2.0]), [0.5 * factor, -2.0 * factor])


def test_text_for_people():
    assert QUANTITIES["flexion_rad"].text(np.pi / 6.0) == "30.0 °"
    assert QUANTITIES["peak_pressure_Pa"].text(12.346e6) == "12.35 MPa"
    assert QUANTITIES["moment_x_Nm"].text(-0.0123) == "-12 N·mm"
