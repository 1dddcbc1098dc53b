"""Error of the node spacing of a contact model over a simulated gait cycle."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.finite_element.resolution import spacing_error
from foundation.surface_contact import NodalContact
from pipeline.store.run_documents import NodeSpacing, SpacingErrors

#: Poses of the cycle at which the error is estimated.
POSES = 26


def node_spacing(model: NodalContact, poses: FloatArray) -> NodeSpacing:
    """Return the error of a model's node spacing at poses (N, 6) [rad, m] of a cycle.

    The error is estimated from the same model with nodes twice as far apart. Where this model
    cannot be made, the reason takes the place of the errors.
    """
    chosen = np.unique(np.linspace(0, len(poses), POSES, endpoint=False).astype(int))
    pair = model.spacing, 2.0 * model.spacing
    try:
        found = spacing_error(model, [Pose.from_array(pose) for pose in poses[chosen]])
    except InputError as error:
        return _documented(pair, None, f"with nodes {1e3 * pair[1]:g} mm apart, {error}")
    errors = SpacingErrors(
        force_share=found.force,
        peak_pressure_share=found.peak_pressure,
        area_share=found.area,
        centre_m=found.centre,
        poses=found.poses,
        unresolved=found.unresolved,
    )
    return _documented(pair, errors)


def _documented(
    pair: tuple[float, float], errors: SpacingErrors | None, reason: str = ""
) -> NodeSpacing:
    return NodeSpacing(spacing_m=pair[0], coarser_m=pair[1], errors=errors, reason=reason)
