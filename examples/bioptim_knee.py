"""The knee as a custom model of bioptim: `python examples/bioptim_knee.py runs/implant`.

bioptim optimises controls of a model that gives the numbers of its coordinates and the function
`forward_dynamics` of CasADi. Here the six generalised forces of the pose are the controls tau.
"""

import sys
from pathlib import Path

import casadi as ca
import numpy as np

import surrogates
from dynamics import KneeSimulator
from dynamics.expressions import Elementary, KneeExpressions
from foundation.base.pose import COORDINATES

FLEXION_INERTIA = 0.4  # shank and foot about the knee, kg m²


class KneeModel:
    """Coordinates, their names and forward dynamics, as bioptim reads them of a custom model."""

    def __init__(self, path: str) -> None:
        knee = surrogates.load(path).smoothed()
        simulator = KneeSimulator(neutral=knee.spaces[0].path)
        self.path = path
        self.q, self.qdot, self.tau = (ca.MX.sym(name, 6) for name in ("q", "qdot", "tau"))
        motion = KneeExpressions(Elementary.of(ca), simulator.problem())
        pose, wrench = ca.SX.sym("q", 6), ca.SX.sym("wrench", 6)
        forces = ca.vertcat(*motion.forces(pose, [0.0] * 4, wrench))
        passive = ca.Function("passive", [pose, wrench], [forces])
        contact = ca.sum2(knee.casadi()(self.q)[0])[:6]
        inertia = np.concatenate(([FLEXION_INERTIA], simulator.inertia))
        damping = np.concatenate(([0.0], simulator.damping))
        force = passive(self.q, contact) - damping * self.qdot + self.tau
        self._dynamics = ca.Function(
            "forward_dynamics", [self.q, self.qdot, self.tau], [force / inertia]
        )

    def serialize(self) -> tuple:
        """Return how the model is made again in another process."""
        return KneeModel, {"path": self.path}

    @property
    def name(self) -> str:
        """Name of the model."""
        return "knee"

    @property
    def nb_q(self) -> int:
        """Number of coordinates."""
        return 6

    nb_qdot = nb_qddot = nb_tau = nb_q

    @property
    def name_dof(self) -> list[str]:
        """Names of the coordinates."""
        return list(COORDINATES)

    def forward_dynamics(self, with_contact: bool = False) -> ca.Function:
        """Return accelerations as a function of q, qdot and tau; the contact is always part."""
        del with_contact
        return self._dynamics


def main(run: Path) -> dict[str, float]:
    """Return the accelerations at rest on the passive path at 20 degrees [rad/s², m/s²]."""
    model = KneeModel(str(run / "knee.npz"))
    pose = surrogates.load(model.path).spaces[0].path.poses([np.radians(20.0)])[0]
    found = model.forward_dynamics()(pose, np.zeros(6), np.zeros(6))
    return dict(zip(model.name_dof, np.array(found).ravel().tolist(), strict=True))


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1])).items():
        print(f"{name}: {value:.6g}")
