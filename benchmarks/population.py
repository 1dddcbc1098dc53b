"""One surrogate for a population of knees: errors at knees that no surrogate has seen.

`python -m benchmarks.population FOLDER COUNT [DESIGNS] [POSES]` makes COUNT corresponding knees of
the real cartilage, runs over the modes of their shape (unless FOLDER has the run already), and fits
six other knees of the same population. Each is compared with the original model of its own meshes.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tomli_w
import trimesh

from benchmarks.corresponding_knees import corresponding_knees, write_corresponding_knees
from benchmarks.knees import load_knee
from pipeline.config.reading import load_config
from pipeline.design_space.fit_document import FitDocument, fit_document
from pipeline.design_space.fitted_knee import FORCE, fit_knee
from pipeline.design_space.run import run_designs
from pipeline.design_space.trained_designs import TrainedDesigns

#: Knees that may be learnt, and knees that are held out.
_MOST, _HELD_OUT = 30, 6
#: Number of modes, and largest weight [standard deviations].
_MODES, _LARGEST = 6, 3.0
_BASE = "lenhart"


class HeldOut(NamedTuple):
    """A held-out knee: what is told of it, by its meshes as they are, or with other triangles."""

    corresponding: FitDocument
    other_triangles: FitDocument


def population(folder: Path, count: int, designs: int = 128, poses: int = 128) -> list[HeldOut]:
    """Return what a run over the modes of a number of knees tells of six others.

    Parameters
    ----------
    folder : Path
        Folder of the meshes and the run.
    count : int
        Number of knees whose modes are taken, at most 30.
    designs, poses : int
        Keys of [design_space].

    Raises
    ------
    ValueError
        If the count is out of range.
    """
    if not 2 <= count <= _MOST:
        raise ValueError(f"count: expected 2 to {_MOST}, found {count}")
    config = _configuration(folder / "knees", count, designs, poses)
    if not (folder / "run" / "designs.json").is_file():
        run_designs(load_config(config), folder / "run", resume=True)
    run, found = TrainedDesigns.open(folder / "run"), []
    for number, (files, other) in enumerate(_held_out(folder / "held_out")):
        print(f"held-out knee {number + 1}", file=sys.stderr)
        told = [fit_document(run, fit_knee(run, each), original=True) for each in (files, other)]
        found.append(HeldOut(*told))
    return found


def _configuration(folder: Path, count: int, designs: int, poses: int) -> Path:
    """Write the knees of a run and its configuration; return the configuration."""
    path = folder / "shapes.toml"
    if path.is_file():
        return path
    write_corresponding_knees(folder, _BASE, count, modes=min(_MODES, count - 1))
    tree = tomllib.loads(path.read_text(encoding="utf-8"))
    tree["run"]["name"] = f"population_{count}"
    tree["design_space"] = {
        "designs": designs,
        "poses": poses,
        "parameter": [
            {"key": f"knee.shape.mode_{k}", "range": [-_LARGEST, _LARGEST]}
            for k in range(1, min(_MODES, count - 1) + 1)
        ],
    }
    path.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return path


def _held_out(folder: Path) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Write the held-out knees [mm]; return their files, and those with other triangles."""
    folder.mkdir(parents=True, exist_ok=True)
    real = load_knee(_BASE)
    if real is None:
        raise FileNotFoundError("the real knees are missing: set KNEE_DATA")
    found = []
    for number, pair in enumerate(corresponding_knees(*real, _MOST + _HELD_OUT)[_MOST:]):
        names = []
        for kind in ("same", "other"):
            files = []
            for body, mesh in zip(("femur", "tibia"), pair, strict=True):
                vertices, faces = 1e3 * np.array(mesh.vertices), np.array(mesh.faces)
                if kind == "other":
                    vertices, faces = trimesh.remesh.subdivide(vertices, faces)
                path = folder / f"{body}_{kind}_{number}.ply"
                trimesh.Trimesh(vertices, faces, process=False).export(path)
                files.append(str(path))
            names.append((files[0], files[1]))
        found.append((names[0], names[1]))
    return found


def _shown(document: FitDocument) -> str:
    gait = document.errors.get("gait_force_percent", np.nan)
    peak = document.errors.get("peak_percent", np.nan)
    return (
        f"left {document.rms_mm:.3f} mm, height {document.measured['height_um']:.1f} um, force at "
        f"a pose {document.measured[FORCE]:.2f} %, gait force {gait:.2f} %, peak {peak:.2f} %, "
        f"{document.flagged} of {document.instants} flagged, doubts {list(document.doubts)}"
    )


if __name__ == "__main__":
    for knee in population(Path(sys.argv[1]), *map(int, sys.argv[2:])):
        print(f"corresponding:   {_shown(knee.corresponding)}")
        print(f"other triangles: {_shown(knee.other_triangles)}")
