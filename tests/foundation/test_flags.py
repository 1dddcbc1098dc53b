"""Flags of loads: values, and the texts that documents and tables hold."""

import re

import pytest

from foundation.base.flags import WORDINGS, Flag, FlagKind, worded

_BEYOND = "outside the trained domain, "
_NEAR = _BEYOND + "samples near this pose reach 1.23 times the largest trained {} force"
TEXTS = {
    FlagKind.PRESSED_THROUGH: (
        (1.5, 0.99),
        "strain 1.50 exceeds 0.99, the femur is pressed through the layer",
    ),
    FlagKind.STIFF_SPRINGS: (
        (0.49, 2.3),
        "independent springs of Poisson's ratio 0.49 are about 2.3 times too stiff on this patch; "
        'use law = "coupled" or finite elements, which let the layer flow aside',
    ),
    FlagKind.STEEP_SIDE: (
        (4.8, 3.2, 10.5, 6.7, 0.9),
        "the peak pressure is that of a spring at (4.8, 3.2, 10.5) mm of the tibial frame that "
        "runs 6.7 mm sideways through the femur, whose surface is 0.9 mm away: cut the edge or "
        "spike of the tibial mesh there off, or smooth it",
    ),
    FlagKind.THROUGH_WALL: (
        (4.9, 2.0),
        "an indentation of 4.9 mm exceeds the wall of the closed femur, 2 mm thick: use the "
        "bearing surface of the femur alone",
    ),
    FlagKind.END_OF_NODES: ((), "contact reaches the end of the compartment's nodes"),
    FlagKind.END_OF_FEMORAL_NODES: ((), "contact reaches the end of the femoral nodes"),
    FlagKind.RIM: ((), "contact reaches the rim, where the peak pressure has no limit"),
    FlagKind.UNRESOLVED_PEAK: (
        (4.0,),
        "the peak pressure is not resolved: the patch is narrower there than 4 node spacings "
        "(an edge, or a small patch)",
    ),
    FlagKind.FEMORAL_RIM: ((), "contact reaches the rim of the femoral layer"),
    FlagKind.COARSE_NODES: (
        (0.499, 0.75, 4.55, 12.4, 30.6),
        "Poisson's ratio 0.499 needs closer nodes: 0.75 mm apart on a patch of half width 4.5 mm, "
        "the force may be off by up to about 12 % and the area too small by 31 %; decrease the "
        "spacing of the nodes",
    ),
    FlagKind.LARGE_STRAIN: (
        (0.21, 0.14, 5.0),
        "strain 0.21 exceeds 0.14, where the peak pressure of linear elasticity may be off by more "
        "than 5 %",
    ),
    FlagKind.OUTSIDE_FLEXION: ((20.04,), _BEYOND + "flexion by 20 deg beyond"),
    FlagKind.OUTSIDE_ADDUCTION: ((1.5,), _BEYOND + "adduction by 1.5 deg beyond"),
    FlagKind.OUTSIDE_ROTATION: ((1234.0,), _BEYOND + "rotation by 1.23e+03 deg beyond"),
    FlagKind.OUTSIDE_ANTERIOR: ((0.25,), _BEYOND + "anterior by 0.25 mm beyond"),
    FlagKind.OUTSIDE_SUPERIOR: ((3.0,), _BEYOND + "superior by 3 mm beyond"),
    FlagKind.OUTSIDE_LATERAL: ((3.0,), _BEYOND + "lateral by 3 mm beyond"),
    FlagKind.OUTSIDE_LOAD: ((3200.4, 200.4), _BEYOND + "axial load of 3200 N, 200 N beyond"),
    FlagKind.OUTSIDE_AP_RATIO: (
        (0.512, 0.3),
        _BEYOND + "AP force over axial load of 0.51 (limit 0.3)",
    ),
    FlagKind.OUTSIDE_ML_RATIO: (
        (0.512, 0.3),
        _BEYOND + "ML force over axial load of 0.51 (limit 0.3)",
    ),
    FlagKind.OUTSIDE_PEAK_PRESSURE: (
        (70.04, 60.0),
        _BEYOND + "peak pressure of 70 MPa (limit 60 MPa)",
    ),
    FlagKind.OUTSIDE_AP_SAMPLES: ((1.234,), _NEAR.format("AP")),
    FlagKind.OUTSIDE_ML_SAMPLES: ((1.234,), _NEAR.format("ML")),
    FlagKind.OUTSIDE_ERRORS: (
        (2.0,),
        _BEYOND + "errors near this pose are 2 times the accepted error",
    ),
    FlagKind.OUTSIDE_TOO_FEW_SAMPLES: (
        (),
        _BEYOND + "errors near this pose cannot be judged: too few samples, and no pose is trusted",
    ),
    FlagKind.OUTSIDE_DESIGN: (
        (1.5,),
        _BEYOND + "errors expected of this design are up to 1.5 times the accepted errors",
    ),
}


def test_every_kind_has_a_wording():
    assert set(WORDINGS) == set(TEXTS) == set(FlagKind)


@pytest.mark.parametrize("kind", FlagKind)
def test_text_names_the_compartment_and_states_the_numbers(kind):
    values, text = TEXTS[kind]
    assert str(Flag(kind, "medial", values)) == f"medial: {text}"


@pytest.mark.parametrize("kind", FlagKind)
def test_text_without_numbers_is_that_of_all_flags_of_a_cause(kind):
    values, text = TEXTS[kind]
    expected = re.sub(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", "…", text)
    assert Flag(kind, "c2", values).without_numbers == f"c2: {expected}"


def test_flags_of_a_cause_differ_in_their_numbers():
    one, other = (Flag(FlagKind.OUTSIDE_LATERAL, "medial", (excess,)) for excess in (1.0, 2.0))
    assert one.cause == other.cause != Flag(FlagKind.OUTSIDE_LATERAL, "lateral", (1.0,)).cause
    assert len({one, other, Flag(FlagKind.OUTSIDE_LATERAL, "medial", (1.0,))}) == 2


def test_several_flags_are_one_text():
    flags = Flag(FlagKind.RIM, "medial"), Flag(FlagKind.FEMORAL_RIM, "lateral")
    assert worded(flags) == (
        "medial: contact reaches the rim, where the peak pressure has no limit; "
        "lateral: contact reaches the rim of the femoral layer"
    )
    assert worded(()) == ""
