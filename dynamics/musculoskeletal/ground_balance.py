"""Balance of a whole walking body: residual force and moment on the pelvis, and wrong loads.

Muscles, ligaments and joint contact act between bodies of the model: gravity and external loads
alone accelerate the whole body. If measured motion and external loads do not agree, a residual
force and moment on the pelvis remain, the standard measure of such data. Hicks et al. (2015, J
Biomech Eng 137:020905) recommend residual forces below 5 % of the largest external force, and
residual moments below 1 % of this force times the height of the centre of mass, after the motion
has been adapted to the forces; measured data without this step have several times as much. The
limits here are those of wrong data: unit, sign, time, plate, body.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.motion.c3d import read_ground
from dynamics.motion.motion_tables import MotionTable
from dynamics.motion.plates import CONTACT_THRESHOLD, FARTHEST, Plate, contacts, find_plates
from dynamics.musculoskeletal.external_loads import AppliedForce, write_applied_forces
from dynamics.musculoskeletal.leg_sides import counterpart
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.checks import FloatArray, check_array, check_fields, check_number
from foundation.base.errors import InputError

#: Recommended limits of residual force and moment [1]; larger ones are flagged.
RECOMMENDED = (0.05, 0.01)
#: Largest residual force over the largest external force, and largest residual moment over this
#: force times the height of the centre of mass [1].
LARGEST_FORCE, LARGEST_MOMENT = 0.35, 0.15
#: Range of the mean vertical external force over the needed one [1], over at least a time [s].
USUAL_SHARE, _LEAST_TIME = (0.8, 1.25), 0.4


@dataclass(frozen=True, eq=False)
class GroundBalance:
    """Residual wrench (N, 6) [N, N m] of a motion with its external loads, at N instants."""

    #: Body that hangs on the ground by the joint with the residual, such as the pelvis.
    body: str
    #: Instants (N,) [s].
    time: FloatArray
    #: Force, and moment about the origin of the body (N, 6), axes of the ground [N, N m].
    residual: FloatArray
    #: Sum of the external forces (N, 3), axes of the ground [N].
    external: FloatArray
    #: Height of the centre of mass over the lowest body of the first instant (N,) [m].
    height: FloatArray
    #: Unit vector upwards (3,) [1].
    up: FloatArray
    #: Mass of the model [kg].
    mass: float
    #: Sentences on what is wrong with the external loads.
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.time)
        check_fields(self, residual=(count, 6), external=(count, 3), height=(count,), up=(3,))
        check_array("height", self.height, above=0.0, unit="m")
        check_number("mass", self.mass, above=0.0, unit="kg")

    @property
    def force(self) -> FloatArray:
        """Sizes of the residual force (N,) [N]."""
        return np.linalg.norm(self.residual[:, :3], axis=1)

    @property
    def moment(self) -> FloatArray:
        """Sizes of the residual moment (N,) [N m]."""
        return np.linalg.norm(self.residual[:, 3:], axis=1)

    @property
    def weight(self) -> float:
        """Weight of the model [N]."""
        return self.mass * STANDARD_GRAVITY

    @property
    def force_scale(self) -> float:
        """Largest external force, at least the weight [N]."""
        return max(self.weight, float(np.linalg.norm(self.external, axis=1).max()))

    @property
    def moment_scale(self) -> float:
        """`force_scale` times the mean height of the centre of mass [N m]."""
        return self.force_scale * float(self.height.mean())

    @property
    def share(self) -> float:
        """Mean vertical external force over the mean vertical force that the motion needs [1]."""
        given = float((self.external @ self.up).mean())
        needed = given + float((self.residual[:, :3] @ self.up).mean())
        return given / needed if needed else np.inf

    @property
    def parts(self) -> tuple[float, float]:
        """Largest residual force and moment over their scales [1]."""
        return (
            float(self.force.max()) / self.force_scale,
            float(self.moment.max()) / self.moment_scale,
        )

    @property
    def faults(self) -> tuple[str, ...]:
        """Sentences on residuals that are too large."""
        found, (force, moment) = [], self.parts
        of_force = "the largest external force or the weight"
        of_moment = "this force times the height of the centre of mass"
        for what, part, limit, values, unit, scale in (
            ("force", force, LARGEST_FORCE, self.force, "N", of_force),
            ("moment", moment, LARGEST_MOMENT, self.moment, "N m", of_moment),
        ):
            if part > limit:
                peak = int(values.argmax())
                found.append(
                    f"residual {what} on {self.body}: expected at most {100.0 * limit:g} % of "
                    f"{scale}, found {100.0 * part:.0f} % ({values[peak]:.0f} {unit} at "
                    f"{self.time[peak]:g} s)"
                )
        low, high = USUAL_SHARE
        if not found and np.ptp(self.time) >= _LEAST_TIME and not low <= self.share <= high:
            found.append(
                f"vertical external force: expected a mean of {low:g} to {high:g} times that which "
                f"the motion of {self.mass:.1f} kg needs, found {self.share:.2f} times"
            )
        return tuple(found)


#: A plate carries a foot above this part of the weight [1].
_BEARS = 0.2
#: A centre of pressure is nearer to another body by more than this distance [m], and farther from
#: its own than toes are from a heel [m].
_NEARER, _OFF_FOOT = 0.1, 0.25


def misplaced(
    forces: Sequence[AppliedForce], balance: GroundBalance, feet: Mapping[str, FloatArray]
) -> Iterator[str]:
    """Yield a flag for each force that is not under its body, by centres of mass (N, 3) [m]."""
    for force in forces:
        plate, up = force.at(balance.time), balance.up
        bears = np.maximum(plate.force @ up - _BEARS * balance.weight, 0.0)
        if not force.in_ground or force.body not in feet or not bears.any():
            continue
        away = {
            body: float(np.average(np.linalg.norm(plate.point - place, axis=1), weights=bears))
            for body, place in feet.items()
        }
        own, other = away[force.body], counterpart(force.body)
        if own > _OFF_FOOT and away.get(other, np.inf) > own - _NEARER:
            other = min(away, key=away.__getitem__)
        if away.get(other, np.inf) <= min(own - _NEARER, FARTHEST):
            yield (
                f"{plate.name}: expected a centre of pressure under {force.body}, found a mean "
                f"distance of {own:.2f} m, and {away[other]:.2f} m from {other}; check "
                "applied_to_body of the external loads"
            )


def load_flags(
    balance: GroundBalance, forces: Sequence[AppliedForce], feet: Mapping[str, FloatArray]
) -> tuple[str, ...]:
    """Return flags on residuals, and on forces off their bodies, by centres of mass (N, 3) [m]."""
    faults = balance.faults
    if faults:
        remedy = "check unit, sign, axes, time and plates of the external loads, mass and motion"
        if not forces:
            remedy = "no external loads are stated: set walk.external_loads"
        faults = (f"{faults[0]}; {remedy}", *faults[1:])
    return (*faults, *misplaced(forces, balance, feet))


#: Least height of a centre of mass, for models that lie [m].
_LEAST_HEIGHT = 0.1


def ground_balance(system: OpenSimSystem, motion: CoordinateMotion) -> GroundBalance | None:
    """Return the residual of a motion, with flags; None for a model that no coordinates move."""
    body, places = system.root
    mass = system.body_mass
    if not places or not mass > 0.0:
        return None
    forces = () if system.external_loads is None else system.external_loads.forces
    up, known = system.up, system.bodies
    feet: dict[str, list[FloatArray]] = {name: [] for name in known} if forces else {}
    wrenches, heights = [], []
    for time, values, speeds, accelerations in zip(
        motion.time.tolist(), motion.values, motion.speeds, motion.accelerations, strict=True
    ):
        system.set(time, values, speeds)
        loaded = system.needed_forces(accelerations)
        with system.unloaded():
            bare = system.needed_forces(accelerations)
        wrenches.append(system.wrench_on(body, places, np.array([loaded, bare])))
        heights.append(float(system.mass_centre() @ up))
        for name, path in feet.items():
            path.append(system.mass_centre(name))
    system.set(float(motion.time[0]), motion.values[0], motion.speeds[0])
    lowest = min(float(system.origin(name) @ up) for name in known)
    residual, needed = np.array(wrenches).transpose(1, 0, 2)
    found = GroundBalance(
        body,
        motion.time,
        residual,
        (needed - residual)[:, :3],
        np.maximum(np.array(heights) - lowest, _LEAST_HEIGHT),
        up,
        mass,
    )
    paths = {name: np.array(path) for name, path in feet.items()}
    return replace(found, flags=load_flags(found, forces, paths))


_FOOT = re.compile("calc|foot", re.I)


def loaded_by_plates(
    model: str, system: OpenSimSystem, motion: CoordinateMotion, path: Path
) -> OpenSimSystem:
    """Return a model (XML text) with the force plates of a file as loads on the feet above them."""
    table = read_ground(path)
    acting, notes = _acting(table, _feet(system, motion), motion.time)
    if not acting:
        first, last = motion.time[0], motion.time[-1]
        raise InputError(
            f"{path}: expected a foot on a force plate from {first:g} to {last:g} s, the times of "
            f"the motion, found {'; '.join(notes) or 'no force above the threshold'}; check that "
            "markers and forces are of one trial"
        )
    with tempfile.TemporaryDirectory() as folder:
        loads = write_applied_forces(Path(folder), acting)
        found = OpenSimSystem(model, loads, reactions=system.with_reactions)
    assert found.external_loads is not None
    found.external_loads = replace(found.external_loads, path=path, notes=notes)
    return found


def _feet(system: OpenSimSystem, motion: CoordinateMotion) -> dict[str, FloatArray]:
    """Return the centres of mass (N, 3) of the feet in the ground [m]."""
    names = [name for name in system.bodies if _FOOT.search(name)] or list(system.bodies)
    places = np.empty((len(names), len(motion.time), 3))
    rows = zip(motion.time.tolist(), motion.values, motion.speeds, strict=True)
    for k, (time, values, speeds) in enumerate(rows):
        system.set(time, values, speeds)
        places[:, k] = [system.mass_centre(name) for name in names]
    return dict(zip(names, places, strict=True))


def _acting(
    table: MotionTable, feet: dict[str, FloatArray], time: FloatArray
) -> tuple[list[AppliedForce], tuple[str, ...]]:
    """Return forces on the feet, and sentences on contacts that are not under a foot."""
    plates, notes, rows = find_plates(table), [], np.arange(len(table.time))
    owned: dict[tuple[int, str], NDArray[np.bool_]] = {}
    for step in contacts(table, plates):
        k = next(k for k, plate in enumerate(plates) if plate.name == step.plate)
        mine = (rows >= step.begin) & (rows < step.end)
        bears = mine & (plates[k].force[:, 1] > CONTACT_THRESHOLD)
        bears &= (table.time >= time[0]) & (table.time <= time[-1])
        if not bears.any():
            continue
        at, points = table.time[bears], plates[k].point[bears]
        away = {body: _away(points, at, time, path) for body, path in feet.items()}
        body = min(away, key=away.__getitem__)
        if away[body] <= FARTHEST:
            owned[k, body] = owned.get((k, body), False) | mine
        else:
            notes.append(
                f"{Path(table.source).name}: a contact with force plate {k + 1} at {at[0]:g} s is "
                f"{away[body]:.2f} m from {body}, the nearest foot, and has no effect"
            )
    acting = []
    for (k, body), mask in owned.items():
        plate, here = plates[k], mask[:, None]
        own = Plate(f"plate_{k + 1}_{body}", plate.force * here, plate.point, plate.torque * here)
        acting.append(AppliedForce(body, table.time, own, in_ground=True))
    return acting, tuple(notes)


def _away(points: FloatArray, at: FloatArray, time: FloatArray, path: FloatArray) -> float:
    """Return the mean level distance [m] of points (M, 3) from a path (N, 3) at instants (M,)."""
    x, z = (points[:, k] - np.interp(at, time, path[:, k]) for k in (0, 2))
    return float(np.hypot(x, z).mean())
