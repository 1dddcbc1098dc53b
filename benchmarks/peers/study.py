"""What is measured: times and errors over mesh size, a sphere on a plane, and a real implant."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import trimesh

from benchmarks.exact import contact_poses, exact_loads, polyethylene
from benchmarks.knees import data_folder
from benchmarks.measures import height_at, rms
from benchmarks.peers.engines import Contact, Engine, Entry, Ours
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.implant import CondylarImplant
from foundation.implant.patches import grid_faces
from foundation.surfaces import TriangleMesh, load_mesh

#: Longest edges of the meshes [m]: about 1.2k to 40k triangles of the insert.
EDGES = (2e-3, 1.41e-3, 1e-3, 0.71e-3, 0.5e-3, 0.36e-3)
POSES, SEED = 8, 7
SPHERE_RADIUS, SPHERE_DEPTHS = 30e-3, (0.1e-3, 0.4e-3)

_ROUNDS = (3, 40)
_BUDGET = 4.0  # s for the times of one engine on one mesh
_ALIKE = 0.005  # errors apart by less are one answer
_FOLDER = "grand_challenge_DM_implant"
_GAIT_POSES, _GAIT_SEED = 10, 3
#: Where the Grand Challenge femur dwells, anterior [m] over flexion [rad] (README of the data).
_DWELL = np.radians([0.0, 15.0, 30.0, 45.0, 60.0]), np.array([6.5, 5.7, 3.1, 0.3, -2.4]) * 1e-3


@dataclass(frozen=True)
class Measured:
    """One engine on one pair of meshes.

    Parameters
    ----------
    name : str
        The engine.
    facets : tuple of int
        Triangles of femur and insert.
    seconds : float
        Median time of an evaluation; NaN if the engine could not do it.
    error : float
        RMS of the relative error of the axial force over the poses.
    remark : str
        Why it could not.
    """

    name: str
    facets: tuple[int, int]
    seconds: float
    error: float
    remark: str = ""


def implant_study(
    entries: Sequence[Entry], edges: Sequence[float] = EDGES
) -> tuple[list[Measured], dict[str, float]]:
    """Measure every engine on the built-in implant over mesh size.

    Returns
    -------
    list of Measured
        Errors are against the engine's own definition of the force on the analytic surfaces.
    dict
        RMS relative difference of each definition from the customary one.
    """
    implant = CondylarImplant()
    poses = contact_poses(implant, POSES, SEED)
    exact = {
        rule: np.array([exact_loads(implant, pose, rule=rule).force[1] for pose in poses])
        for rule in {entry.rule for entry in entries}
    }
    found = []
    for edge in edges:
        femur, insert, labels = implant.tessellate(edge)
        contact = Contact(femur, insert, labels, polyethylene())
        for entry in entries:
            found.append(_measured(entry.name, entry.builds, contact, poses, exact[entry.rule]))
            print(f"  {found[-1]}", flush=True)
    apart = {r: rms(e / exact["customary"] - 1.0) for r, e in exact.items()}
    return found, apart


def sphere_on_plane(entries: Sequence[Entry]) -> list[tuple[str, list[float]]]:
    """Return each engine's force on a sphere pressed on a layer over the closed form of its rule.

    K pi d² (R - d/3) along the layer's normal, K pi d² (R - d) to the nearest point of the sphere.
    One value per depth of `SPHERE_DEPTHS`; edges of about 0.5 mm on both.
    """
    ball = trimesh.creation.icosphere(subdivisions=6, radius=SPHERE_RADIUS)
    line = np.linspace(-15e-3, 15e-3, 61)
    x, z = (a.ravel() for a in np.meshgrid(line, line, indexing="ij"))
    plane = np.stack([x, np.zeros_like(x), z], axis=1)
    contact = Contact(
        TriangleMesh(ball.vertices, ball.faces, "sphere"),
        TriangleMesh(plane, grid_faces(61, 61, flip=True), "plane"),
        None,
        polyethylene(),
    )
    sides = (contact.insert.centroids[:, 2] > 0.0).astype(np.int8)
    contact = replace(contact, labels=sides)
    rows = []
    for entry in entries:
        if "estimated" in entry.name:  # these meshes come without normals
            continue
        engine = entry.builds[0](contact)
        forces = [engine.force(Pose(superior=SPHERE_RADIUS - d))[1] for d in SPHERE_DEPTHS]
        less = 1.0 if entry.rule == "nearest" else 1.0 / 3.0
        volumes = [np.pi * d**2 * (SPHERE_RADIUS - less * d) for d in SPHERE_DEPTHS]
        ratios = [f / (contact.stiffness * v) for f, v in zip(forces, volumes, strict=True)]
        rows.append((entry.name, ratios))
    return rows


def real_study(entries: Sequence[Entry]) -> list[Measured] | str:
    """Measure every engine on the Grand Challenge implant, or return why not.

    There is no exact answer there; the error is the RMS difference from ours with the curved
    surface.
    """
    folder = data_folder() / _FOLDER
    if not folder.is_dir():
        return f"no folder {_FOLDER} in $KNEE_DATA"
    contact = Contact(*_surfaces(folder, "contact"), None, polyethylene(10e-3))
    ours = Ours(contact, "curved")
    poses = _gait_poses(ours)
    reference = np.array([ours.force(pose)[1] for pose in poses])
    bodies = Contact(*_surfaces(folder, "decimated"), None, contact.law)
    # All normals are estimated here; Simbody needs closed bodies, which come with
    # the implant.
    cases = [(e.name, e, contact) for e in entries if "estimated" not in e.name]
    cases += [(f"{e.name}, closed bodies", e, bodies) for e in entries if e.rule == "nearest"]
    found = []
    for name, entry, given in cases:
        found.append(_measured(name, entry.builds, given, poses, reference))
        print(f"  {found[-1]}", flush=True)
    return found


def _surfaces(folder: Path, kind: str) -> tuple[TriangleMesh, TriangleMesh]:
    """Return femoral component and insert, in the axes of the project."""
    names = ("Femoral Component", "Tibial Insert")
    femur, insert = (
        load_mesh(folder / f"{name} {kind}.stl", axes=("-x", "y", "-z"), check=False)
        for name in names
    )
    return femur, insert


def _gait_poses(model: Engine) -> list[Pose]:
    """Return poses of gait: flexion 0 to 60 degrees round the dwell path, 300 to 2500 N."""
    generator = np.random.default_rng(_GAIT_SEED)
    poses = []
    for flexion in np.radians(np.linspace(0.0, 60.0, _GAIT_POSES)):
        aside = generator.uniform(-1.0, 1.0, 3) * (np.radians(3.0), 1e-3, 0.2e-3)
        start = Pose(
            flexion=float(flexion),
            rotation=float(aside[0]),
            anterior=float(np.interp(flexion, *_DWELL) + aside[1]),
            lateral=float(aside[2]),
        )
        force = generator.uniform(300.0, 2500.0)

        def carried(height: float, start: Pose = start) -> float:
            return float(model.force(replace(start, superior=height))[1])

        poses.append(replace(start, superior=height_at(carried, force, 46e-3, 0.1e-3)))
    return poses


def _measured(
    name: str,
    builds: Sequence[Callable[[Contact], Engine]],
    contact: Contact,
    poses: Sequence[Pose],
    exact: FloatArray,
) -> Measured:
    """Return the fastest way of an engine among those that answer alike."""
    ways = [_one_way(name, build, contact, poses, exact) for build in builds]
    answers = [way for way in ways if np.isfinite(way.error)]
    if not answers:
        return ways[0]
    best = min(way.error for way in answers)
    return min((w for w in answers if w.error < best + _ALIKE), key=lambda w: w.seconds)


def _one_way(
    name: str,
    build: Callable[[Contact], Engine],
    contact: Contact,
    poses: Sequence[Pose],
    exact: FloatArray,
) -> Measured:
    facets = len(contact.femur.faces), len(contact.insert.faces)
    try:
        engine = build(contact)
        forces = np.array([engine.force(pose)[1] for pose in poses])
        return Measured(name, facets, _median(engine, poses), rms(forces / exact - 1.0))
    except (RuntimeError, MemoryError) as failure:
        return Measured(name, facets, np.nan, np.nan, str(failure).strip().splitlines()[0])


def _median(engine: Engine, poses: Sequence[Pose]) -> float:
    """Return the median time of an evaluation [s]; no pose follows on itself."""
    times: list[float] = []
    for round_ in range(_ROUNDS[1]):
        for pose in poses:
            start = time.perf_counter()
            engine.evaluate(pose)
            times.append(time.perf_counter() - start)
        if round_ + 1 >= _ROUNDS[0] and sum(times) > _BUDGET:
            break
    return float(np.median(times))
