"""A trained knee, in C from end to end: the same answers as with its contact in Python."""

from dataclasses import replace

import manufactured
import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import GaitCycle, KneeSimulator, Ligament, SimulationError, simulate
from dynamics.simulator.variation import VariedContact
from foundation.base.flags import FlagKind
from foundation.base.pose import Pose

BUNDLE = Ligament("pcl", [0.0, 0.0, 0.0], [-10e-3, 20e-3, 0.0], 31e-3, 3e4, "linear")
OFFSET = np.array([0.01, 5e-4, 5e-3, 2e-4, 1e-4, -1e-4])


class Hidden:
    """A contact model that does not say what it is."""

    def __init__(self, model):
        self.model = model

    def loads(self, pose, order=0):
        return self.model.loads(pose, order)


@pytest.fixture(scope="module")
def knee():
    return manufactured.knee()


@pytest.fixture(scope="module")
def simulator(knee):
    return KneeSimulator(
        neutral=knee.spaces[0].path, lateral_stiffness=3e4, adduction_stiffness=500.0,
        rotation_stiffness=100.0, anterior_stiffness=1e5, medial_offset=0.0,
        superior_damping=2e3, lateral_damping=2e3, adduction_damping=5.0,
    )  # fmt: skip


def cycle(axial=900.0, flexion=0.15, **motions):
    percent = np.linspace(0.0, 100.0, 41)
    wave = np.sin(2.0 * np.pi * percent / 100.0)
    signals = {name: size * wave for name, size in motions.items()}
    if not motions:
        signals = {"ap_force": 40.0 * wave, "internal_torque": 0.5 * wave}
    return GaitCycle(percent, 0.5 + flexion * wave, axial + 200.0 * wave, period=0.5, **signals)


def start(knee):
    path = knee.compartment("medial").space.path.poses([0.5])
    return Pose.from_array(knee.compartment("medial").at_load(path, np.array([500.0]))[0][0])


CASES = {"springs": {}, "ligament": {"ligaments": (BUNDLE,)}}


#: How far rounding may part two runs [rad, m]: a ten-thousandth of the integrator's tolerance.
APART = np.array([1e-11] * 3 + [1e-12] * 3)


def same(one, other):
    assert (np.abs(one.poses - other.poses).max(axis=0) <= APART).all()
    scale = np.abs(other.rates).max(axis=0)
    assert (np.abs(one.rates - other.rates).max(axis=0) <= 1e-8 * scale + 1e3 * APART).all()
    for k in range(9):
        found, wanted = (result.compartment_loads[..., k] for result in (one, other))
        assert_allclose(found, wanted, rtol=0, atol=1e-7 * np.abs(wanted).max())
    assert_allclose(one.loads[:, 9:], other.loads[:, 9:], rtol=0.0, atol=1e-8)
    for count in ("steps", "rejected", "derivatives", "jacobians"):
        assert getattr(one.statistics, count) == getattr(other.statistics, count)


@pytest.mark.delicate
@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
@pytest.mark.parametrize("motions", [{}, {"anterior": 1e-3, "rotation": 0.02}],
                         ids=["loads", "motions"])  # fmt: skip
def test_compiled_is_what_python_does(knee, simulator, changes, motions):
    given = replace(simulator, **changes), cycle(**motions)
    compiled = simulate(knee, *given, samples=21, start=start(knee))
    called = simulate(Hidden(knee), *given, samples=21, start=start(knee))
    assert np.ptp(compiled.poses[:, 4]) > 1e-5
    assert compiled.flags == called.flags == ()
    same(compiled, called)
    # Python remembers the contact at the last pose; the compiled loop evaluates every time.
    assert called.statistics.evaluations <= called.statistics.derivatives
    # One more: the rates at the start, from the equilibrium.
    assert compiled.statistics.evaluations == compiled.statistics.derivatives + 1


def test_variation_of_a_trained_knee(knee, simulator):
    varied = VariedContact(knee, OFFSET, 1.1)
    hidden = VariedContact(Hidden(knee), OFFSET, 1.1)
    compiled, called = (
        simulate(m, simulator, cycle(), samples=11, start=start(knee)) for m in (varied, hidden)
    )
    same(compiled, called)
    loads = [varied.loads(Pose.from_array(p)).total.array for p in compiled.poses]
    assert_allclose(compiled.loads, loads, rtol=1e-9, atol=1e-9)
    plain = simulate(knee, simulator, cycle(), samples=11, start=start(knee))
    assert np.abs(plain.poses - compiled.poses).max() > 1e-4


@pytest.mark.parametrize(
    "model", [lambda k: k, Hidden, VariedContact], ids=["", "Python", "varied"]
)
def test_leaving_the_domain_by_flexion_is_an_error_that_says_where(knee, simulator, model):
    """Flexion passes 1 rad, the end of the domain, within the cycle."""
    strict = knee.on_leaving("error")
    with pytest.raises(SimulationError, match=r"at 0\.0\d+ s, flexion 57.*flexion by") as caught:
        simulate(model(strict), simulator, cycle(flexion=0.6), start=start(knee))
    assert "outside the trained domain" in str(caught.value)
    assert type(caught.value.__cause__).__name__ == "OutsideDomainError"


def test_load_beyond_the_trained_is_an_error_that_says_where(knee, simulator):
    """The lateral compartment is trained to 1600 N."""
    percent = np.linspace(0.0, 100.0, 41)
    axial = 2500.0 - 1600.0 * np.cos(2.0 * np.pi * percent / 100.0)
    rising = GaitCycle(percent, 0.5 + 0.0 * percent, axial, period=0.5)
    strict = knee.on_leaving("error")
    upright = replace(
        simulator, adduction_stiffness=1e5, rotation_stiffness=1e5, anterior_stiffness=1e7,
        lateral_stiffness=1e7,
    )  # fmt: skip
    with pytest.raises(SimulationError, match=r"at 0\.\d+ s, .*axial load of \d+ N, \d+ N beyond"):
        simulate(strict, upright, rising, start=start(knee))


def test_held_at_the_border_it_is_flagged(knee, simulator):
    """The same flags at the same instants as step by step."""
    given = simulator, cycle(flexion=0.6)
    compiled = simulate(knee, *given, samples=41, start=start(knee))
    called = simulate(Hidden(knee), *given, samples=41, start=start(knee))
    beyond = np.abs(compiled.poses[:, 0] - 0.5) > 0.5
    assert len(compiled.flags) > 0
    for one, other in zip(compiled.flags, called.flags, strict=True):
        assert "outside the trained domain" in str(one.flag)
        assert one.flag.cause == other.flag.cause
        assert (one.time, one.samples) == (other.time, other.samples)
    flexion = [f for f in compiled.flags if f.flag.kind is FlagKind.OUTSIDE_FLEXION]
    assert len(flexion) == 2
    assert flexion[0].samples == beyond.sum()
    assert flexion[0].time == compiled.time[np.argmax(beyond)]
