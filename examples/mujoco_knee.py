"""The surrogate as a knee's passive force in MuJoCo: `python examples/mujoco_knee.py runs/implant`.

Six joints in the order of Grood & Suntay carry the femur over a fixed tibia: their coordinates are
the pose. Loads and flexion of level walking drive it for five cycles of a second.
"""

import sys
import time
from pathlib import Path

import mujoco
import numpy as np

import surrogates
from dynamics import KneeSimulator, load_gait_cycle, settle, simulate
from dynamics.simulator.waveform_tables import LEVEL_WALKING
from foundation.base.pose import Pose, generalised_force

STEP = 2e-4  # s; 3 kg on a contact of up to 30 N/um swing at 500 Hz: 0.5 ms is stable, 0.6 is not
KP, KV = 2e4, 60.0  # N m/rad, N m s/rad: the servo that makes flexion follow its waveform
# Backwards the joints are the pose: each turns in the frame that those before it have turned.
AXES = {"lateral": "0 0 1", "superior": "0 1 0", "anterior": "1 0 0"}
AXES |= {"rotation": "0 -1 0", "adduction": "-1 0 0", "flexion": "0 0 1"}


def build_model(simulator: KneeSimulator, neutral: Pose) -> mujoco.MjModel:
    """Return a femur with the springs, dampers and inertia of a knee simulator."""
    joints = ""
    for name, axis in AXES.items():
        spring, damper = (getattr(simulator, name + k, 0.0) for k in ("_stiffness", "_damping"))
        kind = "slide" if name in ("lateral", "superior", "anterior") else "hinge"
        joints += f'<joint name="{name}" type="{kind}" axis="{axis}" stiffness="{spring}" '
        joints += f'springref="{getattr(neutral, name)}" damping="{damper}"/>'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><worldbody><body name="femur">{joints}<inertial '
        f'pos="0 0 0" mass="{simulator.superior_mass}" diaginertia="0.02 0.02 0.02"/></body>'
        f'</worldbody><actuator><position joint="flexion" kp="{KP}" kv="{KV}"/></actuator>'
        f'<option timestep="{STEP}" integrator="implicitfast" gravity="0 0 0"/></mujoco>'
    )


def main(run: Path, cycles: int = 5) -> dict[str, float]:
    """Simulate; return the cost and the RMS differences from `dynamics.simulate` [degrees, mm]."""
    knee, cycle = surrogates.load(run / "knee.npz"), load_gait_cycle(LEVEL_WALKING, period_s=1.0)
    flexion, loads = cycle.at(0.0)
    neutral = Pose.from_array(knee.path([flexion])[0])
    simulator = KneeSimulator(neutral=neutral, adduction_inertia=0.02, rotation_inertia=0.02)
    model = build_model(simulator, neutral)
    data, poses, stamps = mujoco.MjData(model), [], []
    data.qpos = settle(knee, simulator, flexion=flexion, start=neutral, **vars(loads)).array[::-1]

    def contact(_: mujoco.MjModel, data: mujoco.MjData) -> None:
        begin = time.perf_counter()
        pose = Pose.from_array(data.qpos[::-1])
        data.qfrc_passive += generalised_force(pose, knee.loads(pose).wrench)[::-1]
        stamps.append((begin, time.perf_counter()))

    mujoco.set_mjcb_passive(contact)
    try:
        for _ in range(round(cycles * cycle.period / STEP)):
            poses.append(data.qpos[::-1].copy())
            _, loads = cycle.at(data.time)
            axial = -loads.axial_force * np.array([0, 1, 0, simulator.medial_offset, 0, 0])
            applied = generalised_force(Pose.from_array(poses[-1]), axial)
            applied += [0, 0, loads.internal_torque, -loads.ap_force, 0, 0]
            data.qfrc_applied = applied[::-1]
            data.ctrl = np.dot([1, KV / KP, 0], cycle.motion("flexion", data.time))
            mujoco.mj_step(model, data)
    finally:
        mujoco.set_mjcb_passive(None)  # it is one for the whole process
    last = np.array(poses[-round(cycle.period / STEP) :: 25])  # every 5 ms
    reference = simulate(knee, simulator, cycle, cycles=2, samples=len(last) + 1).poses[:-1]
    rms = np.sqrt(((last - reference) ** 2).mean(axis=0)) * ([180 / np.pi] * 3 + [1e3] * 3)
    begins, ends = 1e6 * np.array(stamps).T  # medians: other programs interrupt some steps
    cost = {"us_per_step": np.median(np.diff(begins)), "us_in_contact": np.median(ends - begins)}
    return {"steps": len(poses), **cost, **dict(zip([*AXES][::-1], rms.tolist(), strict=True))}


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1])).items():
        print(f"{name}: {value:.3g}")
