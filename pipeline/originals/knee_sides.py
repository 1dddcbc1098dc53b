"""Side of a knee by the shapes of femur and tibia, compared with the configured side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foundation.anatomy.femoral_frame import lateral_ridge
from foundation.anatomy.tibial_frame import shape_of
from foundation.base.findings import Finding
from foundation.surfaces.mesh import SIDES
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.originals.forward_frame import forward_frame

#: Least logarithm of a ratio of medial and lateral sizes that tells the side (measured: plateaus
#: 0.19 on cartilage and 0.04 on an insert, ridges 0.09 and 0).
TELLING = 0.02
#: The same where one body alone tells the side.
_ALONE = 0.03


def side_scores(meshes: Mapping[str, TriangleMesh]) -> dict[str, float]:
    """Return how clearly each body is of a right knee: logarithms of ratios of sizes [1].

    Parameters
    ----------
    meshes : mapping of str to TriangleMesh
        Surfaces of "femur" and "tibia" in their frames, vertices (V, 3) each [m].

    Returns
    -------
    dict of str to float
        By body, positive for a right knee and negative for a left one; a body whose shape does
        not tell is left out.
    """
    scores = {}
    for body, mesh in meshes.items():
        try:
            if body == "femur":
                score = lateral_ridge(mesh, forward_frame(mesh))
            else:
                score = shape_of(mesh, np.eye(3)).longer
        except MeshError:  # the shape has no such part, which does not make the mesh wrong
            continue
        if abs(score) > TELLING:
            scores[body] = score
    return scores


def check_sides(meshes: Mapping[str, TriangleMesh], side: str) -> list[Finding]:
    """Return warnings about bodies of different sides, or of another side than is stated.

    Parameters
    ----------
    meshes : mapping of str to TriangleMesh
        Surfaces of "femur" and "tibia" as loaded: as a right knee [m].
    side : {"right", "left"}
        Stated side, from which the surfaces were mirrored.
    """
    scores = side_scores(meshes)
    other = SIDES[1 - SIDES.index(side)]
    values = list(scores.values())
    if len(values) == 2 and min(values) < 0.0 < max(values):
        found = {body: side if score > 0.0 else other for body, score in scores.items()}
        text = (
            f"the shapes of femur and tibia are of different sides: {meshes['femur'].name} is of a "
            f"{found['femur']} knee ({_RIDGE}), {meshes['tibia'].name} is of a {found['tibia']} "
            f"knee ({_PLATEAU}); expected both bodies of one knee: one of the files may be "
            "mirrored; name a file that is not mirrored"
        )
        return [Finding("warning", "[knee]", text, "different-sides")]
    if sum(values) < (-TELLING if len(values) == 2 else -_ALONE):
        signs = {
            "femur": "the medial ridge of the trochlea is higher than the lateral ridge",
            "tibia": "the lateral plateau is longer than the medial plateau",
        }
        text = (
            f'side = "{side}", but the shape is of a {other} knee: '
            f"{' and '.join(signs[body] for body in scores)}, unlike in natural knees; set side = "
            f'"{other}" for a {other} knee, or check the axes'
        )
        return [Finding("warning", "knee.side", text, "side")]
    return []


_RIDGE = "the higher ridge of the trochlea is lateral"
_PLATEAU = "the longer plateau is medial"
