"""Size of a finite-element model, and what the model costs, before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from foundation.base.errors import InputError
from foundation.finite_element.condensed_layer import MeshedLayer

#: Seconds of the condensation per candidate squared and per unknown, of one core (measured).
_PER_CANDIDATE_SQUARED, _PER_UNKNOWN = 5e-7, 8e-5
#: Arrays of candidates squared that the condensation needs at a time, in double precision.
_ARRAYS = 4.0
#: Bytes of an unknown in the condensation.
_BYTES_PER_UNKNOWN = 200.0
#: Part of the memory of the machine that a condensation may take.
_USABLE = 0.9


@dataclass(frozen=True)
class LayerSize:
    """Size of the layers of a knee."""

    #: Nodes that may come into contact, per layer: medial and lateral, tibial layers first.
    candidates: tuple[int, ...]
    #: Of the mesh of each layer.
    unknowns: tuple[int, ...]
    #: Of the condensation of all layers side by side [bytes].
    memory: float
    #: Of the compliances, which all processes share [bytes].
    storage: float
    #: Estimate for the condensation on one core [s].
    seconds: float


def size_of(layers: list[MeshedLayer], precision: str) -> LayerSize:
    """Return the size of layers, kept in a precision ("float64" or "float32")."""
    candidates = tuple(len(layer.candidates) for layer in layers)
    unknowns = tuple(3 * len(layer.mesh.nodes) for layer in layers)
    width = {"float64": 8, "float32": 4}[precision]
    return LayerSize(
        candidates,
        unknowns,
        memory=_memory(candidates) + _BYTES_PER_UNKNOWN * sum(unknowns),
        storage=float(sum(width * c * c for c in candidates)),
        seconds=sum(
            _PER_CANDIDATE_SQUARED * c * c + _PER_UNKNOWN * u
            for c, u in zip(candidates, unknowns, strict=True)
        ),
    )


def check_area(name: str, area: float, spacing: float) -> None:
    """Raise an InputError, before anything is meshed, if too many nodes fit on an area [m²]."""
    nodes = area / spacing**2
    check_memory(
        _memory([nodes]), f"a {name} compartment of {1e4 * area:.3g} cm² has {nodes:,.0f} nodes"
    )


def check_memory(needed: float, what: str) -> None:
    """Raise an InputError about `what` if it needs more memory [bytes] than there is."""
    available = machine_memory()
    if available is not None and needed > _USABLE * available:
        raise InputError(
            f"{{name}}: {what}, and the condensation needs {1e-9 * needed:,.1f} GB of memory "
            f"(expected at most {_USABLE:.0%} of the {1e-9 * available:.1f} GB of this machine); "
            "increase {name}, or check the unit of the surfaces",
            "spacing",
        )


def machine_memory() -> float | None:
    """Return the memory of this machine [bytes]; None where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _memory(candidates: Sequence[float]) -> float:
    """Return the memory of the dense arrays of layers with numbers of candidates [bytes]."""
    return sum(8.0 * _ARRAYS * count * count for count in candidates)
