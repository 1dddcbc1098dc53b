"""The shape of a new knee by the modes of [knee.shape]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.anatomy.mode_fit import FittedShape, fit_surfaces, fit_vertices
from foundation.anatomy.shape_modes import Bounds
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.surfaces.mesh import TriangleMesh
from pipeline.config.knee_schema import KneeConfig
from pipeline.originals.mesh_loading import UNMOVED, load_body
from pipeline.originals.shape_surfaces import (
    Template,
    corresponding,
    read_as_is,
    shape_modes,
    template,
)


def shape_of_knee(
    knee: KneeConfig,
    files: tuple[str, str],
    varied: NDArray[np.bool_],
    bounds: Bounds,
    side: str | None = None,
) -> FittedShape:
    """Return the modes of a knee with [knee.shape] fitted to the meshes of another knee.

    Unit, axes and frame of the meshes, femur and tibia, are those of [knee.femur] and [knee.tibia].
    Meshes that correspond to the templates have their weights by their vertices, others by their
    surfaces; `align = "rigid"` also moves and turns these. The modes `varied` (K,) are fitted
    within `bounds`, numbers or (K,) [1]; the others keep their weights of [knee.shape]. The side is
    that of [knee] by default. Raises `InputError`, which names the mesh, if a mesh cannot be used
    or is too far from those of the modes.
    """
    assert knee.shape is not None
    rigid = knee.shape.align == "rigid"
    modes = shape_modes(knee).chosen(knee.shape.weights, varied)
    side = knee.side if side is None else side
    templates = template(knee, "femur"), template(knee, "tibia")
    vertices = [
        _vertices(each, file, side, rigid=rigid)
        for each, file in zip(templates, files, strict=True)
    ]
    femoral, tibial = vertices
    if femoral is not None and tibial is not None:
        return fit_vertices(modes, femoral, tibial, bounds)
    femur, tibia = (
        _surface(knee, body, file, side)
        for body, file in zip(("femur", "tibia"), files, strict=True)
    )
    return fit_surfaces(modes, femur, tibia, bounds, rigid=rigid)


def _vertices(template: Template, file: str, side: str, *, rigid: bool) -> FloatArray | None:
    """Return the vertices (V, 3) [m] of a file; None if it has other triangles."""
    mesh, whole = read_as_is(template.config, (file,), side), template.whole
    if len(mesh.vertices) != len(whole.vertices) or not np.array_equal(mesh.faces, whole.faces):
        return None
    return corresponding(template, mesh, file, rigid=rigid)[template.used]


def _surface(knee: KneeConfig, body: str, file: str, side: str) -> TriangleMesh:
    """Return the surface of a file [m], repaired, as that of a body."""
    own = knee.model_copy(update={"side": side})
    try:
        loaded = load_body(own, body, file=file, **UNMOVED)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    for finding in loaded.findings:
        if finding.is_error:
            raise InputError(f"{file}: {finding.text}")
    return loaded.mesh
