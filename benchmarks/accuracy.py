"""What triangles cost: the built-in implant's triangles against its analytic surfaces."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.exact import exact_loads, polyethylene
from benchmarks.timing import table
from foundation.elastic_foundation import ElasticFoundation
from foundation.elastic_foundation.model import SURFACES
from foundation.implant import CondylarImplant

_DEPTHS_UM = (50.0, 100.0, 200.0)


def facets() -> str:
    """Return the error of the axial force over edge length, surface and depth."""
    implant = CondylarImplant()
    home = implant.home_pose(0.0)
    poses = [replace(home, superior=home.superior - 1e-6 * depth) for depth in _DEPTHS_UM]
    exact = [exact_loads(implant, pose).force[1] for pose in poses]
    rows = []
    for edge in (2e-3, 1e-3, 0.5e-3, 0.25e-3):
        femur, insert, labels = implant.tessellate(edge)
        for surface in SURFACES:
            model = ElasticFoundation(
                femur, insert, polyethylene(), surface=surface, compartments=labels
            )
            errors = [
                100.0 * (model.evaluate(pose).force[1] / truth - 1.0)
                for pose, truth in zip(poses, exact, strict=True)
            ]
            counts = f"{len(femur.faces)} / {len(insert.faces)}"
            rows.append([f"{1e3 * edge:g}", counts, surface, *(f"{e:+.3f}" for e in errors)])
    header = [
        "edge [mm]",
        "triangles",
        "surface",
        *(f"error at {d:g} um [%]" for d in _DEPTHS_UM),
    ]
    return table("Axial force of triangles against the analytic implant", header, rows)
