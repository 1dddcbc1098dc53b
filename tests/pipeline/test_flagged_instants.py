"""The sentence on flagged instants at the end of a command."""

import pytest

from pipeline.flagged_instants import flagged_sentence

_HEAD = "medial: outside the trained domain, "


@pytest.mark.parametrize(
    ("message", "step"),
    [
        (_HEAD + "adduction by 0.3 deg beyond", "widen space.adduction_deg in"),
        (_HEAD + "anterior by 2 mm beyond", "widen space.anterior_mm in"),
        (_HEAD + "axial load of 3200 N, 200 N beyond", "widen space.load_N in"),
        (_HEAD + "AP force over axial load of 0.5 (limit 0.3)", "widen feasibility.ap_ratio in"),
        (
            _HEAD + "samples near this pose reach 2 times the largest trained ML force",
            "ml_ratio in",
        ),
        (_HEAD + "peak pressure of 70 MPa (limit 60 MPa)", "feasibility.peak_pressure_MPa"),
        (_HEAD + "errors near this pose are 2 times the accepted error", "design.budget"),
        (_HEAD + "of another kind", "see the flags"),
    ],
)
def test_sentence_counts_instants_and_names_the_key(message, step):
    told = flagged_sentence(84, 101, [message])
    assert told.startswith("84 of 101 instants are outside the trained domain: do not trust")
    assert step in told


def test_several_keys_are_named_once_and_in_order():
    messages = [_HEAD + "lateral by 1 mm beyond", _HEAD + "rotation by 3 deg beyond"] * 2
    assert "widen space.rotation_deg, space.lateral_mm in" in flagged_sentence(2, 9, messages)


def test_other_flags_name_no_key_and_no_flag_says_nothing():
    told = flagged_sentence(1, 9, ["strain of 40 %"], "frames")
    assert told == "1 of 9 frames have flags: do not trust the results there; see the flags"
    assert flagged_sentence(0, 9, []) is None
