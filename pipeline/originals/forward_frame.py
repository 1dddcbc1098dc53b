"""Anatomical frame of a femur as loaded, whose first axis is expected to point anterior."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from foundation.anatomy.evidence import AnatomicalFrame
from foundation.anatomy.femoral_frame import femoral_frame
from foundation.base.checks import frozen
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: Anterior axis of the body, (3,) [1].
FORWARD = frozen(np.array([1.0, 0.0, 0.0]))


def faces_backward(femur: TriangleMesh) -> bool:
    """Return whether the trochlea of a femur (V, 3) [m] is posterior; False without a trochlea."""
    frame = _frame_by_trochlea(femur)
    return frame is not None and float(frame.rotation[0, 0]) < 0.0


# Several checks need the frame of the same femur, whose fit takes longest.
@lru_cache(maxsize=1)
def forward_frame(femur: TriangleMesh) -> AnatomicalFrame:
    """Return the anatomical frame of a femur (V, 3) [m] whose first axis points anterior.

    Raises `MeshError` if the shape is not that of a femur with two condyles.
    """
    frame = _frame_by_trochlea(femur)
    if frame is not None and float(frame.rotation[0, 0]) > 0.0:
        return frame
    return femoral_frame(femur, FORWARD)


@lru_cache(maxsize=1)
def _frame_by_trochlea(femur: TriangleMesh) -> AnatomicalFrame | None:
    """Return the frame of a femur by its shape alone; None without a trochlea."""
    try:
        frame = femoral_frame(femur)
    except MeshError:
        return None
    return frame if frame.evidence["anterior"].certainty == "sure" else None
