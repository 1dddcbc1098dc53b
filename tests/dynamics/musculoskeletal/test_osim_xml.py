"""Booleans of OpenSim's XML files, as OpenSim reads them."""

import xml.etree.ElementTree as ET

import pytest

from dynamics.musculoskeletal.osim_xml import boolean_in, boolean_of
from foundation.base.errors import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("true", True), ("True", True), ("TRUE", True), ("1", True), (" true\n", True)),
        *(("false", False), ("False", False), ("0", False)),
    ],
)
def test_booleans_have_any_case_or_are_digits(text, expected):
    assert boolean_in("here", text) is expected


@pytest.mark.parametrize("text", ["", "yes", "2", "1.0", "true false"])
def test_other_texts_are_refused_by_their_place(text):
    with pytest.raises(InputError, match=r"^here: expected true or false, found "):
        boolean_in("here", text)


def test_a_child_without_text_has_the_default():
    element = ET.fromstring("<Force><applies/><on>1</on><off>maybe</off></Force>")
    assert boolean_of(element, "applies", "knee.osim, pull", True)
    assert not boolean_of(element, "none", "knee.osim, pull", False)
    assert boolean_of(element, "on", "knee.osim, pull", False)
    with pytest.raises(InputError, match=r"^knee\.osim, pull, off: expected true or false"):
        boolean_of(element, "off", "knee.osim, pull", True)
