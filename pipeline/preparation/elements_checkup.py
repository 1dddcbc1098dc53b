"""Checks of finite elements before they are condensed: size, times, nodes across a contact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.finite_element.model import FiniteElementContact
from foundation.surface_contact import SurfaceContact
from pipeline.config.knee_schema import FiniteElementConfig
from pipeline.originals.finite_element_layer import spacing_for
from pipeline.preparation.findings import Findings
from pipeline.progress import rounded

_ABOUT = "[contact.finite_element]"
#: Least nodes across a contact patch: peak pressures of fewer nodes are off by more than 1 %.
NODES_ACROSS = 8.0
#: Time of an evaluation of one compartment [s]: constant, per node in contact, and per square of
#: the nodes in contact, measured on the built-in implant at spacings of 0.5 and 1 mm.
_SECONDS = (3e-4, 1.5e-5, 4.5e-8)


class Elements(NamedTuple):
    """Finite elements of a knee: the model, not condensed, and its section of a configuration."""

    model: FiniteElementContact
    settings: FiniteElementConfig

    @classmethod
    def of(cls, model: SurfaceContact, settings: FiniteElementConfig | None) -> Elements | None:
        """Return the finite elements of a contact model; None of another model."""
        if settings is None or not isinstance(model, FiniteElementContact):
            return None
        return cls(model, settings)

    def seconds_per_evaluation(self, area: float) -> float:
        """Return the expected time of an evaluation of one compartment [s], by its area [m²]."""
        nodes = area / (1e-3 * self.settings.node_spacing_mm) ** 2
        return float(np.polynomial.polynomial.polyval(nodes, _SECONDS))

    def describe(self, area: float, findings: Findings) -> None:
        """Note nodes, unknowns, memory and times; `area` is that of a typical contact [m²]."""
        size = self.model.size
        medial, lateral, *femoral = size.candidates
        on_femur = f", and {sum(femoral):,} of the femoral layer," if femoral else ""
        findings.note(
            _ABOUT,
            f"{medial:,} medial and {lateral:,} lateral nodes{on_femur} may come into contact, in "
            f"meshes of {sum(size.unknowns):,} unknowns; the condensation takes about "
            f"{rounded(size.seconds)} and {_bytes(size.memory)} of memory, once, and leaves "
            f"{_bytes(size.storage)} on the disk; a pose then takes about "
            f"{2e3 * self.seconds_per_evaluation(area):.2g} ms",
        )
        findings.note(
            _ABOUT,
            "path and domain were checked with an elastic foundation over the same surfaces, "
            "which needs no condensation",
        )

    def check_nodes(self, area: float, findings: Findings) -> None:
        """Compare the spacing of the nodes with the area of a typical contact [m²]."""
        width = 2.0 * np.sqrt(area / np.pi)
        across = 1e3 * width / self.settings.node_spacing_mm
        text = f"a typical contact is {1e3 * width:.0f} mm across, which is {across:.1f} nodes"
        if across >= NODES_ACROSS:
            findings.note(_ABOUT, text)
            return
        findings.warning(
            _ABOUT,
            f"{text} (expected at least {NODES_ACROSS:g}); peak pressures will be inaccurate: set "
            f"node_spacing_mm = {spacing_for(width, NODES_ACROSS):g}",
        )


def _bytes(size: float) -> str:
    """Return a size [bytes] as text."""
    return f"{1e-9 * size:.1f} GB" if size >= 1e9 else f"{max(1e-6 * size, 1.0):.0f} MB"
