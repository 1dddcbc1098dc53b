"""Loads on the tibiofemoral joint in walking, and the cycle of a knee simulator that they make.

Of the body below the knee, the femur bears what muscles and joint moments leave over: with the
force F of the thigh on the shank from inverse dynamics, all tissues together, and the force of
the muscles on it, contact and ligaments exert F - sum of the muscles' pulls. Muscles thus press the
joint together with a multiple of the body's weight.

In the plane, muscles balance the moments at hip, knee and ankle. The axial torque that they leave
over is the difference of the intersegmental one and theirs; so is the adduction moment, which the
joint bears by loading its compartments unequally. Both depend on where the pelvis is across the
direction of walking, which planar motion does not tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.simulator.waveforms import GaitCycle, lead_back
from dynamics.walking.inverse_dynamics import LegLoads
from dynamics.walking.muscle_loads import MuscleLoads
from dynamics.walking.trial import GaitTrial
from foundation.checks import FloatArray, check_number
from foundation.errors import InputError


@dataclass(frozen=True, eq=False)
class KneeLoads:
    """What a knee bears over a stride, as a right knee.

    Parameters
    ----------
    percent : (N,) float64
        Instants [% of the stride].
    period : float
        Duration of the stride [s].
    flexion : (N,) float64
        [rad].
    axial_force : (N,) float64
        Presses the femur onto the tibia [N]; negative where it pulls.
    ap_force : (N,) float64
        On the tibia, anterior positive [N]: what contact and ligaments resist.
    internal_torque : (N,) float64
        On the tibia, internal positive [N m], likewise.
    adduction_moment : (N,) float64
        On the tibia, adducting it [N m], likewise: it loads the medial compartment.
    """

    percent: FloatArray
    period: float
    flexion: FloatArray
    axial_force: FloatArray
    ap_force: FloatArray
    internal_torque: FloatArray
    adduction_moment: FloatArray

    def peaks(self, body_weight: float) -> tuple[float, float]:
        """Return the largest axial force of early and of late stance, over the body weight.

        Early stance ends, and late stance begins, at 30 % of the stride; late stance ends at 65 %.
        """
        weight = check_number("body_weight", body_weight, above=0.0, unit="N")
        early, late = self.percent < 30.0, (self.percent >= 30.0) & (self.percent < 65.0)
        force = self.axial_force / weight
        return float(force[early].max()), float(force[late].max())

    def gait_cycle(self, *, least_axial_force: float = 0.0) -> GaitCycle:
        """Return the inputs of the knee simulator, each led back to where the stride began.

        Parameters
        ----------
        least_axial_force : float
            The axial force is raised to this where it is less, so that a knee without ligaments
            stays together in swing [N], >= 0.
        """
        least = check_number("least_axial_force", least_axial_force, at_least=0.0, unit="N")
        part = 1e-2 * self.percent
        axial = np.maximum(lead_back(part, self.axial_force), least)
        flexion, ap, torque = (
            lead_back(part, signal)
            for signal in (self.flexion, self.ap_force, self.internal_torque)
        )
        return GaitCycle(self.percent, flexion, axial, ap, torque, self.period)


def knee_loads(trial: GaitTrial, leg: LegLoads, muscles: MuscleLoads) -> KneeLoads:
    """Return the loads of the tibiofemoral joint.

    Parameters
    ----------
    trial : GaitTrial
        The stride.
    leg : LegLoads
        Its inverse dynamics.
    muscles : MuscleLoads
        Forces of the muscles at its instants.

    Raises
    ------
    InputError
        If the three are not of the same instants.
    """
    counts = len(trial.time), len(leg.time), len(muscles.forces)
    if len(set(counts)) > 1:
        raise InputError(f"muscles: expected as many instants as the trial, found {counts}")
    # Of the femur on the tibia by contact and ligaments; what loads them is the opposite.
    force = leg.knee_force - muscles.knee_force
    moment = leg.knee_moment - muscles.knee_moment
    return KneeLoads(
        percent=trial.percent,
        period=float(trial.time[-1] - trial.time[0]),
        flexion=trial.coordinate("knee_flexion"),
        axial_force=-force[:, 1],
        ap_force=-force[:, 0],
        internal_torque=-moment[:, 1],
        adduction_moment=-moment[:, 0],
    )
