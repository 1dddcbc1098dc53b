"""The error in print of Machado et al. (2010), by hand."""

from __future__ import annotations

import math

import pytest

from benchmarks.literature import machado

#: Attachments on femur and tibia and rest length [m], as printed.
PRINTED = {
    "MCL": ((-0.023, -0.014), (0.163, 0.008), 0.0784),
    "LCL": ((-0.025, -0.019), (0.178, 0.025), 0.0562),
    "ACL": ((-0.033, -0.017), (0.213, -0.009), 0.0438),
    "PCL": ((-0.019, -0.014), (0.210, 0.035), 0.0332),
}


def test_rest_lengths_follow_with_the_femur_at_0_and_not_at_90_degrees():
    tibia = complex(-0.2016, -0.1749)
    shaft = complex(math.cos(math.radians(35.21)), math.sin(math.radians(35.21)))
    for femoral, tibial, rest in PRINTED.values():
        end = tibia + shaft * complex(*tibial)
        assert abs(abs(complex(*femoral) - end) - rest) < 0.05e-3
        assert abs(abs(1j * complex(*femoral) - end) - rest) > 3e-3


@pytest.mark.slow
def test_every_statement_agrees_and_the_erratum_has_the_same_figures():
    assert all(each.agrees for each in machado.statements())
    (erratum,) = machado.errata()
    assert "within 0.05 mm at 0°" in erratum.shown
    assert "3.6 mm off" in erratum.shown
