"""Checks of finite elements before they are condensed: their size, and nodes across a contact."""

from __future__ import annotations

from foundation.finite_element.model import FiniteElementContact
from foundation.surface_contact import SurfaceContact
from pipeline.originals.finite_element_layer import spacing_for
from pipeline.preparation.remarks import Remarks
from pipeline.progress import rounded

_ABOUT = "[contact.finite_element]"
#: Least nodes across a contact patch: peak pressures of fewer nodes are off by more than 1 %.
NODES_ACROSS = 8.0


def elements_of(model: SurfaceContact) -> FiniteElementContact | None:
    """Return a contact model if it is of finite elements, else None."""
    return model if isinstance(model, FiniteElementContact) else None


def describe_size(model: FiniteElementContact, remarks: Remarks) -> None:
    """Note nodes, unknowns, memory and times of finite elements."""
    size = model.size
    medial, lateral = size.candidates
    remarks.note(
        _ABOUT,
        f"{medial:,} medial and {lateral:,} lateral nodes may come into contact, of "
        f"{size.nodes:,} nodes with {size.unknowns:,} unknowns; the condensation takes about "
        f"{rounded(size.condensation_seconds)} and {1e-9 * size.memory:.1f} GB of memory, once; a "
        f"pose then takes about {1e3 * size.seconds_per_pose:.2g} ms",
    )
    remarks.note(
        _ABOUT,
        "path and domain were checked with an elastic foundation over the same surfaces, which "
        "needs no condensation",
    )


def check_nodes(model: FiniteElementContact, radius: float, remarks: Remarks) -> None:
    """Compare the spacing of the nodes with the radius of a typical contact [m]."""
    across = 2.0 * radius / model.spacing
    text = f"a typical contact is {2e3 * radius:.0f} mm across, which is {across:.1f} nodes"
    if across >= NODES_ACROSS:
        remarks.note(_ABOUT, text)
        return
    remarks.warning(
        _ABOUT,
        f"{text} (expected at least {NODES_ACROSS:g}); peak pressures will be inaccurate: set "
        f"node_spacing_mm = {spacing_for(2.0 * radius, NODES_ACROSS):g}",
    )
