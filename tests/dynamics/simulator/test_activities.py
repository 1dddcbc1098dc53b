"""Shipped patterns of activities: published peaks, timing, closed cycles, deliverable ranges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.simulator.waveform_tables import ACTIVITIES, load_gait_cycle

#: Weight of 75 kg [N].
WEIGHT = 75.0 * 9.80665
#: Peak axial force in body weights (Kutzner et al. 2010), range of its instants [%], and range of
#: flexion [deg].
PUBLISHED = {
    "stair_ascent": (3.16, (10.0, 25.0), (8.0, 94.0)),
    "stair_descent": (3.46, (40.0, 60.0), (8.0, 91.0)),
    "squat": (2.53, (49.0, 51.0), (5.0, 90.0)),
    "deep_flexion": (2.53, (49.0, 51.0), (5.0, 120.0)),
}


@pytest.fixture(params=PUBLISHED)
def pattern(request):
    return request.param, load_gait_cycle(ACTIVITIES[request.param], period_s=1.0)


def test_peaks_and_ranges_are_the_published_ones(pattern):
    name, cycle = pattern
    peak, (early, late), flexion = PUBLISHED[name]
    assert cycle.axial_force.max() / WEIGHT == pytest.approx(peak, rel=1e-4)
    assert early <= cycle.percent[cycle.axial_force.argmax()] <= late
    found = np.degrees([cycle.flexion.min(), cycle.flexion.max()])
    assert_allclose(found, flexion, atol=0.01)


def test_patterns_are_smooth_over_the_end_of_the_cycle(pattern):
    """The step over the end is no larger than the largest step within the cycle."""
    _, cycle = pattern
    for name in cycle.signals:
        signal = getattr(cycle, name)
        assert signal[0] == signal[-1]
        steps = np.abs(np.diff(signal, 2))
        over_the_end = abs(signal[1] - 2.0 * signal[0] + signal[-2])
        assert over_the_end <= steps.max()
