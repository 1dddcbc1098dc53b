"""Properties and functions of OpenSim's XML files, as OpenSim reads them."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from dynamics.musculoskeletal.osim_xml import (
    ObjectTable,
    OsimObject,
    Property,
    read_apart,
    read_function,
    read_object,
)
from foundation.base.errors import InputError

READERS = {
    "boolean": (OsimObject.boolean, True),
    "number": (OsimObject.number, 2.0),
    "integer": (OsimObject.integer, 3),
    "numbers": (OsimObject.numbers, (1.0, 2.0)),
    "any": (OsimObject.numbers, ()),
    "optional": (OsimObject.optional, -1.0),
    "radians": (OsimObject.radians, 90.0),
    "path": (OsimObject.path, None),
    "names": (OsimObject.names, ()),
    "last_name": (OsimObject.last_name, ""),
}


def found_in(text):
    return OsimObject(ET.fromstring(text), Path("/in/knee.osim"), "knee.osim, pull")


def read(kind, text):
    """Return what a reader finds in the property `it`, or its default without the property."""
    reader, default = READERS[kind]
    return reader(found_in("<F/>" if text is None else f"<F><it>{text}</it></F>"), "it", default)


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        *(("boolean", text, True) for text in ("true", "True", "TRUE", "1", " true\n", "", None)),
        *(("boolean", text, False) for text in ("false", "False", "0")),
        *(("number", " 1e-3 ", 1e-3), ("number", None, 2.0), ("number", "", 2.0)),
        *(("integer", "7.0", 7), ("integer", None, 3)),
        *(("numbers", "3 -4", [3.0, -4.0]), ("numbers", None, [1.0, 2.0])),
        *(("any", "1 2 3", [1.0, 2.0, 3.0]), ("any", None, [])),
        *(("optional", "-1", None), ("optional", "0.5", 0.5), ("optional", None, None)),
        *(("radians", "180", np.pi), ("radians", None, 0.5 * np.pi)),
        *(("path", "Unassigned", None), ("path", None, None)),
        ("path", "..\\loads.xml", Path("/loads.xml")),
        ("names", "/jointset/a/px\n py", ("px", "py")),
        ("last_name", "/jointset/knee/ty ", "ty"),
    ],
)
def test_properties_have_the_values_of_opensim_or_the_default(kind, text, wanted):
    np.testing.assert_equal(read(kind, text), wanted)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        *(("boolean", text, "true or false") for text in ("yes", "2", "1.0", "true false")),
        *(("number", text, "a number") for text in ("soft", "1 2", "nan", "inf")),
        *(("numbers", text, "2 numbers") for text in ("1", "1 2 3", "1 x", "1 inf")),
        *(("any", text, "numbers") for text in ("1 x", "nan")),
        ("optional", "fast", "a number"),
    ],
)
def test_other_texts_are_refused_with_file_object_and_property(kind, text, told):
    with pytest.raises(InputError) as caught:
        read(kind, text)
    assert str(caught.value) == f"knee.osim, pull, it: expected {told}, found {text!r}"


def test_a_table_gives_fields_and_unknown_tags():
    table = ObjectTable(
        "F",
        (Property("a", "first", OsimObject.number, 1.0, "[m]"), *read_apart(b="apart")),
        details=frozenset({"c"}),
        not_done=frozenset({"d"}),
    )
    found = found_in("<F><a>4</a><b/><c/><d/><e/></F>")
    assert found.read(table.properties) == {"first": 4.0}
    assert table.unknown(found) == ["e"]


def test_members_of_a_set_have_the_defaults_of_its_owner():
    found = found_in(
        "<M><defaults><B><x>1</x></B></defaults><S><objects><B name='p'><x>2</x></B><B name='q'/>"
        "<C/></objects></S></M>"
    )
    assert [(b.name, b.number("x", 0.0)) for b in found.objects("S", "B")] == [
        ("p", 2.0),
        ("q", 1.0),
    ]
    assert [b.where for b in found.objects("S")] == [f"knee.osim, {n}" for n in ("p", "q", "C")]


@pytest.mark.parametrize(
    ("text", "line", "at"),
    [
        ("<Constant><value>3</value></Constant>", (0.0, 3.0), 3.0),
        ("<LinearFunction><coefficients>2 1</coefficients></LinearFunction>", (2.0, 1.0), 2.0),
        ("<PolynomialFunction><coefficients>4 2 1</coefficients></PolynomialFunction>", None, 3.0),
        ("<SimmSpline><x>0 1</x><y>0 4</y></SimmSpline>", None, 2.0),
        ("<PiecewiseLinearFunction><x>0 1</x><y>0 4</y></PiecewiseLinearFunction>", None, 2.0),
        ("<MultiplierFunction><scale>3</scale><function><LinearFunction><coefficients>2 1"
         "</coefficients></LinearFunction></function></MultiplierFunction>", (6.0, 3.0), 6.0),
        ("<Sine><amplitude>4</amplitude></Sine>", None, 0.0),
    ],
)  # fmt: skip
def test_functions_have_values_and_lines(text, line, at):
    function = read_function(found_in(text))
    assert function.line == line
    assert function.at(0.5) == at


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, r"no such file; check the path of the settings"),
        ("<a>", "expected XML"),
        ("<D><Other/></D>", "expected settings of a Tool, found Other"),
    ],
)
def test_files_that_cannot_be_read_are_named(edited, tmp_path, text, told):
    path = tmp_path / "none.xml" if text is None else edited(text)
    with pytest.raises(InputError, match=told):
        read_object(path, "settings", "Tool")
