"""The natural knee: its cartilage and ligaments rest and walk."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from core_probe import bundle_forces
from studies import ROOT

from dynamics import AppliedLoads, GaitCycle
from dynamics.motion.knee_motion import read_knee_poses
from dynamics.simulator.equilibrium import settle
from dynamics.simulator.integrator import simulate
from dynamics.simulator.knee_simulator import KneeSimulator
from dynamics.simulator.result import SimulationResult
from dynamics.simulator.waveforms import lead_back
from foundation.base.pose import COORDINATES, Pose
from foundation.elastic_foundation.model import ElasticFoundation
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from pipeline.simulation import gait_simulator
from surrogates.sampling.space import ReferencePath

#: Stride of the walking solution of Lenhart's knee, from one heel strike to the next [s]: that of
#: the cycle of Smith et al. (2019, J Biomech 82:124-133), from the same trial.
STRIDE = (1.26, 2.32)
_ROTATION, _ANTERIOR, _SUPERIOR = map(COORDINATES.index, ("rotation", "anterior", "superior"))


def cut_stride(time, poses):
    """Return the part of a motion, instants (N,) [s] and poses (N, 6) [rad, m], in `STRIDE`."""
    chosen = (time > STRIDE[0] - 1e-9) & (time < STRIDE[1] + 1e-9)
    inside = time[chosen]
    np.testing.assert_allclose(inside[[0, -1]], STRIDE, rtol=0.0, atol=1e-6)
    return inside, poses[chosen]


def balancing_loads(model, simulator, poses):
    """Return the loads (N, 3) that hold a knee in poses (N, 6) [rad, m], by inverse statics.

    On the tibia, in the order of `dynamics.simulator.knee_simulator.APPLIED_COLUMNS` [N, N, N m].
    Axial force, AP force and torque balance the generalised forces of contact, ligaments and
    springs on height, AP position and rotation. The forces on adduction and ML position remain.
    """
    loads = np.empty((len(poses), 3))
    for row, out in zip(poses, loads, strict=True):
        pose = Pose.from_array(row)
        force = simulator.force(pose, model.loads(pose).wrench, AppliedLoads())
        out[:] = force[_SUPERIOR], force[_ANTERIOR], -force[_ROTATION]
    return loads


def walking_cycle(model, simulator, time, poses, *, axial_only=False):
    """Return the inputs that make a knee walk in the poses (N, 6) [rad, m] of a stride (N,) [s].

    Flexion is that of the poses. The loads are `balancing_loads`: those of muscles, menisci and
    body weight. With `axial_only`, AP force and torque are zero, so that ligaments, springs and
    contact determine AP position and rotation.
    """
    duration = float(time[-1] - time[0])
    part = (time - time[0]) / duration
    loads = balancing_loads(model, simulator, poses)
    if axial_only:
        loads[:, 1:] = 0.0
    flexion, axial, ap, torque = (lead_back(part, signal) for signal in (poses[:, 0], *loads.T))
    return GaitCycle(100.0 * part, flexion, axial, ap, torque, duration)


#: Adduction, rotation [deg], anterior, superior, lateral [mm] from SI.
PEOPLE = np.array([180.0 / np.pi, 180.0 / np.pi, 1e3, 1e3, 1e3])
NO_SPRINGS = {"anterior_stiffness": 0.0, "rotation_stiffness": 0.0, "lateral_stiffness": 0.0}
STANCE = 62  # % of the cycle
KEPT = 85  # % up to which the cycle is that of the solution


@dataclass(frozen=True, eq=False)
class Natural:
    """What `configs/lenhart.toml` describes."""

    model: ElasticFoundation
    path: ReferencePath
    simulator: KneeSimulator

    def on_path(self, degrees):
        return Pose.from_array(self.path.poses([np.radians(degrees)])[0])

    def rest(self, simulator, degrees):
        return settle(
            self.model,
            simulator,
            flexion=float(np.radians(degrees)),
            axial_force=500.0,
            start=self.on_path(degrees),
        )


@dataclass(frozen=True, eq=False)
class Walk:
    """A simulated walk beside the poses it comes from, at the same instants."""

    result: SimulationResult
    poses: np.ndarray
    loads: np.ndarray

    @property
    def kept(self):
        return self.result.gait_percent <= KEPT

    def rms(self, found, prescribed):
        return np.sqrt(((found - prescribed)[self.kept] ** 2).mean(axis=0))

    def motion_rms(self):
        return PEOPLE * self.rms(self.result.poses, self.poses)[1:]


@pytest.fixture(scope="module")
def natural(knee_data):
    config = load_config(ROOT / "configs" / "lenhart.toml")
    knee = build_knee(config)
    path = knee.reference_path(config)
    return Natural(knee.model, path, gait_simulator(config.simulation, path))


def walk(natural, knee_data, **options):
    motion = read_knee_poses(knee_data / "jam_lenhart2015_knee" / "walking_values.sto")
    time, poses = cut_stride(*motion)
    cycle = walking_cycle(natural.model, natural.simulator, time, poses, **options)
    result = simulate(natural.model, natural.simulator, cycle, samples=len(time), rtol=1e-3)
    prescribed = [natural.model.loads(Pose.from_array(row)).total.array for row in poses]
    return Walk(result, poses, np.array(prescribed))


def test_prescribed_poses_carry_what_the_readme_says(natural, knee_data):
    """1929 N at 1.29 s, a peak of 3100 N, area up to 623 mm², pressure up to 10.9 MPa."""
    time, poses = read_knee_poses(knee_data / "jam_lenhart2015_knee" / "walking_values.sto")
    loads = np.array([natural.model.loads(Pose.from_array(row)).total.array for row in poses])
    force = np.linalg.norm(loads[:, :3], axis=1)
    assert force[np.argmin(np.abs(time - 1.29))] == pytest.approx(1929.0, rel=0.01)
    assert force.max() == pytest.approx(3100.0, rel=0.01)
    assert loads[:, 6].max() == pytest.approx(623e-6, rel=2e-3)
    assert loads[:, 7].max() == pytest.approx(10.9e6, rel=5e-3)


@pytest.mark.parametrize("degrees", [0.0, 30.0, 60.0])
def test_rests_near_its_passive_path(natural, degrees):
    rest = natural.rest(natural.simulator, degrees)
    away = np.abs(PEOPLE * (rest.array - natural.on_path(degrees).array)[1:])
    assert (away < [2.0, 3.0, 3.0, 1.0, 1.5]).all(), away
    loads = natural.model.loads(rest)
    pull = bundle_forces(natural.simulator.ligaments, rest)[0][4]
    assert loads.force[1] == pytest.approx(500.0 - pull, rel=1e-4)
    assert pull < 0.0
    assert min(loads.medial.force[1], loads.lateral.force[1]) > 100.0


@pytest.mark.parametrize("degrees", [0.0, 30.0, 60.0])
def test_ligaments_alone_hold_it_at_rest(natural, degrees):
    """No springs at all; `settle` gives stable equilibria only."""
    rest = natural.rest(replace(natural.simulator, **NO_SPRINGS), degrees)
    away = np.abs(PEOPLE * (rest.array - natural.on_path(degrees).array)[1:])
    assert (away < [3.0, 16.0, 8.0, 2.5, 5.0]).all(), away


@pytest.mark.slow
def test_walks_as_its_solution_does(natural, knee_data):
    """Axial force, AP force and torque hold it in the solution's poses; the rest is free."""
    walked = walk(natural, knee_data)
    area, peak = walked.result.loads[:, 6], walked.result.loads[:, 7]
    stance = walked.result.gait_percent <= STANCE
    # The area of a walk of the same cartilage with menisci is 276 to 731 mm² (Smith et al. 2019).
    assert area[stance].min() > 276e-6
    assert area[stance].max() < 731e-6
    assert area.max() == pytest.approx(623e-6, rel=0.03)
    assert peak.max() == pytest.approx(10.9e6, rel=0.1)
    assert peak.min() > 2e6
    assert (walked.motion_rms() < [2.0, 3.0, 0.5, 0.2, 1.0]).all(), walked.motion_rms()
    force, extent, pressure = walked.rms(walked.result.loads, walked.loads)[[1, 6, 7]]
    assert force < 50.0
    assert extent < 40e-6
    assert pressure < 1.8e6
    # Both compartments bear, about as much on the medial side as in the solution, 64 %.
    axial = walked.result.compartment_loads[:, :, 1]
    assert axial.min() > 20.0
    assert axial[0].sum() / axial.sum() == pytest.approx(0.62, abs=0.05)
