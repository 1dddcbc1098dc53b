"""Side of a knee by the shapes of femur and tibia, compared with the configured side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foundation.anatomy.femoral_frame import trochlear_lead
from foundation.anatomy.tibial_frame import shape_of
from foundation.base.findings import Finding
from foundation.surfaces.mesh import SIDES
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.originals.forward_frame import forward_frame

#: Least difference of medial and lateral parts that tells the side (measured: plateaus 0.7 on
#: cartilage and 0.04 on an insert, trochleas 0.5), and that of each of two bodies that contradict
#: each other.
TELLING, _CONTRARY = 0.03, 0.1


def side_scores(meshes: Mapping[str, TriangleMesh]) -> dict[str, float]:
    """Return how clearly each body is of a right knee [1].

    A score is positive for a right knee and negative for a left one; a body whose shape does not
    tell is left out. `meshes` are "femur" and "tibia" in their frames, vertices (V, 3) each [m].
    """
    scores = {}
    for body, mesh in meshes.items():
        try:
            if body == "femur":
                score = trochlear_lead(mesh, forward_frame(mesh))
            else:
                score = shape_of(mesh, np.eye(3)).medial_left
        except MeshError:  # the shape has no such part, which does not make the mesh wrong
            continue
        if abs(score) > TELLING:
            scores[body] = score
    return scores


def check_sides(
    meshes: Mapping[str, TriangleMesh], side: str, *, bony_femur: bool = False
) -> list[Finding]:
    """Return warnings about bodies of different sides, or of another side than is stated.

    `meshes` are "femur" and "tibia" as loaded: mirrored from the stated `side`, as a right knee.
    The trochlea of a bony femur, without cartilage, does not tell the side.
    """
    scores = side_scores(meshes)
    if bony_femur:
        scores.pop("femur", None)
    other = SIDES[1 - SIDES.index(side)]
    values = list(scores.values())
    if len(values) == 2 and min(values) < -_CONTRARY and max(values) > _CONTRARY:
        of = {body: side if score > 0.0 else other for body, score in scores.items()}
        text = (
            f"the shapes of femur and tibia are of different sides: {meshes['femur'].name} is of a "
            f"{of['femur']} knee ({_TROCHLEA}), {meshes['tibia'].name} is of a {of['tibia']} "
            f"knee ({_PLATEAU}); expected both bodies of one knee: one of the files may be "
            "mirrored; name a file that is not mirrored"
        )
        return [Finding("warning", "[knee]", text, "different-sides")]
    if sum(values) < -TELLING:
        signs = {
            "femur": "the medial part of the trochlea is larger than the lateral part",
            "tibia": "the lateral plateau is longer, or less convex, than the medial plateau",
        }
        found = " and ".join(signs[body] for body, score in scores.items() if score < 0.0)
        text = (
            f'side = "{side}", but the shape is of a {other} knee: {found}, unlike in natural '
            f'knees; set side = "{other}" for a {other} knee, or check the axes'
        )
        return [Finding("warning", "knee.side", text, "side")]
    return []


_TROCHLEA = "the larger part of the trochlea is lateral"
_PLATEAU = "the longer, less convex plateau is medial"
