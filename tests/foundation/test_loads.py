"""Loads of compartments and their totals, and the quantities of poses and loads."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import (
    AREA,
    AXIAL_FORCE,
    CENTRE,
    FORCE,
    LOAD_COLUMNS,
    MOMENT,
    PEAK_PRESSURE,
    WRENCH,
    CompartmentLoads,
    ContactLoads,
    check_names,
    total_loads,
)
from foundation.base.quantities import QUANTITIES

MEDIAL = np.array([10, 900, -5, 1.0, 0.5, -2.0, 2e-4, 9e6, 4.5e6, 1e-3, 2e-3, -22e-3])
LATERAL = np.array([-4, 300, 3, -0.5, 0.1, 1.0, 1e-4, 6e6, 3.0e6, 4e-3, 1e-3, 21e-3])
NOTE = Flag(FlagKind.RIM, "medial")
NOTHING = np.array([0.0] * 9 + [np.nan] * 3)


def test_total_of_two_compartments():
    loads = ContactLoads.from_compartments(MEDIAL, LATERAL, (NOTE,))
    assert_allclose(loads.wrench, [6, 1200, -2, 0.5, 0.6, -1.0], rtol=1e-15, atol=0.0)
    assert_allclose(loads.area, 3e-4, rtol=1e-15)
    assert_allclose(loads.peak_pressure, 9e6, rtol=0.0)
    # Areas 2:1 with pressures 4.5:3, hence a mean of 4 and carried loads of 3:1.
    assert_allclose(loads.mean_pressure, 4e6, rtol=1e-15)
    expected = 0.75 * MEDIAL[9:] + 0.25 * LATERAL[9:]
    assert_allclose(loads.centre_of_pressure, expected, rtol=1e-14)
    assert loads.flags == (NOTE,)


def test_no_contact_has_no_centre_and_no_load():
    total = ContactLoads.from_compartments(NOTHING, NOTHING).total
    assert_allclose(total.array[:9], 0.0, rtol=0.0, atol=0.0)
    assert np.isnan(total.centre_of_pressure).all()


def test_arrays_are_copied_and_read_only():
    force = np.array([1.0, 2.0, 3.0])
    loads = CompartmentLoads(force, np.zeros(3), 0.0, 0.0, 0.0, np.zeros(3))
    force[0] = 9.0
    assert loads.force[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        loads.force[0] = 9.0


@pytest.mark.parametrize(
    ("column", "value", "name"),
    [
        (AXIAL_FORCE, np.inf, "loads"),
        (AXIAL_FORCE, np.nan, "force"),
        (AREA, np.nan, "area"),
        (PEAK_PRESSURE, np.nan, "peak_pressure"),
    ],
)
def test_loads_that_are_not_finite_are_refused(column, value, name):
    values = MEDIAL.copy()
    values[column] = value
    with pytest.raises(ValueError, match=name):
        CompartmentLoads.from_array(values)


def test_totals_of_many_are_those_of_each():
    pairs = [(MEDIAL, LATERAL), (NOTHING, LATERAL), (MEDIAL, NOTHING), (NOTHING, NOTHING)]
    expected = [ContactLoads.from_compartments(*pair).total.array for pair in pairs]
    assert_allclose(total_loads(np.array(pairs)), expected, rtol=1e-14)


# Contact pairs of other compartments than two.


def test_one_named_compartment_is_its_own_total():
    loads = ContactLoads.from_compartments({"patellofemoral": MEDIAL}, flags=(NOTE,))
    assert loads.compartments == ("patellofemoral",)
    np.testing.assert_array_equal(loads["patellofemoral"].array, MEDIAL)
    np.testing.assert_array_equal(loads.patellofemoral.array, MEDIAL)
    assert_allclose(loads.total.array, MEDIAL, rtol=1e-15)
    assert loads.flags == (NOTE,)
    with pytest.raises(AttributeError, match="medial"):
        _ = loads.medial
    with pytest.raises(InputError, match=r"compartment: .*patellofemoral.*'medial'"):
        _ = loads["medial"]


def test_three_compartments_add_up():
    """A compartment out of contact changes nothing, so that the total is that of the other two."""
    names = ("anterior", "posterior", "apex")
    loads = ContactLoads.from_values([MEDIAL, NOTHING, LATERAL], names)
    two = ContactLoads.from_compartments(MEDIAL, LATERAL).total.array
    assert_allclose(loads.total.array, two, rtol=1e-15)
    assert_allclose(loads["total"].array, two, rtol=1e-15)
    np.testing.assert_array_equal(loads.values, [MEDIAL, NOTHING, LATERAL])
    assert_allclose(total_loads(loads.values[None])[0], two, rtol=1e-14)
    assert "apex=CompartmentLoads" in repr(loads)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (ContactLoads.from_values, ([MEDIAL, LATERAL], ("apex",)), r"of 1 compartments \(apex\)"),
        (ContactLoads.from_compartments, ({"apex": MEDIAL}, LATERAL), "lateral: expected None"),
        (ContactLoads.from_compartments, (MEDIAL,), "loads of the lateral compartment"),
    ],
)
def test_loads_that_do_not_suit_the_names_are_refused(make, arguments, message):
    with pytest.raises(InputError, match=message):
        make(*arguments)


@pytest.mark.parametrize(
    "names", [(), ("a", "a"), ("total",), ("area",), ("left side",), ("2nd",), ("",)]
)
def test_names_that_are_no_names_are_refused(names):
    with pytest.raises(InputError, match="compartment_names: expected one or more distinct names"):
        check_names(names)


#: SI unit in a column's name -> unit for people in a column's name, and the factor.
FOR_PEOPLE = {
    "rad": ("deg", 180.0 / np.pi),
    "m": ("mm", 1e3),
    "N": ("N", 1.0),
    "Nm": ("Nmm", 1e3),
    "m2": ("mm2", 1e6),
    "Pa": ("MPa", 1e-6),
}


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


def test_array_round_trip_in_the_order_of_the_columns():
    loads = CompartmentLoads.from_array(MEDIAL)
    assert_allclose(loads.array, MEDIAL, rtol=0.0, atol=0.0)
    table = dict(zip(LOAD_COLUMNS, loads.array, strict=True))
    assert table["force_y_N"] == loads.force[1] == MEDIAL[AXIAL_FORCE]
    assert table["moment_z_Nm"] == loads.moment[2]
    assert table["area_m2"] == loads.area == MEDIAL[AREA]
    assert table["peak_pressure_Pa"] == loads.peak_pressure == MEDIAL[PEAK_PRESSURE]
    assert table["mean_pressure_Pa"] == loads.mean_pressure
    assert table["cop_z_m"] == loads.centre_of_pressure[2]
    for part, place in ((loads.force, FORCE), (loads.moment, MOMENT), (loads.wrench, WRENCH)):
        assert_allclose(part, MEDIAL[place], rtol=0.0, atol=0.0)
    assert_allclose(loads.centre_of_pressure, MEDIAL[CENTRE], rtol=0.0, atol=0.0)
