"""Time and error of contact engines on the same triangles and poses (`make bench-peers`).

Ours beside OpenSim's ElasticFoundationForce (Simbody) and Drake's hydroelastic contact. Each has
its own definition of the axial force, and is compared with the limit of that definition, so that
the definition is not an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Protocol

import numpy as np
import trimesh

from benchmarks.frame import Cell, Rows, alike, height_at, measured, rms
from foundation.base.checks import FloatArray, IntArray
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.implant.condylar_implant import CondylarImplant, grid_faces
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.data_folder import data_file
from tests.oracles.exact_implant import contact_poses, exact_loads, polyethylene, stiffness_of

#: Longest edges of the meshes [m]: about 1.2k to 40k triangles of the insert.
EDGES = (2e-3, 1.41e-3, 1e-3, 0.71e-3, 0.5e-3, 0.36e-3)
POSES, SEED = 8, 7
SPHERE_RADIUS, SPHERE_DEPTHS = 30e-3, (0.1e-3, 0.4e-3)
#: Depths of the shells that OpenSim's meshes are closed to [m].
SHELLS = (1e-3, 2e-3, 3e-3)

_ROUNDS = (3, 40)
_BUDGET = 4.0  # s for the times of one engine on one mesh
_ALIKE = 0.005  # errors apart by less are one answer
_FOLDER = "$KNEE_DATA/grand_challenge_DM_implant"
_GAIT_POSES, _GAIT_SEED = 10, 3
#: Where the Grand Challenge femur dwells, anterior [m] over flexion [rad] (README of the data).
_DWELL = np.radians([0.0, 15.0, 30.0, 45.0, 60.0]), np.array([6.5, 5.7, 3.1, 0.3, -2.4]) * 1e-3
_FIRST = "ours, curved"


@dataclass(frozen=True, eq=False)
class Contact:
    """A rigid femur on an insert that deforms [m], its compartments (F,) or None, and its law."""

    femur: TriangleMesh
    insert: TriangleMesh
    labels: IntArray | None
    law: LinearLaw

    @property
    def stiffness(self) -> float:
        """K of p = K d [Pa/m]."""
        return stiffness_of(self.law)


class Engine(Protocol):
    """A contact engine set up for two meshes."""

    def evaluate(self, pose: Pose) -> object:
        """Compute the contact at a pose, forces and moments included; this is what is timed."""
        ...

    def force(self, pose: Pose) -> FloatArray:
        """Return the force on the femur, tibial frame, (3,) [N]."""
        ...


class Ours:
    """The original model of this project."""

    def __init__(self, contact: Contact, surface: str) -> None:
        self._model = ElasticFoundation(
            contact.femur, contact.insert, contact.law, surface=surface, compartments=contact.labels
        )

    def evaluate(self, pose: Pose) -> object:
        """Compute the loads of both compartments, areas and pressures included."""
        return self._model.evaluate(pose)

    def force(self, pose: Pose) -> FloatArray:
        """Return the force on the femur, tibial frame, (3,) [N]."""
        return self._model.evaluate(pose).force


def _without_normals(contact: Contact) -> Contact:
    """Return the same triangles without normals, as of a scan."""
    bare = (replace(mesh, vertex_normals=None) for mesh in (contact.femur, contact.insert))
    return Contact(*bare, contact.labels, contact.law)


@dataclass(frozen=True)
class Entry:
    """An engine: name, its rule of the force (`exact_implant.RULES`), and ways to set it up.

    The fastest way that answers rightly counts.
    """

    name: str
    rule: str
    builds: tuple[Callable[[Contact], Engine], ...]


@cache
def entries() -> tuple[Entry, ...]:
    """Return the engines; this needs OpenSim and Drake."""
    from benchmarks.hydroelastic import Hydroelastic
    from benchmarks.simbody import Simbody

    return (
        Entry(_FIRST, "customary", (lambda c: Ours(c, "curved"),)),
        Entry(
            "ours, curved, normals estimated",
            "customary",
            (lambda c: Ours(_without_normals(c), "curved"),),
        ),
        Entry("ours, flat", "customary", (lambda c: Ours(c, "flat"),)),
        Entry(
            "OpenSim ElasticFoundationForce",
            "nearest",
            tuple(partial(Simbody, thickness=depth) for depth in SHELLS),
        ),
        Entry("Drake hydroelastic", "hydroelastic", (Hydroelastic,)),
    )


@dataclass(frozen=True)
class Measured:
    """An engine on meshes: median time [s] and RMS relative error of the force, or why neither."""

    name: str
    facets: tuple[int, int]
    seconds: float
    error: float
    remark: str = ""


@cache
def _exact() -> dict[str, FloatArray]:
    """Return the converged axial forces (N,) [N] at the poses, by rule."""
    shape = CondylarImplant()
    return {
        rule: np.array([exact_loads(shape, pose, rule=rule).force[1] for pose in _poses()])
        for rule in {entry.rule for entry in entries()}
    }


@cache
def _poses() -> list[Pose]:
    return contact_poses(CondylarImplant(), POSES, SEED)


@cache
def _on_implant() -> tuple[Measured, ...]:
    """Return every engine on the built-in implant over mesh size."""
    found = []
    for edge in EDGES:
        femur, insert, labels = CondylarImplant().tessellate(edge)
        contact = Contact(femur, insert, labels, polyethylene())
        for entry in entries():
            exact = _exact()[entry.rule]
            found.append(_measured(entry.name, entry.builds, contact, _poses(), exact))
    return tuple(found)


#: Time and ratio to a unit of time.
_COLUMNS = {"time [ms]": ".3g", f"over {_FIRST}": ".3g"}


def _cells(row: Measured, unit: float) -> list[Cell]:
    """Return time, ratio to a unit of time, and error of one row."""
    if not np.isfinite(row.seconds):
        return ["-", "-", f"no answer: {row.remark}"]
    return [row.seconds, row.seconds / unit, row.error]


@measured(
    "Definitions of the axial force", {"rule": "", "RMS difference from customary [%]": ".2f"}
)
def definitions() -> Rows:
    """How far the limits of the definitions are apart."""
    for rule, forces in _exact().items():
        yield rule, rms(forces / _exact()["customary"] - 1.0)


@measured(
    "Built-in implant over mesh size",
    {"triangles femur / insert": "{} / {}", "engine": "", **_COLUMNS, "error [%]": ".2g"},
)
def implant() -> Rows:
    """Time and error on meshes of the built-in implant."""
    for facets, group in groupby(_on_implant(), key=lambda row: row.facets):
        members = list(group)
        unit = next(row.seconds for row in members if row.name == _FIRST)
        yield from ([facets, row.name, *_cells(row, unit)] for row in members)


@measured(
    "Time to reach an error (interpolated between the meshes)",
    {"error [%]": "g", "engine": "", **_COLUMNS},
)
def time_to_errors() -> Rows:
    """Time at which each engine reaches an error."""
    for error in (0.05, 0.01, 0.001):
        names = [entry.name for entry in entries()]
        rows = {name: [row for row in _on_implant() if row.name == name] for name in names}
        times = {name: time_to_error(found, error) for name, found in rows.items()}
        unit = times[_FIRST]
        for name, spent in times.items():
            ratio = spent / unit if spent and unit else "-"
            yield error, name, spent or "not with these meshes", ratio


def time_to_error(rows: Sequence[Measured], error: float) -> float | None:
    """Return the time [s] at which an engine reaches an error, None beyond the finest mesh.

    Between two meshes the logarithms are interpolated; an engine that is there with the coarsest
    mesh counts with that one's time.
    """
    good = [r for r in rows if np.isfinite(r.error)]
    if not good or min(r.error for r in good) > error:
        return None
    if good[0].error <= error:
        return good[0].seconds
    after = next(k for k, r in enumerate(good) if r.error <= error)
    (a, b), goal = good[after - 1 : after + 1], np.log(error)
    part = (np.log(a.error) - goal) / (np.log(a.error) - np.log(b.error))
    return float(np.exp(np.log(a.seconds) + part * (np.log(b.seconds) - np.log(a.seconds))))


@measured(
    f"Check: sphere of {1e3 * SPHERE_RADIUS:g} mm pressed on a plane layer, 0.5 mm edges",
    {"engine": "", **alike([f"error at {1e3 * d:g} mm [%]" for d in SPHERE_DEPTHS], "+.2f")},
)
def sphere() -> Rows:
    """Errors of the force on a sphere against the closed form of each rule.

    K pi d² (R - d/3) along the layer's normal, K pi d² (R - d) to the nearest point of the sphere.
    """
    mesh = trimesh.creation.icosphere(subdivisions=6, radius=SPHERE_RADIUS)
    line = np.linspace(-15e-3, 15e-3, 61)
    x, z = (a.ravel() for a in np.meshgrid(line, line, indexing="ij"))
    points = np.stack([x, np.zeros_like(x), z], axis=1)
    plane = TriangleMesh(points, grid_faces(61, 61, flip=True), "plane")
    contact = Contact(
        TriangleMesh(mesh.vertices, mesh.faces, "sphere"),
        plane,
        (plane.centroids[:, 2] > 0.0).astype(np.int8),
        polyethylene(),
    )
    for entry in entries():
        if "estimated" in entry.name:  # these meshes come without normals
            continue
        engine = entry.builds[0](contact)
        forces = [engine.force(Pose(superior=SPHERE_RADIUS - d))[1] for d in SPHERE_DEPTHS]
        less = 1.0 if entry.rule == "nearest" else 1.0 / 3.0
        volumes = [np.pi * d**2 * (SPHERE_RADIUS - less * d) for d in SPHERE_DEPTHS]
        ratios = (f / (contact.stiffness * v) for f, v in zip(forces, volumes, strict=True))
        yield entry.name, *(ratio - 1.0 for ratio in ratios)


@measured(
    "Grand Challenge implant, ten poses of gait, 300 to 2500 N, polyethylene 10 mm thick",
    {"engine": "", "triangles femur / insert": "{} / {}", **_COLUMNS,
     f"difference from {_FIRST}, RMS [%]": ".2g"},
)  # fmt: skip
def grand_challenge() -> Rows:
    """Time on the Grand Challenge implant, where there is no exact answer, and differences."""
    contact = Contact(*_surfaces("contact"), None, polyethylene(10e-3))
    ours = Ours(contact, "curved")
    poses = list(_gait_poses(ours))
    reference = np.array([ours.force(pose)[1] for pose in poses])
    bodies = Contact(*_surfaces("decimated"), None, contact.law)
    # All normals are estimated here; Simbody needs closed bodies, which come with the implant.
    cases = [(e.name, e, contact) for e in entries() if "estimated" not in e.name]
    cases += [(f"{e.name}, closed bodies", e, bodies) for e in entries() if e.rule == "nearest"]
    found = [_measured(name, e.builds, given, poses, reference) for name, e, given in cases]
    unit = next(row.seconds for row in found if row.name == _FIRST)
    yield from ((row.name, row.facets, *_cells(row, unit)) for row in found)


def _surfaces(kind: str) -> tuple[TriangleMesh, TriangleMesh]:
    """Return femoral component and insert, in the axes of the project."""
    femur, insert = (
        load_mesh(
            Path(data_file(f"{_FOLDER}/{name} {kind}.stl")), axes=("-x", "y", "-z"), check=False
        )
        for name in ("Femoral Component", "Tibial Insert")
    )
    return femur, insert


def _gait_poses(model: Engine) -> Iterator[Pose]:
    """Yield poses of gait: flexion 0 to 60 degrees round the dwell path, 300 to 2500 N."""
    generator = np.random.default_rng(_GAIT_SEED)
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

        yield replace(start, superior=height_at(carried, force, 46e-3, 0.1e-3))


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


def write_obj(path: Path, vertices: FloatArray, faces: IntArray) -> None:
    """Write triangles as Wavefront OBJ."""
    with path.open("w", encoding="ascii") as file:
        np.savetxt(file, vertices, fmt="v %.17g %.17g %.17g")
        np.savetxt(file, faces + 1, fmt="f %d %d %d")


TABLES = (definitions, implant, time_to_errors, sphere, grand_challenge)
