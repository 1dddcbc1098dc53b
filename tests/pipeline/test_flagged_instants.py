"""The sentence on flagged instants at the end of a command, and kinds of flags in tables."""

import pytest

from foundation.base.flags import FlagKind
from pipeline.flagged_instants import flagged_sentence, joined_kinds, kinds_of


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        (FlagKind.OUTSIDE_FLEXION, "widen space.flexion_deg in"),
        (FlagKind.OUTSIDE_AP_RATIO, "widen feasibility.ap_ratio in"),
        (FlagKind.OUTSIDE_DESIGN, "train with more designs (design_space.designs)"),
    ],
)
def test_sentence_counts_instants_and_names_the_key(kind, step):
    told = flagged_sentence(84, 101, [kind])
    assert told.startswith("84 of 101 instants are outside the trained domain: do not trust")
    assert step in told


def test_several_keys_are_named_once_and_in_order():
    kinds = [FlagKind.OUTSIDE_LATERAL, FlagKind.OUTSIDE_ROTATION] * 2
    assert "widen space.rotation_deg, space.lateral_mm in" in flagged_sentence(2, 9, kinds)
    kinds = [FlagKind.OUTSIDE_AP_SAMPLES, FlagKind.OUTSIDE_AP_RATIO, FlagKind.OUTSIDE_ERRORS]
    told = flagged_sentence(2, 9, kinds)
    assert "widen feasibility.ap_ratio in" in told
    assert told.endswith(", and train with more samples (design.budget)")


@pytest.mark.parametrize("kind", [kind for kind in FlagKind if kind.startswith("outside_")])
def test_every_kind_of_a_surrogate_has_a_remedy(kind):
    no_key = {
        FlagKind.OUTSIDE_SUPERIOR,  # far above contact, as in another unit
    }
    assert ("see the flags" in flagged_sentence(1, 9, [kind])) == (kind in no_key)


def test_other_flags_name_no_key_and_no_flag_says_nothing():
    told = flagged_sentence(1, 9, [FlagKind.LARGE_STRAIN], "frames")
    assert told == "1 of 9 frames have flags: do not trust the results there; see the flags"
    assert flagged_sentence(0, 9, []) is None


def test_kinds_of_a_column_are_those_that_were_joined():
    rows = [[FlagKind.RIM, FlagKind.LARGE_STRAIN, FlagKind.RIM], [], [FlagKind.OUTSIDE_LOAD]]
    column = [joined_kinds(row) for row in rows]
    assert column == ["rim; large_strain", "", "outside_load"]
    assert kinds_of(column) == {FlagKind.RIM, FlagKind.LARGE_STRAIN, FlagKind.OUTSIDE_LOAD}
