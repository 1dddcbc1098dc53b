"""Components out of line or of another material."""

import numpy as np
from differences import pose_differences
from numpy.testing import assert_allclose

from dynamics import KneeSimulator, simulate
from dynamics.simulator.variation import VariedContact
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose

OFFSET = np.array([0.05, 0.005, 0.02, 1e-3, 0.4e-3, -5e-4])
POSE = Pose(0.3, 0.004, 0.05, 1e-3, -1e-3, 2e-4)


def test_loads_are_those_of_the_moved_pose(knee):
    dishes = knee()
    varied = VariedContact(dishes, OFFSET)
    moved = dishes.loads(Pose.from_array(POSE.array + OFFSET))
    assert_allclose(varied.loads(POSE).total.array, moved.total.array, rtol=1e-14)


def test_jacobian_is_that_of_the_loads(knee):
    varied = VariedContact(knee(), OFFSET, 1.7)
    loads = varied.loads(POSE, 1)
    assert loads.force[1] > 1.0
    slopes = pose_differences(lambda p: varied.loads(p).wrench, POSE, 1e-7)
    assert_allclose(loads.total_jacobian, slopes, rtol=0.0, atol=1e-6 * np.abs(slopes).max())


def test_stiffness_scales_forces_and_pressures_and_no_area(knee):
    flags = (Flag(FlagKind.RIM, "medial"),)
    plain, stiff = knee(flags=flags).loads(POSE), VariedContact(knee(flags=flags), stiffness=1.3)
    found = stiff.loads(POSE)
    for part in ("medial", "lateral", "total"):
        one, other = getattr(plain, part), getattr(found, part)
        assert_allclose(other.wrench, 1.3 * one.wrench, rtol=1e-14)
        assert_allclose(other.peak_pressure, 1.3 * one.peak_pressure, rtol=1e-14)
        assert_allclose(other.mean_pressure, 1.3 * one.mean_pressure, rtol=1e-14)
        assert other.area == one.area
        assert_allclose(other.centre_of_pressure, one.centre_of_pressure, rtol=1e-12)
    assert found.flags == flags


class Renamed:
    """A contact model whose compartments have other names."""

    def __init__(self, model, names):
        self.model, self.names = model, names

    def loads(self, pose, order=0):
        loads = self.model.loads(pose, order)
        return ContactLoads(loads.values, self.names, loads.flags, loads.derivatives)


def test_a_simulation_keeps_the_names_of_the_compartments(knee, constant):
    simulator = KneeSimulator(anterior_stiffness=30e3, rotation_stiffness=30.0)
    cycle = constant(0.02, flexion=0.1)
    plain, named = (
        simulate(VariedContact(model, OFFSET, 1.2), simulator, cycle, start=Pose(0.1), samples=5)
        for model in (knee(), Renamed(knee(), ("front", "back")))
    )
    np.testing.assert_array_equal(named.compartment_loads, plain.compartment_loads)
    assert named.compartments == ("front", "back")
    before, after = plain.columns(), named.columns()
    np.testing.assert_array_equal(after["front_force_y_N"], before["medial_force_y_N"])
    np.testing.assert_array_equal(after["total_area_m2"], before["total_area_m2"])
    assert not [name for name in after if name.startswith("medial_")]
