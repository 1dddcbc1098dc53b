"""Compiled kernels of the original model: spring laws, search on the femur, contact, loads.

Kernels work on floats in SI units and C-contiguous arrays, neither raise nor print, keep no state
between calls except scratch memory from the caller, and sum in a fixed order.
"""

from pathlib import Path

from foundation.base.compiling import drop_stale_cache

drop_stale_cache(Path(__file__).parent)

from foundation.kernels.arrays import Bed, Femur, Law, Motion, Work, handle, new_work  # noqa: E402
from foundation.kernels.contact import APART, BULGE, LUMPED, RESOLVED  # noqa: E402
from foundation.kernels.coupled import (  # noqa: E402
    evaluate_coupled,
)
from foundation.kernels.edge import EDGE_END  # noqa: E402
from foundation.kernels.layers import (  # noqa: E402
    LOGARITHMIC,
    POWER,
    series_pressure,
)
from foundation.kernels.loads import evaluate_contact, middle_state  # noqa: E402
from foundation.kernels.overlaps import (  # noqa: E402
    add_block,
    add_overlap_curvature,
    find_overlaps,
    raise_overlaps,
    spread_forces,
    write_overlap_hessians,
)
from foundation.kernels.patch import measure_patch  # noqa: E402
from foundation.kernels.search import (  # noqa: E402
    LANES,
    PARTS,
    fill_bricks,
    largest_protrusions,
    line_exits,
)
from foundation.kernels.sums import SUMS  # noqa: E402
from foundation.kernels.two_layers import (  # noqa: E402
    deficit_transform,
    fill_rows,
    fill_slopes,
    lattice_excess,
    lattice_own_part,
    subtract_flat,
)

__all__ = [
    "APART",
    "BULGE",
    "EDGE_END",
    "LANES",
    "LOGARITHMIC",
    "LUMPED",
    "PARTS",
    "POWER",
    "RESOLVED",
    "SUMS",
    "Bed",
    "Femur",
    "Law",
    "Motion",
    "Work",
    "add_block",
    "add_overlap_curvature",
    "deficit_transform",
    "evaluate_contact",
    "evaluate_coupled",
    "fill_bricks",
    "fill_rows",
    "fill_slopes",
    "find_overlaps",
    "handle",
    "largest_protrusions",
    "lattice_excess",
    "lattice_own_part",
    "line_exits",
    "measure_patch",
    "middle_state",
    "new_work",
    "raise_overlaps",
    "series_pressure",
    "spread_forces",
    "subtract_flat",
    "write_overlap_hessians",
]
