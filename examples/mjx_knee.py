"""The contact of a knee in MuJoCo XLA (MJX): `python examples/mjx_knee.py runs/implant`.

Six joints carry the femur: their coordinates, backwards, are the pose. A step of MJX with the
contact as a generalised force is compiled by JAX, and its derivative follows by automatic
differentiation.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
from mujoco import mjx

import surrogates
from dynamics import settle
from dynamics.expressions import Elementary, wrench_forces
from dynamics.simulator.knee_simulator import KneeSimulator
from foundation.base.pose import Pose

AXES = {"lateral": "0 0 1", "superior": "0 1 0", "anterior": "1 0 0"}
AXES |= {"rotation": "0 -1 0", "adduction": "-1 0 0", "flexion": "0 0 1"}
AXIAL = 500.0  # N, along a line 5 mm medial of the tibial origin


def build_model(start: Pose) -> mujoco.MjModel:
    """Return a femur of 3 kg, held by springs in flexion, rotation and anterior position."""
    joints, springs = "", {"flexion": 500.0, "rotation": 35.0, "anterior": 30e3}
    for name, axis in AXES.items():
        kind = "slide" if name in ("lateral", "superior", "anterior") else "hinge"
        damping = 200.0 if kind == "slide" else 2.0
        joints += f'<joint name="{name}" type="{kind}" axis="{axis}" damping="{damping}" '
        joints += f'stiffness="{springs.get(name, 0.0)}" springref="{getattr(start, name)}"/>'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><worldbody><body name="femur">{joints}<inertial '
        'pos="0 0 0" mass="3" diaginertia="0.02 0.02 0.02"/></body></worldbody>'
        '<option timestep="2e-4" gravity="0 0 0"/></mujoco>'
    )


def main(run: Path, steps: int = 20) -> dict[str, float]:
    """Step; return the drift from rest [m] and the derivative of the height by the load [m/N]."""
    jax.config.update("jax_enable_x64", True)
    knee = surrogates.load(run / "knee.npz").smoothed()
    start = knee.reference_pose(20.0)
    rest = settle(
        knee, KneeSimulator(neutral=start), flexion=start.flexion, axial_force=AXIAL, start=start
    )
    model = mjx.put_model(build_model(start))
    contact, functions = knee.jax(), Elementary.of(jnp)

    def height(axial, count: int = steps):
        """Return the height [m] some steps after the load is applied to the knee at rest."""

        def step(data, _):
            pose = data.qpos[::-1]
            wrench = contact(pose)[0].sum(axis=0)[:6]
            wrench += axial * jnp.array([0.0, -1.0, 0.0, -5e-3, 0.0, 0.0])
            force = jnp.stack(wrench_forces(functions, pose, wrench))
            return mjx.step(model, data.replace(qfrc_applied=force[::-1])), None

        data = mjx.make_data(model).replace(qpos=jnp.array(rest.array[::-1]))
        return jax.lax.scan(step, data, None, length=count)[0].qpos[1]

    after = jax.jit(height)(AXIAL)
    by_load = jax.jit(jax.jacfwd(height))(AXIAL)
    near = (jax.jit(height)(AXIAL + 0.1) - jax.jit(height)(AXIAL - 0.1)) / 0.2
    return {"drift": float(after - rest.superior), "slope": float(by_load), "near": float(near)}


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1])).items():
        print(f"{name}: {value:.6g}")
