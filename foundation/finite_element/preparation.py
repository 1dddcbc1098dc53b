"""Condensation of several layers side by side."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from foundation.base.checks import FloatArray
from foundation.finite_element.compliance_store import ComplianceStore
from foundation.finite_element.condensed_layer import MeshedLayer


class Kept(NamedTuple):
    """A layer, the digest of what is kept, and the function that computes this, (C, C) [m/N]."""

    layer: MeshedLayer
    digest: str
    get: Callable[[], FloatArray]


def condense(
    layers: list[Kept], store: ComplianceStore, progress: Callable[[str], None] | None
) -> None:
    """Condense the layers that a store does not keep yet; `progress` takes a sentence."""
    new = [each for each in layers if not store.is_kept(each.digest, len(each.layer.candidates))]
    if progress is not None and new:
        unknowns = sum(3 * len(each.layer.mesh.nodes) for each in new)
        nodes = sum(len(each.layer.candidates) for each in new)
        progress(f"condensing {unknowns:,} unknowns to the normal forces at {nodes:,} nodes")
    # One thread of BLAS each, so that the bits do not depend on the number of cores.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor() as pool:
        list(pool.map(lambda each: each.get(), layers))
