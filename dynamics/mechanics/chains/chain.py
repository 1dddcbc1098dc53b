"""Rigid segments in a planar chain of pin joints and sliding joints, and the bases of chains.

The plane is that of the global frame, x and y [m]; angles are absolute, from the x axis to the axis
of a segment, counter-clockwise positive. The axis runs from a segment's proximal joint to its
distal one. Points of a segment are stated in the frame of the segment: along the axis from the
proximal joint, and across the axis, to the left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dynamics.mechanics.chains.motion import PrescribedMotion
from dynamics.mechanics.planar_chain import as_complex
from foundation.base.checks import FloatArray, check_fields, check_numbers, check_unique
from foundation.base.errors import InputError

#: (time [s], angles (n,) [rad], rates (n,) [rad/s]) of a chain -> torques at its joints (n,) [N m].
#: A sliding joint has its displacement [m] and speed [m/s] there, and takes a force [N].
Drive: TypeAlias = Callable[[float, FloatArray, FloatArray], ArrayLike]


@dataclass(frozen=True, eq=False)
class ChainSegment:
    """One rigid segment of a chain.

    Parameters
    ----------
    name : str
        Name of the segment.
    length : float
        Length from the proximal to the distal joint [m], > 0.
    mass : float
        Mass [kg], > 0.
    inertia : float
        Moment of inertia about the centre of mass [kg m²], >= 0; zero for a point mass off the
        proximal joint.
    centre : (2,) float64
        Centre of mass in the frame of the segment [m].
    """

    name: str
    length: float
    mass: float
    inertia: float
    centre: FloatArray

    def __post_init__(self) -> None:
        of = f"segment {self.name}:"
        check_numbers(self, f"{of} ", above=0.0, length="m", mass="kg")
        check_numbers(self, f"{of} ", at_least=0.0, inertia="kg m²")
        check_fields(self, f"{of} ", centre=(2,))
        if self.inertia == 0.0 and not self.centre.any():
            raise InputError(f"{of} inertia: expected > 0 kg m² about the proximal joint, found 0")


@dataclass(frozen=True)
class Joint:
    """Passive torque of a pin joint, -k (θ - θ0) - d dθ/dt on the distal segment.

    θ is the angle of the distal segment from the proximal one. At the base it is the angle from the
    segment of an `Attachment`, else from the x axis.

    Parameters
    ----------
    stiffness : float
        k [N m/rad], >= 0.
    damping : float
        d [N m s/rad], >= 0.
    neutral : float
        θ0 [rad].
    """

    stiffness: float = 0.0
    damping: float = 0.0
    neutral: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, "joint: ", at_least=0.0, stiffness="N m/rad", damping="N m s/rad")
        check_numbers(self, "joint: ", neutral="rad")


@dataclass(frozen=True)
class SlidingJoint:
    """Sliding pair: the distal segment moves along an axis of the proximal one and cannot turn.

    The proximal joint of the distal segment is displaced by s along the axis, from the distal joint
    of the proximal segment or from the base. The passive force along the axis on the distal segment
    is -k (s - s0) - d ds/dt. At the base, the axis and the angle are those from the segment of an
    `Attachment`, else from the x axis.

    Parameters
    ----------
    axis : float
        Angle of the axis from the axis of the proximal segment [rad].
    angle : float
        Angle of the distal segment from the proximal one, constant [rad].
    stiffness : float
        k [N/m], >= 0.
    damping : float
        d [N s/m], >= 0.
    neutral : float
        s0 [m].
    """

    axis: float = 0.0
    angle: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    neutral: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, "sliding joint: ", axis="rad", angle="rad", neutral="m")
        check_numbers(self, "sliding joint: ", at_least=0.0, stiffness="N/m", damping="N s/m")


@dataclass(frozen=True)
class FreeBase:
    """Base of a chain that floats: no force acts on its first joint."""


@dataclass(frozen=True, eq=False)
class Attachment:
    """Base of a chain on a segment of another chain: the chains form a tree.

    Parameters
    ----------
    chain, segment : str
        The segment that carries the first joint.
    point : (2,) float64
        Place of the first joint in the frame of that segment [m].
    relative : bool
        Whether the angles of a prescribed chain are measured from that segment, not from the x
        axis. On a free segment, the torques that impose absolute angles react on the segment, and
        in some positions no torque imposes them; relative angles are free of that.
    """

    chain: str
    segment: str
    point: FloatArray
    relative: bool = False

    def __post_init__(self) -> None:
        check_fields(self, f"attachment to {self.chain}.{self.segment}: ", point=(2,))


@dataclass(frozen=True, eq=False)
class Chain:
    """Segments in a row, from the base outwards.

    A fixed base, or one with a prescribed path, takes its force from the ground. Chains with such
    bases at one place are not joined: neither carries the other. A leg that hangs from a pelvis
    needs an `Attachment`; `simulate_chains` refuses a path that moves with another chain's segment.
    The first joint of a chain with a free base acts between the ground and the first segment: leave
    it without stiffness and damping if nothing holds the chain.

    Parameters
    ----------
    name : str
        Name of the chain.
    segments : tuple of ChainSegment
        At least one segment; names are unique.
    base : (2,) float64, PrescribedMotion, FreeBase or Attachment
        Position of the first joint [m]: fixed, a prescribed path (x, y), free, or on a segment of
        another chain.
    joints : tuple of Joint or SlidingJoint
        One joint proximal of each segment; by default pin joints without passive torques.
    angles : PrescribedMotion, optional
        Absolute angles of the segments of a prescribed chain [rad]: the cumulative sums
        (`numpy.cumsum`) of the joint angles from the base. The column of a segment on a sliding
        joint is its displacement [m].
    drive : callable, optional
        Torques at the joints of a free chain, positive on the distal segment; see `Drive`.

    Raises
    ------
    InputError
        If the name is empty, counts do not agree, names are not unique, both angles and drive are
        stated, a free base does not suit the first joint and segment, or relative angles are not
        prescribed.
    """

    name: str
    segments: tuple[ChainSegment, ...]
    base: PrescribedMotion | FreeBase | Attachment | ArrayLike = (0.0, 0.0)
    joints: tuple[Joint | SlidingJoint, ...] = ()
    angles: PrescribedMotion | None = None
    drive: Drive | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("chain: name: expected a name, found '', the name of the ground")
        of = f"chain {self.name}:"
        check_members(f"{of} segments", self.segments, ChainSegment)
        check_members(f"{of} joints", self.joints, Joint, SlidingJoint)
        count = len(self.segments)
        check_unique(f"{of} segments", self.segment_names, some=True)
        if self.joints and len(self.joints) != count:
            raise InputError(f"{of} joints: expected {count}, found {len(self.joints)}")
        if not isinstance(self.angles, PrescribedMotion | None):
            raise InputError(f"{of} angles: expected a PrescribedMotion, found {self.angles!r:.80}")
        if not (self.drive is None or callable(self.drive)):
            raise InputError(f"{of} drive: expected a function, found {self.drive!r}")
        if self.angles is not None and self.angles.columns != count:
            raise InputError(f"{of} angles: expected {count} columns, found {self.angles.columns}")
        if self.angles is not None and self.drive is not None:
            raise InputError(
                f"{of} drive: expected none with prescribed angles, found a drive; leave out one "
                "of both"
            )
        self._check_base(of)

    def _check_base(self, of: str) -> None:
        """Raise an InputError unless base, first joint and first segment suit each other."""
        if isinstance(self.base, PrescribedMotion):
            if self.base.columns != 2:
                raise InputError(f"{of} base: expected 2 columns, found {self.base.columns}")
        elif isinstance(self.base, FreeBase):
            if isinstance(self.all_joints[0], SlidingJoint):
                raise InputError(
                    f"{of} joints: expected a pin joint first with a free base, which already "
                    "moves, found a sliding joint"
                )
            if self.segments[0].inertia == 0.0:
                raise InputError(
                    f"{of} segments: expected a first segment of inertia > 0 kg m² with a free "
                    "base, found 0"
                )
        elif isinstance(self.base, Attachment):
            if self.base.relative and self.angles is None:
                raise InputError(
                    f"{of} base: expected prescribed angles with a relative attachment, found none"
                )
        else:
            check_fields(self, f"{of} ", base=(2,))

    @property
    def segment_names(self) -> tuple[str, ...]:
        """Names of the segments, from the base outwards."""
        return tuple(each.name for each in self.segments)

    @property
    def all_joints(self) -> tuple[Joint | SlidingJoint, ...]:
        """The joint proximal of each segment, n of them, also if none are stated."""
        return self.joints or (Joint(),) * len(self.segments)

    @property
    def lengths(self) -> FloatArray:
        """Lengths of the segments, (n,) [m]."""
        return np.array([each.length for each in self.segments])

    def base_at(self, time: float) -> tuple[complex, complex, complex]:
        """Return position, velocity and acceleration of the base [m, m/s, m/s²].

        Raises
        ------
        InputError
            If the base is free or on another chain, whose motion is not known in advance.
        """
        if isinstance(self.base, PrescribedMotion):
            position, velocity, acceleration = as_complex(np.array(self.base.at(time))).tolist()
            return position, velocity, acceleration
        if isinstance(self.base, FreeBase | Attachment):
            raise InputError(
                f"chain {self.name}: base: expected a fixed point or a prescribed path, found "
                f"{type(self.base).__name__}"
            )
        return complex(as_complex(np.asarray(self.base))), 0j, 0j


def check_members(name: str, members: object, *kinds: type) -> None:
    """Raise an InputError that calls the members by a name unless they are a tuple of the kinds."""
    if isinstance(members, tuple | list) and all(isinstance(each, kinds) for each in members):
        return
    expected = " or ".join(kind.__name__ for kind in kinds)
    raise InputError(
        f"{name}: expected a tuple of {expected}, (one,) for a single one, found {members!r:.80}"
    )
