"""Static equilibrium of the knee in the simulator under constant loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dynamics.core.problem import Problem
from dynamics.protocol import ContactModel, describe_pose
from dynamics.simulator.knee_simulator import FREE, FREE_COORDINATES, AppliedLoads, KneeSimulator
from dynamics.simulator.variation import without_variation
from foundation.base.checks import FloatArray, check_in, check_number
from foundation.base.errors import InputError, PoseError
from foundation.base.pose import HIGHEST, Pose

#: Distance above and below the start within which `height_at_load` searches [m].
SEARCH_RANGE = 15e-3
_FIRST_STEP = 20e-6
_LARGEST_STEP = 250e-6
# Lever arm that converts moments to forces, about half the distance of the condyles [m].
_ARM = 0.02
_HEIGHT = FREE_COORDINATES.index("superior")
_WEIGHTS = np.array([1.0 / _ARM, 1.0 / _ARM, 1.0, 1.0, 1.0])
# Largest step of the relaxation [rad, rad, m, m, m]. The stiff height and tilt move little, so
# that a step neither loses contact nor indents deeply.
_LARGEST_MOVE = np.array([0.01, 0.02, 1e-3, 0.1e-3, 0.5e-3])
# A step grows at most tenfold; while the residual is constant, it grows by the boost.
_GROWTH = 10.0
_BOOST, _LEAST_BOOST = 2.0, 1.2
_PATIENCE = 12
# Most steps of Newton's method alone, each shorter than the step before by this factor.
_NEWTON_STEPS, _NEWTON_FALL = 10, 0.5
#: A pose whose residuals fall no further is at rest if a move shorter than this part of the largest
#: leads to the equilibrium of the linearised forces, which jump at edges of a surface; in the end,
#: the second part, where the residual is at most the third as a share of the axial force.
_NEAR, _NEAR_AT_END, _SHARE_AT_END = 1e-2, 5e-2, 5e-4
#: Half the ranges of heights over which forces are averaged in turn where they jump [m], the
#: halvings that locate a jump, most steps of such a search, and the part of the largest step below
#: which a search stands still.
_JUMPS, _HALVINGS, _MEANS, _STILL = (20e-6, 2e-6), 12, 60, 1e-6


class EquilibriumError(RuntimeError):
    """No static equilibrium was found; the message states the residual and the pose.

    Parameters
    ----------
    message : str
        The finding.
    loose : str, optional
        Free coordinate that nothing holds, if known.
    """

    def __init__(self, message: str, *, loose: str | None = None) -> None:
        super().__init__(message)
        self.loose = loose


def height_at_load(model: ContactModel, pose: Pose, axial_force: float) -> float:
    """Return the height at which the contact carries an axial force, all else held.

    Parameters
    ----------
    model : ContactModel
        The contact.
    pose : Pose
        The five coordinates that are held, and the height where the search starts, within
        `SEARCH_RANGE`.
    axial_force : float
        Superior component of the contact force on the femur [N], > 0.

    Returns
    -------
    float
        The coordinate `superior` [m].

    Raises
    ------
    EquilibriumError
        If there is no such height, or the contact model fails.
    """
    target = check_number("axial_force", axial_force, above=0.0, unit="N")
    check_number("pose superior", pose.superior, at_least=-HIGHEST, at_most=HIGHEST, unit="m")
    known: dict[float, float] = {}

    def excess(height: float) -> float:
        if height not in known:
            force = _loads(model, replace(pose, superior=height))
            # The root of a contact load is nearly linear in the height.
            known[height] = float(np.sign(force) * np.sqrt(abs(force)) - np.sqrt(target))
        return known[height]

    low, high = _bracket(excess, pose, target)
    if excess(low) == 0.0:
        return low
    return float(brentq(excess, low, high, xtol=1e-12, rtol=1e-13, maxiter=100))


def settle(
    model: ContactModel,
    simulator: KneeSimulator,
    *,
    flexion: float,
    axial_force: float,
    ap_force: float = 0.0,
    internal_torque: float = 0.0,
    adduction_torque: float = 0.0,
    start: Pose,
    held: Sequence[str] = (),
    tolerance: float = 1e-6,
    iterations: int = 300,
) -> Pose:
    """Return the static equilibrium of the knee under constant loads.

    Newton's method is tried from the start, and taken if its steps become shorter and shorter.
    Otherwise the search finds the height that carries the axial force, tries Newton's method from
    there, then relaxes the free coordinates, M q' = Q(q), by implicit Euler steps that grow as the
    residual falls (pseudo-transient continuation, Kelley & Keyes 1998, SIAM J Numer Anal
    35:508-523) and ends as Newton's method. A small push leaves an unstable equilibrium.
    Where the search stands still at a jump of the forces, means over heights within 2 um go on.

    Parameters
    ----------
    model : ContactModel
        Contact of femur and tibia.
    simulator : KneeSimulator
        Restraints and line of action of the axial force.
    flexion : float
        Fixed flexion [rad].
    axial_force : float
        Force that presses the femur onto the tibia [N], > 0.
    ap_force : float
        Force on the tibia, anterior positive [N].
    internal_torque : float
        Torque on the tibia, internal positive [N m].
    adduction_torque : float
        Torque on the tibia about the anterior axis, positive where it loads the medial
        compartment [N m].
    start : Pose
        Start of the search, within `SEARCH_RANGE` of contact in height; its flexion is not used.
    held : sequence of str
        Coordinates besides flexion that keep their values of the start.
    tolerance : float
        Largest residual (moments over 20 mm) as a share of the axial force [1]. Where the force
        jumps at edges of a surface, the pose with the least residual is taken if the equilibrium of
        the linearised forces is within 10 um in anterior and 1 um in superior position, 5 um in
        lateral position, 0.1 mrad of adduction and 0.2 mrad of rotation; or within five times these
        if the residual is at most 5e-4 of the axial force.
    iterations : int
        Largest number of evaluations of the relaxation.

    Returns
    -------
    Pose
        The equilibrium.

    Raises
    ------
    EquilibriumError
        If no equilibrium exists near the start, for example because a loaded coordinate has no
        restraint; the message states pose and residual.
    """
    check_number("axial_force", axial_force, above=0.0, unit="N")
    applied = AppliedLoads(
        axial_force,
        check_number("ap_force", ap_force),
        check_number("internal_torque", internal_torque),
        check_number("adduction_torque", adduction_torque),
    )
    begin = replace(start, flexion=check_number("flexion", flexion))
    for name in held:
        check_in("held", name, FREE_COORDINATES)
    free = np.array([name not in held for name in FREE_COORDINATES])
    inner, offset, factor = without_variation(model)
    problem = simulator.problem(offset=offset, factor=factor)
    balance = _Balance(inner, problem, applied.array, simulator.inertia, free, axial_force)
    allowed = check_number("tolerance", tolerance, above=0.0) * axial_force
    near, _ = _newton(balance, begin, *balance(begin), allowed)
    if near is not None and balance.unstable_direction(near) is None:
        return near
    begin = replace(begin, superior=height_at_load(model, begin, axial_force))
    remaining = iterations
    for _ in range(4):
        pose, used, balance = _relax(balance, begin, allowed, remaining)
        push = balance.unstable_direction(pose)
        if push is None:
            return pose
        remaining -= used
        begin = _moved(pose, push)
        loose = FREE_COORDINATES[int(np.abs(push / _LARGEST_MOVE).argmax())]
    raise EquilibriumError(
        f"only unstable equilibria found (the last at {describe_pose(pose)}): nothing holds "
        f"{loose}; add a restraint spring to the simulator or correct the line of "
        "action of the axial force"
    )


@dataclass(frozen=True, eq=False)
class _Balance:
    """Generalised forces on the free coordinates under constant loads."""

    model: ContactModel
    problem: Problem
    applied: FloatArray
    inertia: FloatArray
    free: NDArray[np.bool_]
    axial_force: float
    width: float = 0.0

    def __call__(self, pose: Pose) -> tuple[FloatArray, FloatArray]:
        """Return the residual (5,) and its Jacobian (5, 5); held coordinates have no residual."""
        # With a `width` [m], the mean over heights within this distance, whose slope stands for a
        # jump.
        if self.width == 0.0:
            return self._at(pose, 0.0)
        low, high = (self._at(pose, side) for side in (-self.width, self.width))
        below, above, end, other = low, high, -self.width, self.width
        for _ in range(_HALVINGS):
            middle = 0.5 * (end + other)
            forces = self._at(pose, middle)
            if _size(forces[0] - below[0]) < _size(forces[0] - above[0]):
                below, end = forces, middle
            else:
                above, other = forces, middle
        share = 0.5 * (1.0 + end / self.width)
        force = 0.5 * (share * (low[0] + below[0]) + (1.0 - share) * (above[0] + high[0]))
        jacobian = share * low[1] + (1.0 - share) * high[1]
        steep = (high[0] - low[0]) / (2.0 * self.width) - jacobian[:, _HEIGHT]
        if steep[_HEIGHT] < 0.0:
            jacobian = jacobian + np.outer(steep, steep) / steep[_HEIGHT]
        return force, jacobian

    def jumps_at(self, pose: Pose, force: FloatArray) -> bool:
        """Return whether the forces jump near a pose by half of a residual (5,) or more."""
        low, high = (self._at(pose, side) for side in (-_JUMPS[0], _JUMPS[0]))
        smooth = _JUMPS[0] * (low[1] + high[1])[:, _HEIGHT]
        return _size(high[0] - low[0] - smooth) >= 0.5 * _size(force)

    def _at(self, pose: Pose, higher: float) -> tuple[FloatArray, FloatArray]:
        """Return residual and Jacobian at a pose that is raised [m]."""
        coordinates = pose.array
        coordinates[1 + _HEIGHT] += higher
        try:
            placed = Pose(*(coordinates + self.problem.offset).tolist())
            loads = self.model.loads(placed, order=1)
        except (InputError, PoseError, ArithmeticError) as error:
            raise _failed(pose, error) from error
        wrench = np.ascontiguousarray(loads.wrench)
        by_pose = np.ascontiguousarray(loads.total_jacobian)
        force, jacobian = self.problem.forces(coordinates, self.applied, wrench, by_pose)
        if not (np.isfinite(force).all() and np.isfinite(jacobian).all()):
            raise _failed(pose, ArithmeticError("forces or slopes are not finite"))
        residual, slopes = force[FREE], jacobian[FREE, FREE]
        if not self.free.all():
            held = ~self.free
            residual[held], slopes[held], slopes[:, held] = 0.0, 0.0, 0.0
            # A held coordinate counts as restrained by a unit spring.
            slopes[held, held] = -1.0
        return residual, slopes

    def unstable_direction(self, pose: Pose) -> FloatArray | None:
        """Return a small move (5,) along which the knee would leave the pose, or None."""
        _, jacobian = self(pose)
        growth, modes = np.linalg.eig(jacobian / self.inertia[:, None])
        worst = int(growth.real.argmax())
        if growth[worst].real <= 1e-6 * np.abs(growth).max():
            return None
        mode = np.asarray(modes[:, worst].real, dtype=np.float64)
        push: FloatArray = 0.2 * mode / np.abs(mode / _LARGEST_MOVE).max()
        return push


def _relax(
    balance: _Balance, begin: Pose, allowed: float, iterations: int
) -> tuple[Pose, int, _Balance]:
    """Return the pose at rest, the number of evaluations of the relaxation, and its balance."""
    # A search that stands still at a jump of the forces goes on with their means over heights.
    pose = begin
    force, jacobian = balance(pose)
    near, count = _newton(balance, pose, force, jacobian, allowed)
    if near is not None:
        return near, count, balance
    inertia = balance.inertia
    size = _size(force)
    step = first = 1.0 / np.abs(np.diagonal(jacobian) / inertia).max(initial=1.0)
    stalled, boost, refused = 0, _BOOST, False
    best, best_pose, best_forces = size, pose, (force, jacobian)
    for count in range(1, iterations + 1):
        if size <= allowed:
            return pose, count, balance
        move = _step(np.diag(inertia / step) - jacobian, force)
        if refused and np.abs(move / _LARGEST_MOVE).max() < _STILL:
            break
        trial = _moved(pose, move)
        trial_force, trial_jacobian = balance(trial)
        trial_size = _size(trial_force)
        if trial_size > 2.0 * size:
            step, refused = 0.2 * step, True
            continue
        refused = False
        step *= float(np.clip(boost * size / max(trial_size, 1e-300), 0.5, _GROWTH))
        step = min(step, 1e12)
        pose, force, jacobian, size = trial, trial_force, trial_jacobian, trial_size
        stalled += 1
        if size < best:
            stalled = 0
            best, best_pose, best_forces = size, pose, (force, jacobian)
        if stalled == _PATIENCE:
            if _is_near(*best_forces, _NEAR):
                return best_pose, count, balance
            # Newton's method cycles where a facetted surface is rough: return to the flow.
            step, stalled, boost = max(1e-3 * step, first), 0, max(_LEAST_BOOST, 0.7 * boost)
    small = best <= _SHARE_AT_END * balance.axial_force
    if _is_near(*best_forces, _NEAR_AT_END if small else _NEAR):
        return best_pose, count, balance
    if balance.width == 0.0 and balance.jumps_at(best_pose, best_forces[0]):
        for width in _JUMPS:
            means = replace(balance, width=width)
            best_pose, count, mean = _relax(means, best_pose, allowed, min(iterations, _MEANS))
        return best_pose, count, mean
    raise EquilibriumError(_not_found(pose, force, jacobian, allowed, best, count))


def _newton(
    balance: _Balance, pose: Pose, force: FloatArray, jacobian: FloatArray, allowed: float
) -> tuple[Pose | None, int]:
    """Return the pose at rest, if Newton's method finds it at once, and the evaluations."""
    longest = 1.0
    for count in range(1, _NEWTON_STEPS + 1):
        if _size(force) <= allowed:
            return pose, count
        move = _step(-jacobian, force)
        length = float(np.abs(move / _LARGEST_MOVE).max())
        if length >= longest:
            break
        pose, longest = _moved(pose, move), _NEWTON_FALL * length
        try:
            force, jacobian = balance(pose)
        except EquilibriumError:
            break
    return None, count


def _is_near(force: FloatArray, jacobian: FloatArray, near: float) -> bool:
    """Return whether a short move leads to the equilibrium of the linearised forces."""
    move = _step(-jacobian, force)
    # A loaded coordinate without stiffness does not move, and its force stays.
    solved = _size(force + jacobian @ move) <= 0.1 * _size(force)
    return bool(solved and np.abs(move / _LARGEST_MOVE).max() <= near)


def _size(force: FloatArray) -> float:
    """Return the largest of the five forces, moments over the arm [N]."""
    return float(np.abs(_WEIGHTS * force).max())


def _step(matrix: FloatArray, force: FloatArray) -> FloatArray:
    """Return the move (5,) that solves the linear system, limited to the largest step."""
    scale = _LARGEST_MOVE
    # Balanced rows and columns: angles and lengths differ by orders of magnitude. A coordinate
    # without restraint makes the matrix almost singular and must not affect the others.
    balanced = matrix * scale * scale[:, None]
    move = scale * np.linalg.lstsq(balanced, force * scale, rcond=1e-13)[0]
    capped: FloatArray = move / max(1.0, np.abs(move / _LARGEST_MOVE).max())
    return capped


def _not_found(
    pose: Pose,
    force: FloatArray,
    jacobian: FloatArray,
    allowed: float,
    best: float,
    iterations: int,
) -> str:
    worst = int(np.abs(_WEIGHTS * force).argmax())
    unit = "N m" if worst < 2 else "N"
    text = (
        f"no static equilibrium after {iterations} iterations: residual {force[worst]:.3g} {unit} "
        f"on {FREE_COORDINATES[worst]} (allowed {allowed / _WEIGHTS[worst]:.2g} {unit}) at "
        f"{describe_pose(pose)}; the smallest residual was {best:.3g} N"
    )
    stiffness = -np.diagonal(jacobian)
    loose = [n for n, k in zip(FREE_COORDINATES, stiffness, strict=True) if k <= 1e-9]
    if loose:
        text += f"; no restoring force on {', '.join(loose)}: add a restraint spring"
    return text


def _bracket(excess: Callable[[float], float], pose: Pose, target: float) -> tuple[float, float]:
    """Return two heights [m], one with too much load and one with too little, near the start."""
    height, step = pose.superior, _FIRST_STEP
    direction = 1.0 if excess(height) > 0.0 else -1.0
    while abs(height - pose.superior) < SEARCH_RANGE:
        further = height + direction * step
        if excess(further) * direction <= 0.0:
            low, high = sorted((height, further))
            return low, high
        height, step = further, min(1.5 * step, _LARGEST_STEP)
    side = "more" if direction > 0.0 else "less"
    raise EquilibriumError(
        f"no height carries {target:g} N within {1e3 * SEARCH_RANGE:g} mm of the start: the "
        f"contact still carries {side} at superior {1e3 * height:.4g} mm; start from a pose "
        f"nearer to contact than {describe_pose(pose)}"
    )


def _loads(model: ContactModel, pose: Pose) -> float:
    try:
        return float(model.loads(pose).force[1])
    except (InputError, PoseError, ArithmeticError) as error:
        raise _failed(pose, error) from error


def _failed(pose: Pose, error: Exception) -> EquilibriumError:
    return EquilibriumError(f"the contact model failed at {describe_pose(pose)}: {error}")


def _moved(pose: Pose, move: FloatArray) -> Pose:
    return Pose(pose.flexion, *(pose.array[FREE] + move).tolist())
