"""Flags of loads: values, and their wordings."""

import pytest

from foundation.base.flags import WORDINGS, Flag, FlagKind, worded

#: As many values as any kind of flag has.
VALUES = (1.5, 0.25, 33.0, 4.75, 12.5)


@pytest.mark.parametrize("kind", FlagKind)
def test_text_names_the_compartment_and_states_the_numbers(kind):
    places = WORDINGS[kind].count("{")
    flag = Flag(kind, "c2", VALUES[:places])
    assert str(flag).startswith("c2: ")
    # All flags of a cause have one text without the numbers.
    assert flag.without_numbers.count("…") == places
    assert flag.without_numbers == Flag(kind, "c2").without_numbers
    for value in VALUES[: min(places, 1)]:
        assert any(form in str(flag) for form in (f"{value:g}", f"{value:.0f}", f"{value:.2f}"))


def test_flags_of_a_cause_differ_in_their_numbers():
    one, other = (Flag(FlagKind.OUTSIDE_LATERAL, "medial", (excess,)) for excess in (1.0, 2.0))
    assert one.cause == other.cause != Flag(FlagKind.OUTSIDE_LATERAL, "lateral", (1.0,)).cause
    assert len({one, other, Flag(FlagKind.OUTSIDE_LATERAL, "medial", (1.0,))}) == 2


def test_several_flags_are_one_text():
    flags = Flag(FlagKind.RIM, "medial"), Flag(FlagKind.FEMORAL_RIM, "lateral")
    assert worded(flags) == "; ".join(map(str, flags))
    assert worded(()) == ""
