"""The original model: accuracy on the built-in implant, behaviour and time on real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np

from benchmarks.exact import contact_poses, exact_loads, polyethylene
from benchmarks.knees import gait_poses, load_knee
from benchmarks.timing import seconds, table
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.elastic_foundation.model import SURFACES
from foundation.implant import CondylarImplant
from foundation.surfaces import TriangleMesh

_ABSENT = "Real knees: skipped, no data in $KNEE_DATA or ../shared/data"


def accuracy(count: int = 200) -> str:
    """Return errors of all loads against the analytic surfaces, 10k triangles a side."""
    implant = CondylarImplant()
    femur, _, _ = implant.tessellate(0.95e-3)
    _, insert, labels = implant.tessellate(0.71e-3)
    poses = contact_poses(implant, count, seed=1)
    exact = [exact_loads(implant, pose) for pose in poses]
    consistent = [exact_loads(implant, pose, rule="consistent") for pose in poses]
    bare = [TriangleMesh(mesh.vertices, mesh.faces, mesh.name) for mesh in (femur, insert)]
    models: dict[str, tuple[list[TriangleMesh], dict[str, object], list[ContactLoads]]] = {
        "curved": ([femur, insert], {}, exact),
        "curved, normals estimated": (bare, {}, exact),
        "curved, conservative": ([femur, insert], {"conservative": True}, consistent),
        "flat": ([femur, insert], {"surface": "flat"}, exact),
    }
    rows = []
    for name, (meshes, options, truth) in models.items():
        model = ElasticFoundation(*meshes, polyethylene(), compartments=labels, **options)  # type: ignore[arg-type]
        errors = np.array(
            [_errors(model.evaluate(p), t) for p, t in zip(poses, truth, strict=True)]
        )
        cells = [
            f"{rms:.3f} / {most:.3f}"
            for rms, most in zip(
                100 * np.sqrt((errors**2).mean(axis=0)), 100 * errors.max(axis=0), strict=True
            )
        ]
        rows.append([name, *cells])
    title = (
        f"Built-in implant, {len(femur.faces)} / {len(insert.faces)} triangles, {count} poses of "
        "100-4000 N: error [%], RMS / largest, against the analytic surfaces"
    )
    return table(title, ["surface", "force", "moment", "area", "peak pressure"], rows)


def _errors(loads: ContactLoads, truth: ContactLoads) -> list[float]:
    """Return relative errors: worst component of force and moment by their size, area, peak."""
    return [
        float(np.abs(loads.force - truth.force).max() / np.linalg.norm(truth.force)),
        float(np.abs(loads.moment - truth.moment).max() / np.linalg.norm(truth.moment)),
        abs(loads.area / truth.area - 1.0),
        abs(loads.peak_pressure / truth.peak_pressure - 1.0),
    ]


def gait(count: int = 26) -> str:
    """Return times over a gait cycle of the Grand Challenge implant, and of a scattered batch."""
    knee = load_knee("grand challenge")
    if knee is None:
        return _ABSENT
    law = LinearLaw(463e6, 0.46, 10e-3)
    models = {name: ElasticFoundation(*knee, law, surface=name) for name in SURFACES}
    poses = gait_poses(models["curved"], count)
    rows = []
    for name, model in models.items():
        loads = _along_ms(model.evaluate, poses)
        both = _along_ms(model.loads_and_jacobian, poses)
        scattered = np.tile([p.array for p in poses], (-(-1000 // count), 1))[:1000]
        scattered += np.random.default_rng(1).normal(0.0, 1e-4, scattered.shape)
        batch = seconds(lambda m=model, s=scattered: m.evaluate_batch(s, threads=2), budget=3.0)
        rows.append([name, f"{loads:.2f}", f"{both:.2f}", f"{10 * batch:.1f}"])
    header = ["surface", "loads [ms]", "with Jacobian [ms]", "10,000 poses, 2 threads [s]"]
    title = f"Grand Challenge implant, median over {count} poses of level walking, one thread"
    return table(title, header, rows)


def _along_ms(function: Callable[[Pose], object], poses: list[Pose], rounds: int = 20) -> float:
    """Median time of a call, going through the poses in turn.

    At a pose asked again and again the processor comes to know every turn of the search, and a
    call takes a fifth to a third less than in a simulation.
    """
    times = []
    for _ in range(rounds):
        for pose in poses:
            start = perf_counter()
            function(pose)
            times.append(perf_counter() - start)
    return 1e3 * float(np.median(times))


def _median_ms(function: Callable[[Pose], object], pose: Pose) -> float:
    return 1e3 * seconds(lambda: function(pose), budget=0.05)


def scaling() -> str:
    """Return the time of one evaluation over mesh size, with the elements in contact."""
    implant = CondylarImplant()
    home = implant.home_pose(0.0)
    pose = replace(home, superior=home.superior - 60e-6)
    rows = []
    for edge in (1.4e-3, 1e-3, 0.71e-3, 0.5e-3, 0.355e-3, 0.25e-3, 0.2e-3):
        femur, insert, labels = implant.tessellate(edge)
        cells = [f"{len(femur.faces) + len(insert.faces)}"]
        for name in SURFACES:
            model = ElasticFoundation(
                femur, insert, polyethylene(), surface=name, compartments=labels
            )
            bearing = int((model.spring_state(pose).pressure > 0.0).sum())
            time = _median_ms(model.evaluate, pose)
            cells += [f"{bearing}", f"{time:.3f}", f"{1e3 * time / bearing:.2f}"]
        rows.append(cells)
    header = ["triangles"]
    for name in SURFACES:
        header += [f"{name}: in contact", "[ms]", "[us] each"]
    return table("Cost over mesh size, built-in implant, 60 um deep", header, rows)


def real_knees() -> str:
    """Return what curved surfaces and conservative loads change on real knees."""
    rows = []
    laws = {
        "grand challenge": LinearLaw(463e6, 0.46, 10e-3),
        "lenhart": LinearLaw(10e6, 0.45, 6e-3),
    }
    for name, law in laws.items():
        knee = load_knee(name)
        if knee is None:
            return _ABSENT
        curved = ElasticFoundation(*knee, law)
        flat = ElasticFoundation(*knee, law, surface="flat")
        conservative = ElasticFoundation(*knee, law, conservative=True)
        for force in (300.0, 1000.0, 2500.0):
            pose = _at_force(curved, _START[name], force)
            loads = [model.evaluate(pose) for model in (curved, flat, conservative)]
            size = float(np.linalg.norm(loads[0].force))
            moment = float(np.linalg.norm(loads[0].moment))
            rows.append(
                [
                    name,
                    f"{force:.0f}",
                    f"{100 * (loads[1].force[1] / loads[0].force[1] - 1):+.2f}",
                    f"{100 * (loads[1].area / loads[0].area - 1):+.2f}",
                    f"{100 * (loads[1].peak_pressure / loads[0].peak_pressure - 1):+.2f}",
                    f"{100 * _distance(loads[2].force, loads[0].force) / size:.2f}",
                    f"{100 * _distance(loads[2].moment, loads[0].moment) / moment:.2f}",
                ]
            )
    header = ["knee", "axial force [N]", "flat: force [%]", "area [%]", "peak [%]"]
    header += ["conservative: force [%]", "moment [%]"]
    return table("Flat facets and conservative loads against the curved default", header, rows)


_START = {
    "grand challenge": Pose(anterior=6.5e-3, superior=41.2e-3),
    "lenhart": Pose(superior=1e-3),
}


def _distance(a: FloatArray, b: FloatArray) -> float:
    return float(np.linalg.norm(a - b))


def _at_force(model: ElasticFoundation, start: Pose, force: float) -> Pose:
    """Return the pose lowered until it carries an axial force [N]."""
    low, high = start.superior - 3e-3, start.superior
    for _ in range(40):
        middle = 0.5 * (low + high)
        pressed = model.evaluate(replace(start, superior=middle)).force[1] > force
        low, high = (middle, high) if pressed else (low, middle)
    return replace(start, superior=low)
