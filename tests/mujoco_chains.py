"""Assemblies of chains in MuJoCo, an independent engine, for the tests that compare with it."""

from dataclasses import fields

import mujoco
import numpy as np
from numpy.testing import assert_allclose

from dynamics.mechanics.chain_parts import (
    GROUND,
    Attachment,
    FreeBase,
)
from dynamics.mechanics.chains import Instant


def text(*numbers):
    return " ".join(repr(float(each)) for each in numbers)


def name_of(where):
    return "world" if where == GROUND else ".".join(where)


class Tree:
    """Bodies of an assembly: parents, places and joints by name, and the text of the model."""

    def __init__(self, assembly, links=True, step=1e-3):
        self.assembly, self.links, self.step = assembly, links, step
        self.parent, self.joint, self.segment = {}, {}, {}
        self.place, self.moving = {}, []
        for chain in assembly.chains:
            base, proximal, place = chain.base, "world", (0.0, 0.0)
            if isinstance(base, Attachment):
                proximal, place = f"{base.chain}.{base.segment}", base.point
            elif isinstance(base, FreeBase):
                self.moving.append(f"{chain.name}.{chain.segments[0].name}")
            else:
                place = base
            for segment, joint in zip(chain.segments, chain.joints, strict=True):
                name = f"{chain.name}.{segment.name}"
                self.parent[name], self.place[name] = proximal, place
                self.joint[name], self.segment[name] = joint, segment
                proximal, place = name, (segment.length, 0.0)
        self.model = mujoco.MjModel.from_xml_string(self.xml())
        self.data = mujoco.MjData(self.model)

    def sites(self, name):
        ends = [(link, each) for link in self.assembly.links for each in enumerate(link.ends)]
        ends += [(pin, each) for pin in self.assembly.closures for each in enumerate(pin.ends)]
        return "".join(
            f'<site name="{member.name}.{end}" pos="{text(*point, 0.0)}"/>'
            for member, (end, (_, where, point)) in ends
            if name_of(where) == name
        )

    def body(self, name):
        segment, joint, out = self.segment[name], self.joint[name], ""
        turn = joint.angle
        out += f'<body name="{name}" pos="{text(*self.place[name], 0.0)}" '
        out += f'euler="{text(0.0, 0.0, turn)}">'
        if name in self.moving:
            c, s = np.cos(turn), np.sin(turn)  # axes are those of the turned body
            out += f'<joint name="{name} x" type="slide" axis="{text(c, -s, 0.0)}"/>'
            out += f'<joint name="{name} y" type="slide" axis="{text(s, c, 0.0)}"/>'
        passive = f'stiffness="{text(joint.stiffness)}" damping="{text(joint.damping)}" '
        passive += f'springref="{text(joint.neutral)}"/>'
        if joint.axis is not None:
            along = joint.axis - turn
            axis = text(np.cos(along), np.sin(along), 0.0)
            out += f'<joint name="{name}" type="slide" axis="{axis}" {passive}'
        else:
            out += f'<joint name="{name}" type="hinge" axis="0 0 1" {passive}'
        out += self.inertial(segment) + self.sites(name)
        return out + self.bodies(name) + "</body>"

    @staticmethod
    def inertial(segment):
        return (
            f'<inertial pos="{text(*segment.centre, 0.0)}" mass="{text(segment.mass)}" '
            f'diaginertia="{text(*[segment.inertia] * 3)}"/>'
        )

    def bodies(self, parent):
        return "".join(self.body(name) for name, at in self.parent.items() if at == parent)

    def turns(self, name):
        """Return the hinges whose angles add up to the angle of a body, and a constant."""
        hinges, constant = {}, 0.0
        while name != "world":
            joint = self.joint[name]
            if joint.axis is not None:
                constant += joint.angle
            else:
                hinges[name] = 1.0
            name = self.parent[name]
        return hinges, constant

    def link(self, link):
        """Return the tendons of a link; `bushings` takes the forces that no tendon has."""
        tendons = ""
        ends = (f"{link.name}.0", f"{link.name}.1")
        if link.kind == "line":
            sites = "".join(f'<site site="{end}"/>' for end in ends)
            assert not link.damping
            tendons += f'<spatial stiffness="{text(link.stiffness)}" '
            tendons += f'springlength="{text(0.0, link.rest_length)}">{sites}</spatial>'
        if link.rotational_stiffness or link.rotational_damping:
            (first, a), (second, b) = (self.turns(name_of(end)) for _, end, _ in link.ends)
            weights = {
                each: second.get(each, 0.0) - first.get(each, 0.0) for each in {**first, **second}
            }
            rest = link.rest_angle - b + a
            sign = 1.0 if rest >= 0.0 else -1.0  # MuJoCo takes negative lengths for "automatic"
            weights = {each: sign * weight for each, weight in weights.items() if weight}
            if not weights:  # two segments that cannot turn against each other
                return tendons
            tendons += f'<fixed stiffness="{text(link.rotational_stiffness)}" '
            tendons += f'damping="{text(link.rotational_damping)}" '
            tendons += f'springlength="{text(sign * rest)}">'
            tendons += "".join(
                f'<joint joint="{each}" coef="{text(weight)}"/>' for each, weight in weights.items()
            )
            tendons += "</fixed>"
        return tendons

    def xml(self):
        tendons = [self.link(link) for link in self.assembly.links] if self.links else []
        return f"""<mujoco><compiler angle="radian" inertiafromgeom="false"/>
        <option integrator="RK4" timestep="{self.step!r}"
        gravity="{text(*self.assembly.gravity, 0.0)}">
        <flag contact="disable" constraint="disable"/></option>
        <worldbody>{self.sites("world")}{self.bodies("world")}</worldbody>
        <tendon>{"".join(tendons)}</tendon></mujoco>"""

    def bushings(self, model, data):
        """Add the forces of bushings to MuJoCo's passive ones (a callback of the engine)."""
        for link in self.assembly.links:
            if link.kind != "bushing":
                continue
            places, speeds, bodies = [], [], []
            for end in (0, 1):
                site = model.site(f"{link.name}.{end}").id
                jacobian = np.zeros((3, model.nv))
                mujoco.mj_jacSite(model, data, jacobian, None, site)
                places.append(data.site_xpos[site])
                speeds.append(jacobian @ data.qvel)
                bodies.append(model.site_bodyid[site])
            force = -link.stiffness * (places[1] - places[0])
            force -= link.damping * (speeds[1] - speeds[0])
            for sign, place, body in zip((-1.0, 1.0), places, bodies, strict=True):
                mujoco.mj_applyFT(
                    model, data, sign * force, np.zeros(3), place, body, data.qfrc_passive
                )

    def at(self, joint):
        return int(self.model.joint(joint).dofadr[0])

    def pack(self, coordinates, constants=False):
        """Return positions, rates or accelerations of MuJoCo's joints from all coordinates.

        MuJoCo has no constants in its joints: positions count those of slides.
        """
        out, columns = np.zeros(self.model.nv), self.assembly.columns
        absolute = self.absolute(coordinates, constants)
        for k, name in enumerate(columns):
            if self.joint[name].axis is not None:
                out[self.at(name)] = coordinates[k]
            else:
                out[self.at(name)] = coordinates[k] - absolute[self.parent[name]]
        for row, name in enumerate(self.moving):
            for axis in (0, 1):
                out[self.at(f"{name} {'xy'[axis]}")] = coordinates[len(columns) + 2 * row + axis]
        return out

    def absolute(self, coordinates, constants):
        """Return the angles of the bodies, or their rates, by name."""
        angles = {"world": 0.0}
        for name, value in zip(self.assembly.columns, coordinates, strict=False):
            joint = self.joint[name]
            held = angles[self.parent[name]] + constants * joint.angle
            angles[name] = value if joint.axis is None else held
        return angles

    def unpack(self, joints):
        """Return all coordinates, or their rates, from those of MuJoCo's joints."""
        found = []
        for name in self.assembly.columns:
            slides = self.joint[name].axis is not None
            turned = [name] if slides else self.turns(name)[0]
            found.append(sum(joints[self.at(each)] for each in turned))
        bases = [joints[self.at(f"{name} {axis}")] for name in self.moving for axis in "xy"]
        return np.array([*found, *bases])

    def set(self, positions, rates):
        self.data.qpos[:], self.data.qvel[:] = positions, rates
        self.run(mujoco.mj_forward)

    def run(self, function, *arguments):
        """Call a function of the engine with bushings acting."""
        mujoco.set_mjcb_passive(self.bushings if self.links else None)
        try:
            function(self.model, self.data, *arguments)
        finally:
            mujoco.set_mjcb_passive(None)

    def body_id(self, name):
        return self.model.body(name).id

    def push(self, name, point, force, torque=0.0):
        """Apply a force at a point of a body (global frame) and a torque, once more."""
        if name == "world":
            return
        wrench = self.data.xfrc_applied[self.body_id(name)]
        arm = np.asarray(point) - self.data.xipos[self.body_id(name)][:2]
        wrench[:2] += force
        wrench[5] += torque + arm[0] * force[1] - arm[1] * force[0]

    def push_members(self, link_forces, link_torques, closure_forces):
        """Apply the forces of links and closures to the bodies."""
        self.data.xfrc_applied[:] = 0.0
        loads = list(zip(self.assembly.links, link_forces, link_torques, strict=True))
        loads += [(p, f, 0.0) for p, f in zip(self.assembly.closures, closure_forces, strict=True)]
        for member, force, torque in loads:
            for end, (sign, where, _) in enumerate(member.ends):
                site = self.data.site(f"{member.name}.{end}").xpos[:2]
                self.push(name_of(where), site, sign * np.asarray(force), sign * torque)


def motion(tree, positions, rates, times):
    """Return positions and rates of MuJoCo's joints at equidistant times by its RK4."""
    tree.set(positions, rates)
    data = tree.data
    found = [(data.qpos.copy(), data.qvel.copy())]
    for _ in times[1:]:
        tree.run(mujoco.mj_step, round((times[1] - times[0]) / tree.step))
        found.append((data.qpos.copy(), data.qvel.copy()))
    joints, joint_rates = np.array(found).transpose(1, 0, 2)
    return joints, joint_rates


def inverse(tree, positions, rates, accelerations, *loads):
    """Return the forces at MuJoCo's joints that accelerations need beside loads (`push_members`).

    Passive forces of the joints count as known, so that they are not part of the result. What the
    joints transmit then is in `data.cfrc_int`, in MuJoCo's order (moment, force).
    """
    data = tree.data
    data.qpos[:], data.qvel[:] = positions, rates
    mujoco.mj_kinematics(tree.model, data)
    tree.push_members(*loads)
    data.qacc[:] = accelerations
    mujoco.mj_inverse(tree.model, data)
    needed = data.qfrc_inverse.copy()
    applied = np.zeros(tree.model.nv)
    for body in range(1, tree.model.nbody):
        wrench = data.xfrc_applied[body]
        mujoco.mj_applyFT(tree.model, data, wrench[:3], wrench[3:], data.xipos[body], body, applied)
    mujoco.mj_rnePostConstraint(tree.model, data)
    return needed - applied


def joints_of(tree, found):
    """Return positions and rates of MuJoCo's joints at an instant of ours."""
    return tree.pack(found.position, constants=True), tree.pack(found.velocity)


def check_reactions(tree, found, atol=1e-8):
    """Compare forces at the joints with those that MuJoCo's bodies transmit."""
    for row, name in enumerate(tree.assembly.columns):
        wrench = tree.data.cfrc_int[tree.body_id(name)]
        root = tree.model.body_rootid[tree.body_id(name)]
        centre = tree.data.subtree_com[root][:2]
        force, arm = wrench[3:5], centre - found.joints[row]
        moment = wrench[2] + arm[0] * force[1] - arm[1] * force[0]
        assert_allclose(found.joint_forces[row], force, rtol=1e-9, atol=atol)
        assert_allclose(found.joint_moments[row], moment, rtol=1e-9, atol=atol)


def at_row(found, row):
    """Return the instant of a row of a result."""
    return Instant(**{each.name: getattr(found, each.name)[row] for each in fields(Instant)})


def needed_forces(assembly, found):
    """Return MuJoCo's forces at its joints for the accelerations and loads of an instant."""
    tree = Tree(assembly, links=False)
    accelerations = tree.pack(found.acceleration)
    loads = found.link_forces, found.link_torques, found.closure_forces
    return tree, inverse(tree, *joints_of(tree, found), accelerations, *loads)
