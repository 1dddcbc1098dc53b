"""Corresponding knees: one of the real knees in many smooth shapes, with the same triangles."""

import numpy as np
import pandas as pd
import tomli_w
import trimesh

from foundation.anatomy.shape_modes import moved_onto
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import load_config, read_tree, shipped_config
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.reference_path import plateau_starts
from tests.oracles.knees import load_knee
from tests.oracles.morphed_knees import smooth_warp

#: Standard deviations of size and width [1], and number of warps that all knees have in common.
_SIZE, _WIDTH, _WARPS = 0.03, 0.015, 4
#: Standard deviation [m] and length [m] of a common warp, and of the warp of a knee alone.
_COMMON, _OWN = (0.7e-3, 32e-3), (0.08e-3, 25e-3)
#: Largest weight in standard deviations, so that no knee is a monster.
_LARGEST = 2.5
_SHIPPED = {"lenhart": "lenhart", "grand challenge": "grand_challenge"}


def corresponding_knees(femur, tibia, count, seed=1):
    """Return knees with the triangles of a given one, in smooth random shapes.

    The knees of a population differ in size, width and four smooth warps, whose weights are normal;
    each knee has a small warp of its own besides. A warp is one field in space, which bends femur
    and tibia alike where they touch; its motion of each body as a whole is left out, so that the
    frames remain those of the bodies.
    """
    rng = np.random.default_rng(seed)
    start = plateau_starts(femur, tibia, 0.0)
    above = start[len(start) // 2].array[3:]
    fields = [_size, _width, *(_warp(rng, *_COMMON) for _ in range(_WARPS))]
    knees = []
    for _ in range(count):
        weights = np.clip(rng.normal(size=len(fields)), -_LARGEST, _LARGEST)
        own = _warp(rng, *_OWN)
        knee = []
        for mesh, place in ((femur, above), (tibia, np.zeros(3))):
            moved = mesh.vertices + own(mesh.vertices, place)
            for weight, field in zip(weights, fields, strict=True):
                moved = moved + weight * field(mesh.vertices, place)
            knee.append(TriangleMesh(moved, mesh.faces, mesh.name))
        knees.append((knee[0], knee[1]))
    return knees


def _size(points, place):
    del place
    return _SIZE * points


def _width(points, place):
    del place
    return _WIDTH * points * [0.0, 0.0, 1.0]


def _warp(rng, deviation, length):
    warp = smooth_warp(rng, deviation, length)
    return lambda points, place: moved_onto(points + warp(points + place), points) - points


def write_corresponding_knees(folder, base="lenhart", count=16, seed=1, **shape):
    """Write knees and a configuration with [knee.shape] and its further keys; return its path."""
    real = load_knee(base)
    if real is None:
        raise FileNotFoundError("the real knees are missing: set KNEE_DATA")
    folder.mkdir(parents=True, exist_ok=True)
    template = _written(real, folder, "template")
    knees = corresponding_knees(*real, count, seed)
    files = [_written(knee, folder, f"{k:02d}") for k, knee in enumerate(knees)]
    tree = read_tree(shipped_config(_SHIPPED[base]))
    if tree["contact"]["thickness_mm"] == "underside":
        del tree["contact"]["thickness_mm"]
        tree["contact"]["thickness_file"] = _thickness(base, folder)
    tree["run"] = {"name": f"{_SHIPPED[base]}_shapes"}
    tree["knee"] = {
        "source": "meshes",
        **{body: {"file": name, "unit": "mm"} for body, name in template.items()},
        "shape": {
            **{f"{body}_files": [names[body] for names in files] for body in template},
            **shape,
        },
    }
    config = folder / "shapes.toml"
    config.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return config


def _written(knee, folder, name):
    """Write the meshes of a knee [mm]; return the names of the files by body."""
    names = {}
    for body, mesh in zip(("femur", "tibia"), knee, strict=True):
        names[body] = f"{body}_{name}.ply"
        # Without processing, vertices and triangles keep their order.
        trimesh.Trimesh(1e3 * mesh.vertices, mesh.faces, process=False).export(folder / names[body])
    return names


def _thickness(base, folder):
    """Write the measured thickness under each vertex of the real tibia [mm]; return the name."""
    measured = load_surfaces(load_config(shipped_config(_SHIPPED[base]))).measured_thickness()
    pd.DataFrame({"thickness_mm": 1e3 * measured}).to_csv(folder / "thickness.csv", index=False)
    return "thickness.csv"
