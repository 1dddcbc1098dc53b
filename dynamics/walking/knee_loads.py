"""Loads on the tibiofemoral joint in walking, and the gait cycle of the knee simulator from them.

Contact and ligaments exert on the tibia the intersegmental force of inverse dynamics (of all
tissues) minus the forces of the muscles. The muscles thus compress the joint with a multiple of the
body weight.

In the sagittal plane the muscles balance the moments at hip, knee and ankle. The remaining axial
torque and adduction moment are the differences of the intersegmental and the muscle moments; the
joint carries the adduction moment by unequal loads of its compartments. Both moments depend on the
lateral position of the knee, which planar motion does not determine: with `straight_leg`, hip, knee
and ankle are on a line in the frontal plane, and the ankle is above the mean centre of pressure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.simulator.waveforms import GaitCycle, lead_back
from dynamics.walking.inverse_dynamics import LegLoads
from dynamics.walking.muscle_loads import MuscleLoads
from dynamics.walking.trial import GaitTrial
from foundation.base.checks import FloatArray, check_in, check_number
from foundation.base.errors import InputError

#: Adduction moments that contact may carry.
ADDUCTION_MOMENTS = ("external", "remaining")


@dataclass(frozen=True, eq=False)
class KneeLoads:
    """Loads on a knee over a stride, as a right knee.

    Parameters
    ----------
    percent : (N,) float64
        Instants [% of the stride].
    period : float
        Duration of the stride [s].
    flexion : (N,) float64
        Knee flexion [rad].
    axial_force : (N,) float64
        Compression of the joint [N]; negative in tension.
    ap_force : (N,) float64
        Force on the tibia that contact and ligaments resist, anterior positive [N].
    internal_torque : (N,) float64
        Torque on the tibia that contact and ligaments resist, internal positive [N m].
    adduction_moment : (N,) float64
        Adduction moment on the tibia that contact and ligaments resist; loads the medial
        compartment [N m].
    external_adduction_moment : (N,) float64
        Adduction moment without the muscles [N m].
    """

    percent: FloatArray
    period: float
    flexion: FloatArray
    axial_force: FloatArray
    ap_force: FloatArray
    internal_torque: FloatArray
    adduction_moment: FloatArray
    external_adduction_moment: FloatArray

    def peaks(self, body_weight: float) -> tuple[float, float]:
        """Return the peak axial forces of early and late stance over the body weight [1].

        Early stance lasts to 30 % of the stride, late stance from 30 to 65 %.
        """
        weight = check_number("body_weight", body_weight, above=0.0, unit="N")
        early, late = self.percent < 30.0, (self.percent >= 30.0) & (self.percent < 65.0)
        force = self.axial_force / weight
        return float(force[early].max()), float(force[late].max())

    def gait_cycle(
        self,
        *,
        least_axial_force: float = 0.0,
        largest_offset: float | None = None,
        adduction: str = "external",
    ) -> GaitCycle:
        """Return the gait cycle of the knee simulator, with every signal closed to be periodic.

        Parameters
        ----------
        least_axial_force : float
            Lower limit of the axial force [N], >= 0, which keeps a knee without ligaments in
            contact in swing.
        largest_offset : float, optional
            Largest adduction moment over the axial force [m], > 0: contact carries the moment up to
            this offset of the force, ligaments and antagonists carry the rest. By default, the
            cycle has no adduction torque.
        adduction : {"external", "remaining"}
            Adduction moment: the external moment, as if muscles that the model lacks balanced the
            frontal moments of its muscles, or the moment that remains after its muscles.
        """
        least = check_number("least_axial_force", least_axial_force, at_least=0.0, unit="N")
        part = 1e-2 * self.percent
        axial = np.maximum(lead_back(part, self.axial_force), least)
        flexion, ap, torque = (
            lead_back(part, signal)
            for signal in (self.flexion, self.ap_force, self.internal_torque)
        )
        check_in("adduction", adduction, ADDUCTION_MOMENTS)
        external = adduction == "external"
        carried = None
        if largest_offset is not None:
            limit = axial * check_number("largest_offset", largest_offset, above=0.0, unit="m")
            moment = self.external_adduction_moment if external else self.adduction_moment
            carried = np.clip(lead_back(part, moment), -limit, limit)
        return GaitCycle(
            self.percent, flexion, axial, ap, torque, self.period, adduction_torque=carried
        )


def lateral_offset(leg: LegLoads, trial: GaitTrial) -> FloatArray:
    """Return how far the knee of a straight leg is lateral of the plane of the leg, (N,) [m].

    In the frontal plane, hip, knee and ankle are on a line. The hip is that of the trial, the ankle
    above the centre of pressure in the mean over the stride, weighted by the vertical force.
    """
    weights = np.maximum(trial.force[:, 1], 0.0)
    if not weights.any():
        return np.zeros(len(trial.time))
    foot = float(np.average(trial.centre_of_pressure[:, 2], weights=weights))
    thigh, shank = (
        np.linalg.norm(upper.centre[0] - lower.centre[0])
        for upper, lower in ((leg.hip, leg.knee), (leg.knee, leg.ankle))
    )
    offset: FloatArray = thigh / (thigh + shank) * (foot - leg.hip.centre[:, 2])
    return offset


def knee_loads(
    trial: GaitTrial, leg: LegLoads, muscles: MuscleLoads, *, straight_leg: bool = False
) -> KneeLoads:
    """Return the loads of the tibiofemoral joint.

    Parameters
    ----------
    trial : GaitTrial
        Stride.
    leg : LegLoads
        Inverse dynamics of the stride.
    muscles : MuscleLoads
        Muscle forces at the instants of the stride.
    straight_leg : bool
        Whether the knee is at `lateral_offset` instead of in the plane of the leg.

    Raises
    ------
    InputError
        If the numbers of instants differ.
    """
    counts = len(trial.time), len(leg.time), len(muscles.forces)
    if len(set(counts)) > 1:
        raise InputError(
            f"muscles: expected the instants of trial and leg, found {counts} instants"
        )
    # Load of the femur on the tibia by contact and ligaments; the applied load is the opposite.
    force = leg.knee_force - muscles.knee_force
    at_knee = leg.knee_moment
    if straight_leg:
        # The leg below is displaced with the knee by d along z: M' = M + d z × F of the ground.
        beside = np.zeros_like(at_knee)
        beside[:, 2] = lateral_offset(leg, trial)
        ground = np.einsum("nji,nj->ni", leg.shank_rotation, trial.force)
        at_knee = at_knee + np.cross(beside, ground)
    moment = at_knee - muscles.knee_moment
    return KneeLoads(
        percent=trial.percent,
        period=float(trial.time[-1] - trial.time[0]),
        flexion=trial.coordinate("knee_flexion"),
        axial_force=-force[:, 1],
        ap_force=-force[:, 0],
        internal_torque=-moment[:, 1],
        adduction_moment=-moment[:, 0],
        external_adduction_moment=-at_knee[:, 0],
    )
