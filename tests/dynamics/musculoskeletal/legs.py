"""Small models of one or two legs, of any side, with bodies and meshes of any axes."""

import numpy as np
from scipy.spatial.transform import Rotation

from dynamics.musculoskeletal.osim_model import OsimModel

_AXES = ("0 0 1", "1 0 0", "0 1 0", "1 0 0", "0 1 0", "0 0 1")


def _text(values):
    return " ".join(map(repr, np.asarray(values, dtype=float).tolist()))


def _joint(name, parent, child, at, turn=(0.0, 0.0, 0.0)):
    coordinates = [f"{name}_{axis}" for axis in ("rz", "rx", "ry", "tx", "ty", "tz")]
    axes = "".join(
        f'<TransformAxis name="t"><coordinates>{c}</coordinates><axis>{axis}</axis><LinearFunction>'
        "<coefficients>1 0</coefficients></LinearFunction></TransformAxis>"
        for c, axis in zip(coordinates, _AXES, strict=True)
    )
    frames = "".join(
        f'<PhysicalOffsetFrame name="{end}"><socket_parent>{body}</socket_parent><translation>'
        f"{_text(place)}</translation><orientation>{_text(angles)}</orientation>"
        "</PhysicalOffsetFrame>"
        for end, body, place, angles in (
            ("inner", parent, at, (0.0, 0.0, 0.0)),
            ("outer", child, (0.0, 0.0, 0.0), turn),
        )
    )
    listed = "".join(f'<Coordinate name="{c}"/>' for c in coordinates)
    return (
        f'<CustomJoint name="{name}"><socket_parent_frame>inner</socket_parent_frame>'
        f"<socket_child_frame>outer</socket_child_frame><coordinates>{listed}</coordinates>"
        f"<frames>{frames}</frames><SpatialTransform>{axes}</SpatialTransform></CustomJoint>"
    )


def leg_model(
    folder,
    *,
    right,
    end="_r",
    other="_l",
    pelvis=True,
    turned=(0.0, 0.0, 0.0),
    bone=(0.0, 0.0, 0.0),
    gravity="0 -9.8 0",
):
    """Return a leg whose meshes are turned in their bodies by body-fixed angles XYZ [rad].

    `bone` are the angles of the frame of the knee joint in the tibia.

    `right` is whether the leg is at the right; `end` and `other` are the ends of the names of its
    bodies and joints and those of the other leg, which the model lacks if `other` is None.
    """
    side = 1.0 if right else -1.0
    bodies = [f"femur{end}", f"tibia{end}"]
    joints = []
    if pelvis:
        bodies.append("pelvis")
        hip = np.array([-0.06, -0.08, 0.09 * side])
        joints += [
            _joint("root", "/ground", "/bodyset/pelvis", (0.0, 1.0, 0.0)),
            _joint(f"hip{end}", "/bodyset/pelvis", f"/bodyset/femur{end}", hip),
        ]
        if other is not None:
            bodies.append(f"femur{other}")
            place = hip * (1.0, 1.0, -1.0)
            joints.append(_joint(f"hip{other}", "/bodyset/pelvis", f"/bodyset/femur{other}", place))
    femur, tibia = (f"/bodyset/{name}{end}" for name in ("femur", "tibia"))
    joints.append(_joint(f"knee{end}", femur, tibia, (0.0, -0.4, 0.0), bone))
    frame = (
        '<components><PhysicalOffsetFrame name="implant"><socket_parent>..</socket_parent>'
        f"<orientation>{_text(turned)}</orientation></PhysicalOffsetFrame></components>"
    )
    meshes = "".join(
        f'<Smith2018ContactMesh name="{bone}_mesh"><socket_frame>/bodyset/{bone}{end}/implant'
        f"</socket_frame><mesh_file>{bone}.stl</mesh_file><poissons_ratio>0.4</poissons_ratio>"
        "</Smith2018ContactMesh>"
        for bone in ("tibia", "femur")
    )
    force = (
        '<Smith2018ArticularContactForce name="tf"><socket_casting_mesh>tibia_mesh'
        "</socket_casting_mesh><socket_target_mesh>femur_mesh</socket_target_mesh>"
        "</Smith2018ArticularContactForce>"
    )
    owned = "".join(f'<Body name="{body}">{frame}</Body>' for body in bodies)
    path = folder / "leg.osim"
    path.write_text(
        f'<OpenSimDocument Version="40000"><Model name="leg"><gravity>{gravity}</gravity>'
        f"<BodySet><objects>{owned}</objects></BodySet>"
        f"<JointSet><objects>{''.join(joints)}</objects></JointSet>"
        f"<ContactGeometrySet><objects>{meshes}</objects></ContactGeometrySet>"
        f"<ForceSet><objects>{force}</objects></ForceSet></Model></OpenSimDocument>"
    )
    return OsimModel(path)


def turn_of(turned):
    """Return the rotation matrix of body-fixed angles XYZ [rad]."""
    return Rotation.from_euler("XYZ", turned).as_matrix()
