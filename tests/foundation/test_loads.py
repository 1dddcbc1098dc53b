"""Loads of compartments and their totals, and the quantities of poses and loads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import (
    AREA,
    AXIAL_FORCE,
    LOAD_COLUMNS,
    PEAK_PRESSURE,
    WRENCH,
    CompartmentLoads,
    ContactLoads,
    check_names,
)
from foundation.base.quantities import QUANTITIES

MEDIAL = np.array([10, 900, -5, 1.0, 0.5, -2.0, 2e-4, 9e6, 4.5e6, 1e-3, 2e-3, -22e-3])
LATERAL = np.array([-4, 300, 3, -0.5, 0.1, 1.0, 1e-4, 6e6, 3.0e6, 4e-3, 1e-3, 21e-3])
NOTE = Flag(FlagKind.RIM, "medial")
NOTHING = np.array([0.0] * 9 + [np.nan] * 3)


def test_total_of_two_compartments():
    loads = ContactLoads([MEDIAL, LATERAL], flags=(NOTE,))
    assert_allclose(loads.wrench, [6, 1200, -2, 0.5, 0.6, -1.0], rtol=1e-15, atol=0.0)
    assert_allclose(loads.area, 3e-4, rtol=1e-15)
    assert_allclose(loads.peak_pressure, 9e6, rtol=0.0)
    # Areas 2:1 with pressures 4.5:3, hence a mean of 4 and carried loads of 3:1.
    assert_allclose(loads.mean_pressure, 4e6, rtol=1e-15)
    expected = 0.75 * MEDIAL[9:] + 0.25 * LATERAL[9:]
    assert_allclose(loads.centre_of_pressure, expected, rtol=1e-14)
    assert loads.flags == (NOTE,)


def test_no_contact_has_no_centre_and_no_load():
    total = ContactLoads([NOTHING, NOTHING]).total
    assert_allclose(total.array[:9], 0.0, rtol=0.0, atol=0.0)
    assert np.isnan(total.centre_of_pressure).all()


def test_arrays_are_copied_and_read_only():
    values = MEDIAL.copy()
    loads = CompartmentLoads(values)
    values[0] = 9.0
    assert loads.force[0] == MEDIAL[0]
    with pytest.raises(ValueError, match="read-only"):
        loads.force[0] = 9.0


@pytest.mark.parametrize(
    ("column", "value", "name"),
    [
        (AXIAL_FORCE, np.inf, "loads"),
        (AXIAL_FORCE, np.nan, "wrench"),
        (AREA, np.nan, "area"),
        (PEAK_PRESSURE, np.nan, "area and pressures"),
    ],
)
def test_loads_that_are_not_finite_are_refused(column, value, name):
    values = MEDIAL.copy()
    values[column] = value
    with pytest.raises(ValueError, match=name):
        CompartmentLoads(values)


# Contact pairs of other compartments than two.


def test_one_named_compartment_is_its_own_total():
    loads = ContactLoads([MEDIAL], ("patellofemoral",), (NOTE,))
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
    loads = ContactLoads([MEDIAL, NOTHING, LATERAL], names)
    two = ContactLoads([MEDIAL, LATERAL]).array
    assert_allclose(loads.total.array, two, rtol=1e-15)
    assert_allclose(loads["total"].array, two, rtol=1e-15)
    np.testing.assert_array_equal(loads.values, [MEDIAL, NOTHING, LATERAL])
    assert repr(loads) == "<ContactLoads anterior, posterior, apex>"


def test_many_poses_have_a_leading_axis_and_the_quantities_of_each():
    pairs = [(MEDIAL, LATERAL), (NOTHING, LATERAL), (MEDIAL, NOTHING), (NOTHING, NOTHING)]
    values, jacobian = np.array(pairs), np.arange(288.0).reshape(4, 2, 6, 6)
    loads = ContactLoads(values, flags=((NOTE,), (), (), ()), derivatives=(jacobian,))
    each = [ContactLoads(values[k], derivatives=(jacobian[k],)) for k in range(4)]
    for name in ("array", "force", "wrench", "area", "centre_of_pressure", "total_jacobian"):
        assert_allclose(getattr(loads, name), [getattr(one, name) for one in each], rtol=1e-14)
    np.testing.assert_array_equal(loads["medial"].peak_pressure, values[:, 0, PEAK_PRESSURE])
    np.testing.assert_array_equal(loads.lateral.jacobian, jacobian[:, 1])
    np.testing.assert_array_equal(loads.total.jacobian, loads.total_jacobian)
    table = loads.to_frame()
    assert table["flagged"].tolist() == [1.0, 0.0, 0.0, 0.0]
    np.testing.assert_array_equal(table["total_area_m2"], loads.area)
    assert len(each[0].to_frame()) == 1


def test_a_wrench_alone_is_the_load_of_one_compartment():
    loads = ContactLoads.from_wrench(MEDIAL[WRENCH], np.eye(6), flags=(NOTE,))
    np.testing.assert_array_equal(loads.wrench, MEDIAL[WRENCH])
    np.testing.assert_array_equal(loads.total_jacobian, np.eye(6))
    assert loads.compartments == ("knee",)
    assert loads.peak_pressure == 0.0
    assert np.isnan(loads.centre_of_pressure).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ContactLoads([MEDIAL, LATERAL], ("apex",)), r"of 1 compartments \(apex\)"),
        (lambda: ContactLoads([MEDIAL]), r"of 2 compartments \(medial, lateral\), found shape"),
        (lambda: ContactLoads([MEDIAL, LATERAL]).jacobian, r"ask for loads\(pose, order=1\)"),
        (lambda: ContactLoads.from_wrench(MEDIAL), "wrench: expected shape"),
    ],
)
def test_loads_that_are_not_known_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


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


def test_quantities_have_the_places_of_the_columns():
    loads = CompartmentLoads(MEDIAL)
    parts = (loads.wrench, loads.area, loads.peak_pressure, loads.mean_pressure)
    np.testing.assert_array_equal(np.hstack([*parts, loads.centre_of_pressure]), MEDIAL)
    row = ContactLoads([MEDIAL], ("medial",)).to_frame().iloc[0]
    names = [f"medial_{name}" for name in LOAD_COLUMNS]
    np.testing.assert_array_equal(row[names].to_numpy(float), MEDIAL)
    np.testing.assert_array_equal(np.hstack([loads.force, loads.moment]), loads.wrench)
