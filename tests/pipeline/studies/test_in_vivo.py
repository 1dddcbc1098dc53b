"""A walk beside instrumented knees: place of its figures, and causes that name them."""

from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.studies.walks.in_vivo import in_vivo_comparison


def compared(peak, share, largest_offset_mm=0.0):
    """Compare a walk of a peak [body weights] and of a medial share of the largest load."""
    total = np.array([100.0, 1000.0, 400.0])
    medial = total * np.array([0.1, share, 0.9])
    columns = {"total_force_y_N": total, "medial_force_y_N": medial}
    knee = SimpleNamespace(
        peaks=lambda weight: (0.5 * peak, peak), external_adduction_moment=np.array([3.0, 31.4])
    )
    return in_vivo_comparison(
        SimpleNamespace(knee=knee, body_weight=700.0),
        SimpleNamespace(columns=lambda: columns),
        cocontraction_kPa=12.0,
        medial_offset_mm=5.0,
        largest_offset_mm=largest_offset_mm,
    )


def test_usual_figures_have_no_causes():
    found = compared(2.5, 0.7)
    assert (found.peak_is, found.share_is, found.causes) == ("within", "within", [])
    assert found.medial_share == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("peak", "share", "places", "words"),
    [
        (1.4, 0.7, ("below", "within"), ["12 kPa", "antagonists"]),
        (4.0, 0.7, ("above", "within"), ["pin with planar motion", "12 kPa"]),
        (2.5, 0.5, ("within", "below"), ["up to 31 N·m", "5 mm medial"]),
        (2.5, 0.9, ("within", "above"), ["simulation.medial_offset_mm"]),
    ],
)
def test_unusual_figures_name_likely_causes(peak, share, places, words):
    found = compared(peak, share)
    assert (found.peak_is, found.share_is) == places
    (cause,) = found.causes
    assert all(word in cause for word in words)


def test_with_the_adduction_moment_the_lateral_position_is_a_cause():
    (cause,) = compared(2.5, 0.9, 15.0).causes
    assert "measured.pelvis_z_m" in cause
    assert "offset of 15 mm (muscles.largest_offset_mm)" in cause


def test_each_unusual_figure_has_its_cause():
    assert len(compared(4.0, 0.5).causes) == 2
