"""An elastic foundation as the contact model of a study."""

from __future__ import annotations

from pipeline.config.schema import ContactConfig
from pipeline.originals.knee import ContactKind, Knee, KneeInputs
from pipeline.originals.layer_checks import law_remarks
from pipeline.originals.patch_resolution import PatchResolution, triangles_across
from pipeline.originals.spring_bed import bed_digest, build_bed


def _build(inputs: KneeInputs) -> Knee:
    model = build_bed(inputs.config.contact, inputs.surfaces)
    return Knee(model, inputs.start, bed_digest(model))


def _resolution(knee: Knee, contact: ContactConfig, area: float) -> PatchResolution:
    return triangles_across(knee.model.tibia, area, contact.surface)


SPRINGS = ContactKind(build=_build, resolution=_resolution, remarks=law_remarks)
