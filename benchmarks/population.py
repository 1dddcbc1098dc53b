"""One surrogate for a population of knees: errors at knees that no surrogate has seen.

`python -m benchmarks.population FOLDER COUNT [DESIGNS] [POSES]` makes COUNT corresponding knees of
the real cartilage, runs over the modes of their shape (unless FOLDER has the run already), and fits
six other knees of the same population. Each is compared with the original model of its own meshes.
`python -m benchmarks.population FOLDER` tells what the modes of several numbers of knees leave.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tomli_w
import trimesh

from benchmarks.corresponding_knees import corresponding_knees, write_corresponding_knees
from benchmarks.knees import load_knee
from benchmarks.measures import rms
from foundation.base.checks import FloatArray
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.design_space.fit_document import FitDocument, fit_document
from pipeline.design_space.fitted_knee import FORCE, fit_knee, line_over_flexion
from pipeline.design_space.run import run_designs
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import kind_of
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.knee import KneeInputs
from pipeline.originals.knee_surfaces import KneeSurfaces, load_surfaces, surfaces_of_shape
from pipeline.originals.new_shape import shape_of_knee
from pipeline.originals.reference_path import reference_path
from pipeline.store.samples import OK, candidate_table
from surrogates.sampling.designs import unit_design

#: Knees that may be learnt, and knees that are held out.
_MOST, _HELD_OUT = 30, 6
#: Number of modes, and largest weight [standard deviations].
_MODES, _LARGEST = 6, 3.0
_BASE = "lenhart"
#: Samples of a compartment at which two original models are compared.
_SAMPLES = 64


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


class Left(NamedTuple):
    """What the modes of a number of knees leave of the others, root mean squares.

    Parameters
    ----------
    knees : int
        Number of knees.
    distance : float
        Distance of the vertices from their place by the modes [m].
    height : float
        Difference of heights at equal loads, by the original model of both shapes [m].
    corrected : float
        The same, without a line over flexion for each compartment [m].
    """

    knees: int
    distance: float
    height: float
    corrected: float


def what_is_left(folder: Path, counts: Sequence[int] = (4, 8, 12, 16, 20, 24, 30)) -> list[Left]:
    """Return what the modes of numbers of knees leave of the held-out knees.

    Parameters
    ----------
    folder : Path
        Folder of the meshes.
    counts : sequence of int
        Numbers of knees, at most 30.
    """
    files, found = [pair for pair, _ in _held_out(folder / "held_out")], []
    for count in counts:
        kept = min(_MODES, count - 1)
        path = write_corresponding_knees(folder / f"{count}_knees", _BASE, count, modes=kept)
        config, misses, lines, left = load_config(path), [], [], []
        for pair in files:
            every = np.ones(kept, dtype=bool)
            shape = shape_of_knee(config.knee, pair, every, (-_LARGEST, _LARGEST))
            assert config.knee.shape is not None
            weights = {f"mode_{k}": float(w) for k, w in enumerate(shape.weights, start=1)}
            own = config.knee.shape.model_copy(update=weights)
            knee = config.knee.model_copy(update={"shape": own})
            by_modes = load_surfaces(config.model_copy(update={"knee": knee}))
            itself = surfaces_of_shape(config, shape.femur, shape.tibia)
            for poses, miss in _height_misses(config, itself, by_modes):
                height, slope = line_over_flexion(poses, miss)
                misses.append(miss)
                lines.append(miss - height - slope * poses[:, 0])
            left.append(shape.rms)
        found.append(Left(count, rms(left), *(rms(np.concatenate(a)) for a in (misses, lines))))
    return found


def _height_misses(
    config: Config, itself: KneeSurfaces, by_modes: KneeSurfaces
) -> list[tuple[FloatArray, FloatArray]]:
    """Return poses (N, 6) and differences of heights (N,) of both compartments [rad, m]."""
    knees = [kind_of(config).build(KneeInputs(config, each)) for each in (itself, by_modes)]
    space = sample_space(config, reference_path(config, knees[0].model, knees[0].start))
    poses, load = space.draw(unit_design("sobol", _SAMPLES, 6, np.random.default_rng(3)))
    found = []
    for name in config.knee.compartments:
        tables = [
            evaluate_rows(knee.model, candidate_table(poses, load, name), "load") for knee in knees
        ]
        miss = np.subtract(*(table["superior_m"].to_numpy() for table in tables))
        both = np.all([table["status"] == OK for table in tables], axis=0)
        found.append((poses[both], miss[both]))
    return found


def _shown(document: FitDocument) -> str:
    gait = document.errors.get("gait_force_percent", np.nan)
    peak = document.errors.get("peak_percent", np.nan)
    return (
        f"left {document.rms_mm:.3f} mm, height {document.measured['height_um']:.1f} um, force at "
        f"a pose {document.measured[FORCE]:.2f} %, gait force {gait:.2f} %, peak {peak:.2f} %, "
        f"{document.flagged} of {document.instants} flagged, doubts {list(document.doubts)}"
    )


def _print_left(folder: Path) -> None:
    print("knees   left [mm]   height [um]   without a line over flexion [um]")
    for each in what_is_left(folder):
        print(
            f"{each.knees:5d} {1e3 * each.distance:11.3f} {1e6 * each.height:13.0f} "
            f"{1e6 * each.corrected:13.0f}"
        )


def _print_run(folder: Path, *numbers: int) -> None:
    for knee in population(folder, *numbers):
        print(f"corresponding:   {_shown(knee.corresponding)}")
        print(f"other triangles: {_shown(knee.other_triangles)}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        _print_run(Path(sys.argv[1]), *map(int, sys.argv[2:]))
    else:
        _print_left(Path(sys.argv[1]))
