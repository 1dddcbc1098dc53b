"""Chains against MuJoCo, an independent engine: accelerations, motion and driving torques."""

from __future__ import annotations

from itertools import pairwise

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import (
    Assembly,
    Chain,
    PrescribedMotion,
    ViscoelasticLink,
    simulate_chains,
)

TIMES = np.linspace(0.0, 2.0, 41)


def text(*numbers: float) -> str:
    return " ".join(repr(float(each)) for each in numbers)


def chain_text(chain: Chain, assembly: Assembly) -> str:
    """Return the bodies of a chain, nested, turning about z in the plane of x and y."""
    out, position = "", chain.base
    for segment, joint in zip(chain.segments, chain.joints, strict=True):
        name = f"{chain.name}.{segment.name}"
        out += f'<body name="{name}" pos="{text(*position, 0.0)}">'
        out += f'<joint type="hinge" axis="0 0 1" stiffness="{joint.stiffness!r}" '
        out += f'damping="{joint.damping!r}" springref="{joint.neutral!r}"/>'
        out += f'<inertial pos="{text(*segment.centre, 0.0)}" mass="{segment.mass!r}" '
        out += f'diaginertia="{text(*[segment.inertia] * 3)}"/>'
        for link in assembly.links:
            for end, (_, where, point) in enumerate(link.ends):
                if where == (chain.name, segment.name):
                    out += f'<site name="{link.name}.{end}" pos="{text(*point, 0.0)}"/>'
        position = [segment.length, 0.0]
    return out + "</body>" * len(chain.segments)


def link_text(link: ViscoelasticLink) -> tuple[str, str]:
    """Return a link as a tendon, or as two actuators that act on the offset of two sites."""
    ends = (f"{link.name}.0", f"{link.name}.1")
    if link.kind == "line":
        sites = "".join(f'<site site="{end}"/>' for end in ends)
        return (
            f'<spatial stiffness="{link.stiffness!r}" damping="{link.damping!r}" '
            f'springlength="{link.rest_length!r}">{sites}</spatial>'
        ), ""
    return "", "".join(
        f'<general site="{ends[1]}" refsite="{ends[0]}" gear="{gear} 0 0 0 0" gainprm="0" '
        f'biastype="affine" biasprm="0 {-link.stiffness!r} {-link.damping!r}"/>'
        for gear in ("1 0", "0 1")
    )


def mujoco_model(assembly: Assembly, step: float = 1e-3):
    """Return the assembly as MuJoCo takes it."""
    bodies = "".join(chain_text(chain, assembly) for chain in assembly.chains)
    tendons, actuators = zip(*map(link_text, assembly.links), strict=True)
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><compiler angle="radian" inertiafromgeom="false"/>
        <option integrator="RK4" timestep="{step!r}" gravity="{text(*assembly.gravity, 0.0)}">
        <flag contact="disable" constraint="disable"/></option>
        <worldbody>{bodies}</worldbody><tendon>{"".join(tendons)}</tendon>
        <actuator>{"".join(actuators)}</actuator></mujoco>"""
    )


def to_joints(assembly: Assembly, angles: np.ndarray) -> np.ndarray:
    """Return the angles of the joints, each from the segment before, of absolute ones."""
    ends = np.cumsum([0, *(len(chain.segments) for chain in assembly.chains)])
    return np.concatenate([np.diff(angles[a:b], prepend=0.0) for a, b in pairwise(ends)])


def to_absolute(assembly: Assembly, joints: np.ndarray) -> np.ndarray:
    ends = np.cumsum([0, *(len(chain.segments) for chain in assembly.chains)])
    return np.concatenate([np.cumsum(joints[..., a:b], axis=-1) for a, b in pairwise(ends)], -1)


def mujoco_motion(assembly: Assembly, angles, rates, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Return absolute angles and rates at TIMES by MuJoCo's own Runge-Kutta method."""
    model = mujoco_model(assembly, step)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = to_joints(assembly, angles), to_joints(assembly, rates)
    found = [(data.qpos.copy(), data.qvel.copy())]
    for _ in TIMES[1:]:
        mujoco.mj_step(model, data, round((TIMES[1] - TIMES[0]) / step))
        found.append((data.qpos.copy(), data.qvel.copy()))
    joints, joint_rates = np.array(found).transpose(1, 0, 2)
    return to_absolute(assembly, joints), to_absolute(assembly, joint_rates)


def mujoco_at(assembly: Assembly, angles, rates):
    """Return MuJoCo's model and data, everything evaluated in a state."""
    model = mujoco_model(assembly)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = to_joints(assembly, angles), to_joints(assembly, rates)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize("total", range(2, 17))
def test_accelerations(total, random_chains):
    assembly, angles, rates = random_chains(total)
    rates = 10.0 * rates
    _, data = mujoco_at(assembly, angles, rates)
    expected = to_absolute(assembly, data.qacc)
    found = assembly.accelerations(0.0, angles, rates)
    assert_allclose(found, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("total", range(2, 17))
def test_motion_over_two_seconds(total, random_chains):
    assembly, angles, rates = random_chains(total)
    expected, expected_rates = mujoco_motion(assembly, angles, rates, 2e-4)
    found = simulate_chains(assembly, TIMES, angles, rates)
    assert np.ptp(found.angles, axis=0).max() > 0.5
    assert_allclose(found.angles, expected, rtol=0.0, atol=1e-7)
    assert_allclose(found.rates, expected_rates, rtol=0.0, atol=1e-6)


def test_the_oracle_has_converged(random_chains):
    chains = random_chains(16)
    (coarse, _), (fine, _) = (mujoco_motion(*chains, step) for step in (4e-4, 2e-4))
    assert_allclose(coarse, fine, rtol=0.0, atol=1e-8)


@pytest.mark.slow
def test_undamped_motion_of_sixteen_segments(random_chains):
    chains = random_chains(16, damping=0.0)
    expected, _ = mujoco_motion(*chains, 1e-4)
    found = simulate_chains(chains[0], TIMES, *chains[1:])
    assert_allclose(found.angles, expected, rtol=0.0, atol=1e-6)


def test_fixed_steps_of_the_same_method_give_the_same_motion(random_chains):
    assembly, angles, rates = random_chains(4)
    expected, _ = mujoco_motion(assembly, angles, rates, 1e-3)
    found = simulate_chains(assembly, TIMES[:11], angles, rates, method="RK4", step=1e-3)
    assert_allclose(found.angles, expected[:11], rtol=0.0, atol=1e-12)


def test_driving_torques_and_link_forces(random_chains):
    drawn, angles, rates = random_chains(9)
    limb, orthosis = drawn.chains
    time = np.linspace(0.0, 1.0, 41)
    values = -1.4 + 0.5 * np.sin(np.add.outer(5.0 * time, np.arange(5.0)))
    limb = Chain(
        limb.name, limb.segments, limb.base, limb.joints, angles=PrescribedMotion(time, values)
    )
    assembly = Assembly((limb, orthosis), drawn.links)
    found = simulate_chains(assembly, np.linspace(0.0, 1.0, 6), angles[5:], rates[5:])
    lines = [index for index, link in enumerate(assembly.links) if link.kind == "line"]
    for i in range(len(found.time)):
        model, data = mujoco_at(assembly, found.angles[i], found.rates[i])
        data.qacc[:] = to_joints(assembly, found.accelerations[i])
        applied = data.qfrc_actuator.copy()  # of the bushings, which the inverse leaves out
        mujoco.mj_inverse(model, data)
        needed = data.qfrc_inverse - applied
        assert_allclose(found.torques[i], needed, rtol=0.0, atol=1e-10 * np.abs(needed).max())
        for row, link in enumerate(assembly.links):
            if row not in lines:
                start = 2 * (row // 2)
                # Two components in the frame of the first site.
                first = data.site(f"{link.name}.0").xmat.reshape(3, 3)[:2, :2]
                force = first @ data.actuator_force[start : start + 2]
                assert_allclose(found.link_forces[i, row], force, rtol=1e-10, atol=1e-9)
            else:
                tension = _tension(model, data, row // 2)
                ends = [data.site(f"{link.name}.{end}").xpos[:2] for end in (0, 1)]
                line = (ends[0] - ends[1]) / np.linalg.norm(ends[0] - ends[1])
                force = tension * line
                assert_allclose(found.link_forces[i, row], force, rtol=1e-10, atol=1e-9)
    assert np.abs(found.torques[:, :5]).max() > 10.0


def _tension(model, data, tendon: int) -> float:
    stretch = data.ten_length[tendon] - model.tendon_lengthspring[tendon, 0]
    rate = data.ten_velocity[tendon]
    return model.tendon_stiffness[tendon] * stretch + model.tendon_damping[tendon] * rate
