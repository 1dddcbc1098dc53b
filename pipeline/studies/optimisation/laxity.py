"""Passive AP travel of a design: between rests under a posterior and an anterior force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dynamics.protocol import ContactModel
from dynamics.simulator.equilibrium import settle
from dynamics.simulator.knee_simulator import KneeSimulator
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.studies.optimisation.schema import LaxityConfig
from surrogates.parametric.surrogate import ParametricSurrogate
from surrogates.sampling.space import ReferencePath


@dataclass(frozen=True)
class Laxity:
    """Loads of the passive AP travel."""

    #: Flexion [rad].
    flexion: float
    #: Axial force [N].
    axial_force: float
    #: Size of the AP force on the tibia [N].
    ap_force: float

    @classmethod
    def of(cls, config: LaxityConfig, knee: ParametricSurrogate) -> Self:
        """Return the loads of a configuration.

        Raises `InputError` if the surrogate is not trained at the flexion.
        """
        flexion = float(np.deg2rad(config.flexion_deg))
        low, high = np.array([part.space.flexion for part in knee.by_name.values()]).T
        if not low.max() <= flexion <= high.min():
            raise InputError(
                f"optimisation.laxity.flexion_deg: expected {np.rad2deg(low.max()):g} to "
                f"{np.rad2deg(high.min()):g}, where the surrogate is trained, found "
                f"{config.flexion_deg:g}"
            )
        return cls(flexion, config.axial_force_N, config.ap_force_N)

    def travel(self, model: ContactModel, simulator: KneeSimulator, start: Pose) -> float:
        """Return the AP travel of the resting knee [mm].

        The simulator gives restraints and line of action of the axial force; `start` is near the
        equilibrium without an AP force. Raises `EquilibriumError` if the knee does not rest under
        the loads.
        """
        rests = [
            settle(
                model,
                simulator,
                flexion=self.flexion,
                axial_force=self.axial_force,
                ap_force=sign * self.ap_force,
                start=start,
            )
            for sign in (-1.0, 1.0)
        ]
        return 1e3 * abs(rests[1].anterior - rests[0].anterior)

    def start(self, path: ReferencePath) -> Pose:
        """Return the pose of a reference path at the flexion of the travel."""
        return Pose.from_array(path.poses(np.array([self.flexion]))[0])
