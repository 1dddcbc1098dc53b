"""The original model's own error on the built-in implant: `python -m benchmarks.contact`."""

from __future__ import annotations

import numpy as np

from benchmarks.exact import contact_poses, exact_loads, polyethylene
from benchmarks.frame import Rows, alike, measured, run
from foundation.base.loads import ContactLoads
from foundation.elastic_foundation import ElasticFoundation
from foundation.implant import CondylarImplant
from foundation.surfaces import TriangleMesh

POSES = 200
#: Longest edges of femur and insert [m]: about 10,000 triangles each.
EDGES = 0.95e-3, 0.71e-3


@measured(
    f"Built-in implant, edges of 0.95 / 0.71 mm, {POSES} poses of 100-4000 N: error, RMS / "
    "largest, against the analytic surfaces",
    {"surface": "",
     **alike(("force [%]", "moment [%]", "area [%]", "peak pressure [%]"), "{:.3f} / {:.3f}")},
)  # fmt: skip
def accuracy() -> Rows:
    """Errors of all loads against the analytic surfaces, 10k triangles a side."""
    implant = CondylarImplant()
    femur, _, _ = implant.tessellate(EDGES[0])
    _, insert, labels = implant.tessellate(EDGES[1])
    poses = contact_poses(implant, POSES, seed=1)
    exact = [exact_loads(implant, pose) for pose in poses]
    consistent = [exact_loads(implant, pose, rule="consistent") for pose in poses]
    bare = [TriangleMesh(mesh.vertices, mesh.faces, mesh.name) for mesh in (femur, insert)]
    models: dict[str, tuple[list[TriangleMesh], dict[str, object], list[ContactLoads]]] = {
        "curved": ([femur, insert], {}, exact),
        "curved, normals estimated": (bare, {}, exact),
        "curved, conservative": ([femur, insert], {"conservative": True}, consistent),
        "flat": ([femur, insert], {"surface": "flat"}, exact),
    }
    for name, (meshes, options, truth) in models.items():
        model = ElasticFoundation(*meshes, polyethylene(), compartments=labels, **options)  # type: ignore[arg-type]
        errors = np.array(
            [_errors(model.evaluate(p), t) for p, t in zip(poses, truth, strict=True)]
        )
        yield name, *zip(np.sqrt((errors**2).mean(axis=0)), errors.max(axis=0), strict=True)


def _errors(loads: ContactLoads, truth: ContactLoads) -> list[float]:
    """Return relative errors: worst component of force and moment by their size, area, peak."""
    return [
        float(np.abs(loads.force - truth.force).max() / np.linalg.norm(truth.force)),
        float(np.abs(loads.moment - truth.moment).max() / np.linalg.norm(truth.moment)),
        abs(loads.area / truth.area - 1.0),
        abs(loads.peak_pressure / truth.peak_pressure - 1.0),
    ]


if __name__ == "__main__":
    run(__doc__, [accuracy])
