"""The engines of the comparison; importing this module needs OpenSim and Drake."""

from __future__ import annotations

from functools import partial

from benchmarks.peers.engines import Entry, Ours, without_normals
from benchmarks.peers.hydroelastic import Hydroelastic
from benchmarks.peers.simbody import Simbody
from benchmarks.peers.solids import SHELLS

ENTRIES = (
    Entry("ours, curved", "customary", (lambda c: Ours(c, "curved"),)),
    Entry(
        "ours, curved, normals estimated",
        "customary",
        (lambda c: Ours(without_normals(c), "curved"),),
    ),
    Entry("ours, flat", "customary", (lambda c: Ours(c, "flat"),)),
    Entry(
        "OpenSim ElasticFoundationForce",
        "nearest",
        tuple(partial(Simbody, thickness=t) for t in SHELLS),
    ),
    Entry("Drake hydroelastic", "hydroelastic", (Hydroelastic,)),
)
