"""Size of a finite-element model, and what the model costs, before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.finite_element.condensed_layer import MeshedLayer

#: Seconds of the condensation per candidate squared and per unknown, of one core (measured).
_PER_CANDIDATE_SQUARED, _PER_UNKNOWN = 5e-7, 8e-5
#: Arrays of candidates squared that the condensation needs at a time, in double precision.
_ARRAYS = 4.0


@dataclass(frozen=True)
class LayerSize:
    """Size of the layers of a knee.

    Parameters
    ----------
    candidates : tuple of int
        Nodes that may come into contact, per layer: medial and lateral, tibial layers first.
    unknowns : tuple of int
        Unknowns of the mesh of each layer.
    memory : float
        Memory of the condensation of all layers side by side [bytes].
    storage : float
        Memory of the compliances, which all processes share [bytes].
    seconds : float
        Estimate of the time of the condensation on one core [s].
    """

    candidates: tuple[int, ...]
    unknowns: tuple[int, ...]
    memory: float
    storage: float
    seconds: float


def size_of(layers: list[MeshedLayer], precision: str) -> LayerSize:
    """Return the size of layers, kept in a precision ("float64" or "float32")."""
    candidates = tuple(len(layer.candidates) for layer in layers)
    unknowns = tuple(3 * len(layer.mesh.nodes) for layer in layers)
    width = {"float64": 8, "float32": 4}[precision]
    return LayerSize(
        candidates,
        unknowns,
        memory=sum(
            8.0 * _ARRAYS * c * c + 200.0 * u for c, u in zip(candidates, unknowns, strict=True)
        ),
        storage=float(sum(width * c * c for c in candidates)),
        seconds=sum(
            _PER_CANDIDATE_SQUARED * c * c + _PER_UNKNOWN * u
            for c, u in zip(candidates, unknowns, strict=True)
        ),
    )
