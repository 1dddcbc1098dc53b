"""Springs coupled by the surface compliance of the layer, on a lattice (docs/theory.md)."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.core.library import Record
from foundation.elastic_foundation.laws import SpringLaw, coupled_laws
from foundation.layer_theory.flat_layer import PER_STEP, deficit_table, strength

#: Width of Hertz's patch over the root of a central second moment of the overlap, of a paraboloid,
#: and a margin for wider patches.
_PATCH_WIDTH = 2.0 * np.sqrt(6.0) * 0.86
#: Distance of the edge found from nodal pressures outside the true edge, in edges of the cells.
EDGE_OFFSET = 0.05
#: Places of the nodes in the cells of the lattices that loads are averaged over.
_PLACES = ((0.0, 0.0), (0.5, 0.5))


def coupling_of(law: SpringLaw, thicknesses: FloatArray) -> Record | None:
    """Return the struct `coupling` of a law with thicknesses (L, F) [m] of elements, or None."""
    laws = coupled_laws(law)
    if not laws:
        return None
    tables = np.stack([deficit_table(each.poissons_ratio) for each in laws])
    return Record(
        "coupling",
        layers=len(laws),
        springs=thicknesses.shape[1],
        pieces=tables.shape[1],
        tables=tables,
        per_step=PER_STEP,
        strengths=np.array([strength(each.modulus, each.poissons_ratio) for each in laws]),
        ratios=np.array([each.poissons_ratio for each in laws]),
        thicknesses=np.array([[each.thickness_factor] for each in laws]) * thicknesses,
        scale=float(_PATCH_WIDTH) / laws[0].nodes_across,
        count_places=len(_PLACES),
        places=np.array(_PLACES),
        edge_offset=EDGE_OFFSET,
    )
