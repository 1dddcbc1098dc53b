"""Values that are replaced in the text of a configuration."""

from __future__ import annotations

import tomllib

import pytest

from foundation.base.errors import InputError
from pipeline.preparation.written_keys import with_values

TEXT = """# mine
[knee]
side = "right"  # of the patient

[knee.femur]
# a comment
file = "f.stl"
axes = ["x", "y", "z"]
origin_mm = [0, 0, 0]

[contact]
law = "linear"
"""


def test_values_are_replaced_and_other_lines_stay():
    changed = with_values(
        TEXT,
        {
            "knee": {"side": "left"},
            "knee.femur": {"axes": ["-x", "y", "-z"], "rotation_deg": [1.5, 0.0, 0.0]},
            "knee.tibia": {"origin_mm": [1.0, 2.0, 3.0]},
        },
    )
    tree = tomllib.loads(changed)
    assert tree["knee"]["side"] == "left"
    assert tree["knee"]["femur"] == {
        **{"file": "f.stl", "axes": ["-x", "y", "-z"], "origin_mm": [0, 0, 0]},
        "rotation_deg": [1.5, 0.0, 0.0],
    }
    assert tree["knee"]["tibia"] == {"origin_mm": [1.0, 2.0, 3.0]}
    assert {"# mine", "# a comment", 'law = "linear"'} <= set(changed.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        '[knee]\nside = "right"\nfemur = { file = "f.stl" }\n',
        '[knee]\nside = "right"\nfemur.file = "f.stl"\n',
        '[knee]\nside = "right"\n[knee.femur]\naxes = [\n  "x",\n  "y",\n  "z",\n]\n',
    ],
)
def test_text_of_another_form_is_refused_whole(text):
    with pytest.raises(InputError, match="copy the lines that `knee-contact align` prints"):
        with_values(text, {"knee.femur": {"axes": ["-x", "y", "-z"]}})
