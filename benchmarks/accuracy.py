"""What facets cost: the built-in implant's triangles against its analytic surfaces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.timing import table
from foundation import CondylarImplant, ElasticFoundation, LinearLaw, Pose

_MODULUS, _RATIO, _THICKNESS = 463e6, 0.46, 8e-3
_DEPTHS_UM = (50.0, 100.0, 200.0)


def exact_force(implant: CondylarImplant, pose: Pose, spacing: float = 0.1e-3) -> float:
    """Return the axial force of the analytic surfaces [N], midpoint rule over both dishes.

    Parameters
    ----------
    implant : CondylarImplant
        The shapes.
    pose : Pose
        Pose of the femur.
    spacing : float
        Distance of the springs along both parameters of a dish [m].
    """
    stiffness = LinearLaw(_MODULUS, _RATIO, _THICKNESS).pressure([1.0])[0]
    force = 0.0
    for side, dish in (("medial", implant.medial_dish), ("lateral", implant.lateral_dish)):
        reach_u, reach_v = 9e-3 / dish.sagittal_radius, 12e-3 / dish.coronal_radius
        nu, nv = round(2 * 9e-3 / spacing), round(2 * 12e-3 / spacing)
        u = reach_u * (2 * (np.arange(nu) + 0.5) / nu - 1)
        v = reach_v * (2 * (np.arange(nv) + 0.5) / nv - 1)
        uu, vv = (a.ravel() for a in np.meshgrid(u, v, indexing="ij"))
        points, normals = implant.insert_surface(side, uu, vv)
        depth = implant.femur_depth(points, -normals, pose)
        outer, inner = dish.sagittal_radius, dish.coronal_radius
        area = inner * (outer - inner + inner * np.cos(vv)) * (u[1] - u[0]) * (v[1] - v[0])
        force += float(stiffness * (area * depth) @ normals[:, 1])
    return force


def facets() -> str:
    """Return the error of the axial force over edge length and depth."""
    implant = CondylarImplant()
    home = implant.home_pose(0.0)
    poses = [replace(home, superior=home.superior - 1e-6 * depth) for depth in _DEPTHS_UM]
    exact = [exact_force(implant, pose) for pose in poses]
    rows = []
    for edge in (2e-3, 1e-3, 0.5e-3, 0.25e-3):
        femur, insert, labels = implant.tessellate(edge)
        law = LinearLaw(_MODULUS, _RATIO, _THICKNESS)
        model = ElasticFoundation(femur, insert, law, compartments=labels)
        errors = [
            100.0 * (model.evaluate(pose).force[1] / truth - 1.0)
            for pose, truth in zip(poses, exact, strict=True)
        ]
        counts = f"{len(femur.faces)} / {len(insert.faces)}"
        rows.append([f"{1e3 * edge:g}", counts, *(f"{e:+.2f}" for e in errors)])
    header = ["edge [mm]", "triangles", *(f"error at {d:g} um [%]" for d in _DEPTHS_UM)]
    return table("Axial force of flat facets against the analytic implant", header, rows)
