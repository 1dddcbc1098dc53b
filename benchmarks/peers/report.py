"""The page and the picture of the comparison."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.frame import Cell, Table, alike
from benchmarks.peers.solids import SHELLS
from benchmarks.peers.study import POSES, SPHERE_DEPTHS, SPHERE_RADIUS, Measured

_PACKAGES = ("opensim", "drake", "numpy", "numba")
_FIRST = "ours, curved"
_MARKS = "os^Dv"

_TEXT = """# Contact engines side by side

Written by `make bench-peers ARGS=--docs` (its own environment `.venv-peers`; some minutes).
One thread; {packages}; Python {python}.
Times differ between machines; the ratios of times differ much less.

With curved surfaces, the elastic foundation of this project has the smallest error on every mesh,
and reaches a given error [tens to hundreds of times
faster](#time-to-reach-an-error-interpolated-between-the-meshes) than OpenSim and Drake.

![Error over time]({picture})

Each engine uses the same triangles: a rigid femur and an insert 8 mm thick with p = K d,
K = C E / h from E = 463 MPa and Poisson's ratio 0.46, without friction and damping. The time is
the median of one evaluation, pose to forces and moments, called from Python; successive poses
differ. The error is the RMS over {poses} poses (`benchmarks.exact.contact_poses`: 100 to 4000 N,
flexion 0 to 60 degrees) of the relative error of the total axial force against the converged
result on the analytic surfaces.

The engines define the axial force differently. Each engine is compared with the limit of its own
definition (`benchmarks.exact.exact_loads`, `rule`), so that the definition is not an error:

| rule | engine | pressure | acts along | RMS difference from customary [%] |
|---|---|---|---|---|
| customary | ours | K d, d along the insert's normal | that normal | 0 |
| nearest | OpenSim | K d, d to the nearest point of the femur | that line | {nearest:.2f} |
| hydroelastic | Drake | K d, d under the insert | the femur's normal | {hydro:.2f} |

{implant}

{goal}

{sphere}

{real}

{layers}

## How the engines differ

- **OpenSim** (Simbody's `ElasticFoundationForce`) accepts closed meshes only. A copy inside and
  skirts close the open surfaces, which doubles the triangles. At every evaluation OpenSim finds
  the triangles inside the other body by rays and flooding over both meshes. The time therefore
  grows with all triangles, not with the triangles in contact, and is erratic: on some meshes the
  rays count far triangles as inside, and each of these triangles costs a search for its nearest
  point (up to 2 s an evaluation on the finest mesh, with the same force). Where a closed mesh
  cuts itself, a whole compartment can be lost. Shells of {shells} mm are tried, and the table
  shows the fastest correct shell. OpenSim gives every mesh springs and halves the area of each of
  two meshes; here the insert has twice its stiffness and the femur has none, and the time
  includes the femur's springs. OpenSim's Python package lacks the class for the stiffness of one
  mesh, so that the benchmark writes the model as a file.
- **Drake** (hydroelastic, rigid against compliant, continuous plant) has a pressure field that is
  linear between the vertices of tetrahedra, and its interface accepts only the field from the
  distance to the boundary; two layers of tetrahedra under the insert's triangles make this field
  linear in depth down to 1 mm. The rigid femur is an open mesh.
- **CalculiX** (a separate program; without the program, the page states why its tables are missing)
  solves the layer itself, not a bed of springs, so that its loads are compared with those of the
  finite-element model alone. The comparison uses neither its surface-to-surface penalty nor its
  pressures at integration points: a stiff penalty there holds whole bilinear faces off the curved
  femur. The femur's patches are six-node
  triangles in both programs, so that facets make no difference.
- **Ours**: "normals estimated" uses the triangles alone, as the other engines do; "curved" also
  uses the vertex normals of the analytic surfaces (a scan does not have normals, so the Grand
  Challenge implant always has estimated normals). "flat" is the rule of OpenSim-JAM.
"""


def write_page(
    path: Path,
    implant: Sequence[Measured],
    apart: dict[str, float],
    sphere: Sequence[tuple[str, Sequence[float]]],
    real: Sequence[Measured] | str,
    layers: str,
) -> None:
    """Write the page, and the picture beside it with the suffix .png."""
    picture = path.with_suffix(".png")
    draw(picture, implant)
    text = _TEXT.format(
        packages=", ".join(f"{name} {version(name)}" for name in _PACKAGES),
        python=platform.python_version(),
        picture=picture.name,
        poses=POSES,
        nearest=100.0 * apart["nearest"],
        hydro=100.0 * apart["hydroelastic"],
        implant=_sizes(implant),
        goal=_goal(implant),
        sphere=_sphere(sphere),
        real=_real(real),
        layers=layers.strip(),
        shells=", ".join(f"{1e3 * t:g}" for t in SHELLS),
    )
    path.write_text(text, encoding="utf-8")


def draw(path: Path, found: Sequence[Measured]) -> None:
    """Draw error over time, one line an engine, one mark a mesh."""
    figure, axes = plt.subplots(figsize=(7.0, 4.6), layout="constrained")
    for (name, rows), mark in zip(_by_engine(found).items(), _MARKS, strict=True):
        times, errors = ([getattr(r, k) for r in rows] for k in ("seconds", "error"))
        axes.loglog(1e3 * np.array(times), 100.0 * np.array(errors), f"{mark}-", label=name)
    axes.set_xlabel("time of one evaluation [ms]")
    axes.set_ylabel("error of the axial force, RMS [%]")
    axes.grid(which="both", alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=130)
    plt.close(figure)


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


def _by_engine(found: Sequence[Measured]) -> dict[str, list[Measured]]:
    grouped: dict[str, list[Measured]] = {}
    for row in found:
        grouped.setdefault(row.name, []).append(row)
    return grouped


#: Time and ratio to a unit of time.
_COLUMNS = {"time [ms]": ".3g", f"over {_FIRST}": ".3g"}


def _cells(row: Measured, unit: float) -> list[Cell]:
    """Return time, ratio to a unit of time, and error of one row."""
    if not np.isfinite(row.seconds):
        return ["-", "-", f"no answer: {row.remark}"]
    return [row.seconds, row.seconds / unit, row.error]


def _sizes(found: Sequence[Measured]) -> Table:
    rows: list[list[Cell]] = []
    for facets, group in groupby(found, key=lambda r: r.facets):
        members = list(group)
        unit = next(r.seconds for r in members if r.name == _FIRST)
        rows += [[facets, r.name, *_cells(r, unit)] for r in members]
    columns = {"triangles femur / insert": "{} / {}", "engine": "", **_COLUMNS, "error [%]": ".2g"}
    return Table("Built-in implant over mesh size", columns, rows)


def _goal(found: Sequence[Measured]) -> Table:
    engines = _by_engine(found)
    rows: list[list[Cell]] = []
    for error in (0.05, 0.01, 0.001):
        times = {name: time_to_error(rows_, error) for name, rows_ in engines.items()}
        unit = times[_FIRST]
        for name, seconds in times.items():
            ratio = seconds / unit if seconds and unit else "-"
            rows.append([error, name, seconds or "not with these meshes", ratio])
    columns = {"error [%]": "g", "engine": "", **_COLUMNS}
    return Table("Time to reach an error (interpolated between the meshes)", columns, rows)


def _sphere(rows: Sequence[tuple[str, Sequence[float]]]) -> str:
    depths = [f"error at {1e3 * d:g} mm [%]" for d in SPHERE_DEPTHS]
    title = f"Check: sphere of {1e3 * SPHERE_RADIUS:g} mm pressed on a plane layer, 0.5 mm edges"
    note = "Against K pi d² (R - d/3); for the nearest rule K pi d² (R - d)."
    shown = [(name, *(ratio - 1.0 for ratio in ratios)) for name, ratios in rows]
    return f"{Table(title, {'engine': '', **alike(depths, '+.2f')}, shown)}\n\n{note}"


def _real(found: Sequence[Measured] | str) -> str:
    if isinstance(found, str):
        return f"### Grand Challenge implant\n\nNot measured: {found}."
    unit = next(r.seconds for r in found if r.name == _FIRST)
    rows = [(r.name, r.facets, *_cells(r, unit)) for r in found]
    columns = {"engine": "", "triangles femur / insert": "{} / {}", **_COLUMNS,
               f"difference from {_FIRST}, RMS [%]": ".2g"}  # fmt: skip
    note = (
        "Ten poses of gait around the dwell path, 300 to 2500 N, polyethylene 10 mm thick.\n"
        "An exact result does not exist; the difference shows how far the engines are apart.\n"
        "The closed bodies come from the source, in the median 9 µm (femur) and 7 µm (insert)\n"
        "off the contact surfaces."
    )
    return f"{Table('Grand Challenge implant', columns, rows)}\n\n{note}"
