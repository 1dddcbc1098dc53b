"""The two examples: energy of a double pendulum, ground reaction of two legs (fig. 2 and 3)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.heel_strike import FRICTION, reversing_impact
from benchmarks.literature.kaplan.simulations import largest_rise, one_leg, two_legs
from benchmarks.literature.statements import Statement
from benchmarks.measures import max_abs
from dynamics.mechanics.ground import StrikeResult, newton_impact
from dynamics.walking.motion_tables import read_motion_table
from foundation.base.checks import FloatArray
from pipeline.config.data_folder import data_path

#: Vertical force of the left and the right foot of a walk of OpenSim's subject01.
MEASURED = "$KNEE_DATA/opensim_core_gait/subject01_walk_grf.mot"
COLUMNS = ("ground_force_vy", "1_ground_force_vy")
#: Force above which a foot counts as on the ground [N].
LOADED = 20.0


def gain_of(restitution: float) -> float:
    """Return the change of the kinetic energy by Newton's law, over that before [1]."""
    start = reversing_impact()
    state = start.position, start.velocity
    impact = newton_impact(
        start.leg, start.points, *state, restitution=restitution, friction=FRICTION
    )
    return impact.energy_change / start.leg.kinetic_energy(*state)


def newton() -> Statement:
    tried = (0.3, 0.5, 0.7, 0.9)
    gains = [gain_of(each) for each in tried]
    shown = ", ".join(
        f"{100 * gain:+.0f} % for e = {e:g}" for e, gain in zip(tried, gains, strict=True)
    )
    return Statement(
        "fig. 2, Newton's law",
        "a double pendulum that strikes the ground with friction gains energy by Newton's law at "
        "once, also with a coefficient of restitution below one",
        f"kinetic energy over the impact, μ = {FRICTION:g}: {shown}",
        max(gains) > 0.0,
        "fig. 2 is missing; posture and rates are chosen here so that sliding reverses: elsewhere "
        "energy is lost",
    )


def penalty() -> Statement:
    cases = [one_leg("printed", name) for name in ("reversing", "locked", "hinged")]
    cases.append(two_legs("printed"))
    ours = [one_leg("ours", name) for name in ("reversing", "locked", "hinged")]
    ours.append(two_legs("ours"))
    literal = one_leg("literal", "locked")
    rise = max(map(largest_rise, [*cases, literal]))
    balance = max(max_abs(r.energy + r.loss - r.energy[0]) for r in (*cases, literal))
    lost, own = ([float(r.energy[0] - r.energy[-1]) for r in each] for each in (cases, ours))
    return Statement(
        "fig. 2, penalty contact",
        "the penalty method is energetically consistent",
        f"eq. 3 and 4 with one ε, one β and ḋ_t/‖ḋ_t‖: largest rise of the energy {rise:.0e} J, "
        f"energy and losses balanced within {balance:.0e} J; "
        f"{', '.join(f'{each:.1f}' for each in lost)} J lost by the pinned double pendulum, by a "
        f"body on one leg with ankle locked and hinged, and on two legs; by our law "
        f"{', '.join(f'{each:.1f}' for each in own)} J; with ḋ_t/‖d_t‖ in seconds the locked ankle "
        f"loses {literal.energy[0] - literal.energy[-1]:.1f} J",
        rise < 1e-7 and balance < 1e-5 and min(lost) > 0.0,
        "the friction of eq. 4 opposes sliding and gives nothing back; fig. 2 is missing",
    )


class Profile(NamedTuple):
    """Vertical forces around a heel strike, over body weight; times from the strike.

    Parameters
    ----------
    time : (T,) float64
        [s].
    front, back : (T,) float64
        Striking and leaving foot [1].
    """

    time: FloatArray
    front: FloatArray
    back: FloatArray

    @property
    def top(self) -> int:
        """Index of the largest force of the striking foot."""
        return int(np.argmax(self.front))

    @property
    def leaves(self) -> float:
        """Time at which the back foot leaves [s]."""
        loaded = np.flatnonzero(self.back > 0.03)
        return float(self.time[loaded[-1]])

    def events(self) -> tuple[bool, bool, bool, bool]:
        """Return whether the profile has the marks of a heel strike.

        The front foot passes body weight, the back foot bears load at the strike and then leaves,
        both together pass body weight, and the front foot falls below body weight afterwards.
        """
        passes = bool(self.front.max() > 1.0)
        leaves = bool(self.back[0] > 0.1 and 0.0 < self.leaves < self.time[-1])
        both = bool((self.front + self.back).max() > 1.0)
        return passes, leaves, both, bool(self.front[self.top :].min() < 1.0)

    def words(self) -> str:
        """Return the profile in words."""
        least = self.front[self.top :].min()
        return (
            f"front foot to {self.front.max():.2f} body weights after "
            f"{1e3 * self.time[self.top]:.0f} ms and down to {least:.2f}, back foot from "
            f"{self.back[0]:.2f} to zero at {1e3 * self.leaves:.0f} ms, together "
            f"{(self.front + self.back).max():.2f}"
        )


def computed(law: str = "printed") -> Profile:
    """Return the profile of the two legs."""
    result: StrikeResult = two_legs(law)
    strike = next(each.time for each in result.changes if each.point == "swing heel")
    rows = result.time >= strike
    forces = result.forces[rows, :, 1] / result.weight
    return Profile(result.time[rows] - strike, forces[:, 2:].sum(axis=1), forces[:, :2].sum(axis=1))


@cache
def measured() -> Profile | None:
    """Return a measured profile up to 0.3 s after the strike; None without the data folder."""
    path = data_path(MEASURED, Path())
    if not path.is_file():
        return None
    table = read_motion_table(path)
    right, left = (table.values[:, table.names.index(name)] for name in COLUMNS)
    first = int(np.argmax(right > LOADED))  # strike of the right foot
    second = first + int(np.argmax((left[first:-1] <= LOADED) & (left[first + 1 :] > LOADED)))
    # From strike to strike the mean force is body weight.
    weight = float((right + left)[first:second].mean())
    rows = (table.time >= table.time[second]) & (table.time <= table.time[second] + 0.3)
    return Profile(table.time[rows] - table.time[second], left[rows] / weight, right[rows] / weight)


def profile() -> Statement:
    ours, theirs = computed(), measured()
    shown, marked = f"as printed: {ours.words()}", all(ours.events())
    remark = (
        "postures, speeds and ground are chosen here; fig. 3 is missing; in kind: the same events"
    )
    if theirs is not None:
        shown, marked = f"{shown}; measured: {theirs.words()}", marked and all(theirs.events())
        remark += (
            f", computed {theirs.leaves / ours.leaves:.1f} and "
            f"{theirs.time[theirs.top] / ours.time[ours.top]:.1f} times as fast"
        )
    return Statement(
        "fig. 3, second model",
        "two legs, the back one in lasting contact: the profile of the normal force resembles "
        "experiments in kind",
        shown,
        marked,
        remark,
    )


def peaks() -> Statement:
    found = {
        "ankle locked": one_leg("printed", "locked").peak_reaction,
        "ankle hinged": one_leg("printed", "hinged").peak_reaction,
        "two legs": two_legs("printed").peak_reaction,
    }
    shown = ", ".join(f"{peak:.2f} ({name})" for name, peak in found.items())
    least = min(
        one_leg("ours", "locked").peak_reaction,
        one_leg("ours", "hinged").peak_reaction,
        two_legs("ours").peak_reaction,
    )
    return Statement(
        "introduction, discussion",
        "the ground reaction at heel strike exceeds body weight",
        f"largest reaction over body weight by eq. 3 and 4: {shown}; by our law at least "
        f"{least:.2f}",
        min(*found.values(), least) > 1.0,
        "postures, speeds and ground are chosen here",
    )


STATEMENTS = (
    newton,
    penalty,
    profile,
    peaks,
)
