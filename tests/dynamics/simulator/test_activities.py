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


def test_every_activity_but_walking_is_compared():
    assert {*PUBLISHED, "level_walking"} == set(ACTIVITIES)


def test_peaks_and_ranges_are_the_published_ones(pattern):
    name, cycle = pattern
    peak, (early, late), flexion = PUBLISHED[name]
    assert cycle.axial_force.max() / WEIGHT == pytest.approx(peak, rel=1e-4)
    assert early <= cycle.percent[cycle.axial_force.argmax()] <= late
    found = np.degrees([cycle.flexion.min(), cycle.flexion.max()])
    assert_allclose(found, flexion, atol=0.01)


def test_shear_and_torque_are_of_the_published_order(pattern):
    """Shear is 10 to 20 times smaller than the axial force; the torque is below that of walking."""
    _, cycle = pattern
    assert 10.0 <= cycle.axial_force.max() / np.abs(cycle.ap_force).max() <= 20.0
    assert np.abs(cycle.internal_torque).max() < 10.5


def test_patterns_are_smooth_over_the_end_of_the_cycle(pattern):
    """The step over the end is no larger than the largest step within the cycle."""
    _, cycle = pattern
    for name in cycle.signals:
        signal = getattr(cycle, name)
        assert signal[0] == signal[-1]
        steps = np.abs(np.diff(signal, 2))
        over_the_end = abs(signal[1] - 2.0 * signal[0] + signal[-2])
        assert over_the_end <= steps.max()


def test_swing_is_where_the_load_is_small():
    """On stairs, the knee bends most while the foot is in the air."""
    for name in ("stair_ascent", "stair_descent"):
        cycle = load_gait_cycle(ACTIVITIES[name], period_s=1.0)
        assert cycle.axial_force[cycle.flexion.argmax()] < 0.4 * WEIGHT
    for name in ("squat", "deep_flexion"):
        cycle = load_gait_cycle(ACTIVITIES[name], period_s=1.0)
        assert cycle.flexion.argmax() == cycle.axial_force.argmax()
        assert cycle.axial_force.min() == pytest.approx(1.07 * WEIGHT, rel=1e-4)
