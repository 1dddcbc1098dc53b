"""An elastic foundation as the contact model of a study."""

from __future__ import annotations

from foundation.base.findings import Finding
from pipeline.config.schema import ContactConfig
from pipeline.originals.knee import ContactKind, Knee, KneeInputs
from pipeline.originals.layer_checks import check_laws
from pipeline.originals.patch_resolution import check_triangles
from pipeline.originals.spring_bed import bed_digest, build_bed


def _build(inputs: KneeInputs) -> Knee:
    contact = inputs.config.contact
    model = build_bed(contact, inputs.surfaces)
    # Coupled springs take long, and ridges of a scan keep them from settling.
    quick = inputs.springs if contact.law == "coupled" else None
    return Knee(model, inputs.start, bed_digest(model), quick)


def _check_resolution(knee: Knee, contact: ContactConfig, area: float) -> Finding:
    return check_triangles(knee.model.tibia, area, contact.surface)


SPRINGS = ContactKind(build=_build, check_resolution=_check_resolution, check=check_laws)
