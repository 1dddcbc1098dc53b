"""A knee with exact answers: two spheres in shallow parabolic dishes."""

from dataclasses import asdict, dataclass, field

import numpy as np
import pytest

from dynamics import GaitCycle, settle
from foundation.base.flags import Flag
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose, rotation_axes


def _load(wrench):
    touching = wrench[1] != 0.0
    return np.concatenate([wrench, [1e-4 if touching else 0.0] * 3, np.zeros(3)])


def _cross(x, y, z):
    """Return the matrices of a cross product from the left, (..., 3, 3)."""
    zero = np.zeros_like(x)
    return np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(
        (*range(2, 2 + np.ndim(x)), 0, 1)
    )


@dataclass
class DishKnee:
    """Sphere centres fixed in the femur, each pressed into its own dish of the tibia.

    A centre at (x, y, z) indents its dish by d = s - y, with the dish's surface raised by the
    radius, s = x²/(2 along) + (z - z0)²/(2 across). Its energy is k d^(n+1)/(n+1), so that the
    force on the femur through the centre is k d^n (-x/along, 1, -(z - z0)/across). `along` and
    `across` may be infinite (a plane). With `always` the law also pulls: linear for n = 1.
    The lateral force has a `leap` of a size [N] at a depth [m].
    """

    stiffness: float = 1.3e9
    exponent: float = 1.5
    along: float = 0.08
    across: float = 0.06
    half_width: float = 0.022
    offset: tuple[float, float] = (0.0, 0.0)
    always: bool = False
    flags: tuple[Flag, ...] = ()
    leap: tuple[float, float] = (0.0, np.inf)
    calls: list[str] = field(default_factory=list)

    def energy(self, pose):
        return sum(
            self.stiffness * self._depth(c) ** (self.exponent + 1.0) / (self.exponent + 1.0)
            for c, _ in self._centres(pose)
        )

    def _centres(self, pose):
        """Return (centre relative to its dish; z0), medial first."""
        centres = []
        for z0 in (-self.half_width, self.half_width):
            arm = pose.rotation_matrix @ np.array([*self.offset, z0])
            centres.append((pose.translation + arm - np.array([0.0, 0.0, z0]), z0))
        return centres

    def _slope(self, centre):
        """Return minus the gradient of s - y, the direction of the force."""
        return np.array([-centre[0] / self.along, 1.0, -centre[2] / self.across])

    def _depth(self, centre):
        x, y, z = centre
        depth = 0.5 * x * x / self.along + 0.5 * z * z / self.across - y
        return depth if self.always else max(depth, 0.0)

    def loads(self, pose, order=0):
        self.calls.append("jacobian" if order else "loads")
        turned = _cross(*rotation_axes(pose.adduction, pose.rotation))
        parts, jacobians = [], np.zeros((2, 6, 6))
        curvature = np.diag([-1.0 / self.along, 0.0, -1.0 / self.across])
        for jacobian, (centre, z0) in zip(jacobians, self._centres(pose), strict=True):
            depth, slope = self._depth(centre), self._slope(centre)
            point = centre + np.array([0.0, 0.0, z0])
            size = self.stiffness * depth**self.exponent
            if z0 > 0.0 and depth > self.leap[1]:
                size += self.leap[0]
            force = size * slope
            parts.append(_load(np.concatenate([force, _cross(*point) @ force])))
            if depth == 0.0:
                continue
            rate = self.exponent * self.stiffness * depth ** (self.exponent - 1.0)
            by_centre = -rate * np.outer(slope, slope)
            by_centre += size * curvature
            moved = np.hstack([(turned @ (point - pose.translation)).T, np.eye(3)])
            by_pose = by_centre @ moved
            jacobian[:3] = by_pose
            jacobian[3:] = _cross(*point) @ by_pose - _cross(*force) @ moved
        return ContactLoads(parts, flags=self.flags, derivatives=(jacobians,) if order else ())


@pytest.fixture
def knee():
    """Return the builder of `DishKnee`; as it stands it has the stiffness of an implant."""
    return DishKnee


@pytest.fixture
def constant():
    """Return a builder of cycles in which nothing changes."""

    def build(period=1.0, *, flexion=0.0, axial=1000.0, ap=0.0, torque=0.0):
        signals = np.outer([flexion, axial, ap, torque], np.ones(6))
        return GaitCycle(np.linspace(0.0, 100.0, 6), *signals, period)

    return build


@pytest.fixture
def waves():
    """Return a builder of cycles of harmonics, with loads or with prescribed motions.

    A motion is given by its amplitude [rad, m]; what is neither moved nor loaded has no load.
    """

    def build(period=1.0, *, ap=90.0, torque=2.0, **motions):
        percent = np.linspace(0.0, 100.0, 41)
        angle = 2.0 * np.pi * percent / 100.0
        signals = {name: size * np.sin(angle + 0.3) for name, size in motions.items()}
        if "anterior" not in motions:
            signals["ap_force"] = ap * np.cos(angle)
        if "rotation" not in motions:
            signals["internal_torque"] = torque * np.sin(angle)
        flexion, axial = 0.5 + 0.3 * np.sin(angle), 1300.0 + 500.0 * np.cos(angle)
        return GaitCycle(percent, flexion, axial, period=period, **signals)

    return build


@pytest.fixture
def resting():
    """Return the function that finds the equilibrium at one instant of a gait cycle."""

    def at(model, simulator, cycle, time, **options):
        flexion, applied = cycle.at(time)
        options = {"start": Pose()} | asdict(applied) | options
        return settle(model, simulator, flexion=flexion, **options)

    return at
