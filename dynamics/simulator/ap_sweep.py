"""Static equilibrium from many AP positions: a search that does not depend on a good start.

The femur is held at each AP position while the other coordinates settle. Where the AP force changes
from anterior to posterior, a stable equilibrium lies between two positions. Holding a coordinate is
the limit of a stiff temporary spring.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from dynamics.protocol import ContactModel
from dynamics.simulator.equilibrium import EquilibriumError, settle
from dynamics.simulator.knee_simulator import FREE_COORDINATES, AppliedLoads, KneeSimulator
from foundation.base.checks import check_number
from foundation.base.errors import InputError
from foundation.base.pose import Pose

#: Coordinates held in turn, from the most to the fewest: each rest is the start of the next search.
_HELD = (("anterior", "rotation", "lateral"), ("anterior", "rotation"), ("anterior",))
#: Largest number of evaluations at one position, and largest residual as a share of the axial
#: force: a rest tells the sign of the AP force and where a search begins.
_ITERATIONS, _TOLERANCE = 150, 2e-3
_AP = 1 + FREE_COORDINATES.index("anterior")


@dataclass(frozen=True)
class HeldRest:
    """Rest of a knee that is held in AP."""

    #: Equilibrium of the other coordinates.
    pose: Pose
    #: Of contact, springs, ligaments on the femur [N], anterior positive; 0 at equilibrium.
    ap_force: float


def settle_from_sweep(
    model: ContactModel,
    simulator: KneeSimulator,
    *,
    flexion: float,
    axial_force: float,
    starts: Sequence[Pose],
) -> Pose:
    """Return the equilibrium that a sweep over AP positions finds nearest to the middle start."""
    # The starts are poses near contact at increasing `anterior`. `EquilibriumError` names in
    # `loose` the coordinate that nothing holds.
    check_number("axial_force", axial_force, above=0.0, unit="N")
    places = [start.anterior for start in starts]
    if len(places) < 2 or any(b <= a for a, b in pairwise(places)):
        raise InputError(
            "starts: expected two or more poses with increasing anterior coordinates, found "
            f"{[f'{1e3 * place:.4g} mm' for place in places]}"
        )
    rests = sweep_ap(model, simulator, flexion=flexion, axial_force=axial_force, starts=starts)
    middle = starts[len(starts) // 2].anterior
    between = sorted(
        (_between(a, b) for a, b in pairwise(rests) if a.ap_force >= 0.0 > b.ap_force),
        key=lambda pose: abs(pose.anterior - middle),
    )
    reason = _nowhere(rests, simulator)
    for start in between:
        try:
            return settle(model, simulator, flexion=flexion, axial_force=axial_force, start=start)
        except EquilibriumError as error:
            reason = str(error)
    raise EquilibriumError(reason, loose="anterior")


def sweep_ap(
    model: ContactModel,
    simulator: KneeSimulator,
    *,
    flexion: float,
    axial_force: float,
    starts: Sequence[Pose],
) -> list[HeldRest]:
    """Return the rests of a knee held at AP positions of `starts`, or `EquilibriumError`."""
    applied = AppliedLoads(axial_force)
    rests: dict[int, HeldRest] = {}
    errors: list[EquilibriumError] = []
    # The middle says most, the ends may be off the tibia; if all three fail, so will the others.
    count = len(starts)
    first = dict.fromkeys((count // 2, count // 4, 3 * count // 4))
    for place in (*first, *(k for k in range(count) if k not in first)):
        try:
            pose = _released(model, simulator, flexion, axial_force, starts[place])
        except EquilibriumError as error:
            errors.append(error)
            if len(errors) >= len(first) and not rests:
                break
            continue
        force = simulator.force(pose, model.loads(pose).wrench, applied)[_AP]
        rests[place] = HeldRest(pose, float(force))
    if not rests:
        raise errors[0]
    return [rests[place] for place in sorted(rests)]


def _released(
    model: ContactModel, simulator: KneeSimulator, flexion: float, axial_force: float, start: Pose
) -> Pose:
    """Return the rest with only AP held; if that fails, further coordinates are held first."""

    def rest(start: Pose, held: tuple[str, ...]) -> Pose:
        return settle(
            model,
            simulator,
            flexion=flexion,
            axial_force=axial_force,
            start=start,
            held=held,
            tolerance=_TOLERANCE,
            iterations=_ITERATIONS,
        )

    with suppress(EquilibriumError):
        return rest(start, _HELD[-1])
    pose = start
    before: tuple[str, ...] = (*_HELD[0], "adduction")
    for held in _HELD:
        try:
            pose = rest(pose, held)
        except EquilibriumError as error:
            loose = next(name for name in before if name not in held)
            text = f"with {', '.join(held)} held, nothing holds {loose}: {error}"
            raise EquilibriumError(text, loose=loose) from error
        before = held
    return pose


def _between(behind: HeldRest, ahead: HeldRest) -> Pose:
    """Return the pose between two rests where the AP force is zero by linear interpolation."""
    share = behind.ap_force / (behind.ap_force - ahead.ap_force)
    pose = Pose.from_array((1.0 - share) * behind.pose.array + share * ahead.pose.array)
    return replace(pose, flexion=behind.pose.flexion)


def _nowhere(rests: Sequence[HeldRest], simulator: KneeSimulator) -> str:
    """Return the text on a sweep without an equilibrium."""
    low, high = (1e3 * rests[k].pose.anterior for k in (0, -1))
    text = f"held at AP positions from {low:.1f} to {high:.1f} mm, "
    forces = [held_rest.ap_force for held_rest in rests]
    text += f"the femur is pushed anteriorly by {min(forces):.0f} to {max(forces):.0f} N"
    slopes = [
        (b.ap_force - a.ap_force) / (b.pose.anterior - a.pose.anterior) for a, b in pairwise(rests)
    ]
    steepest = max(slopes, default=0.0)
    if steepest > 0.0:
        needed = 1e-3 * (simulator.anterior_stiffness + steepest)
        text += f"; an AP spring of more than {needed:.0f} N/mm holds the femur everywhere"
    return text
