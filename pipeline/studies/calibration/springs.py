"""Springs over the surfaces of a knee, with the free parameters of a law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from pipeline.config.schema import Config
from pipeline.originals.spring_bed import build_bed, law_over
from pipeline.studies.calibration.laws import FREE_LAWS, FreeLaw, Keys, with_keys
from pipeline.studies.calibration.samples import CalibrationSamples
from pipeline.studies.contact_models.configurations import given_parameters
from pipeline.studies.contact_models.knee import ComparedKnee


@dataclass(frozen=True, eq=False)
class FreeSprings:
    """A bed of springs with free parameters of its law."""

    free: FreeLaw
    #: Keys of the law before its calibration.
    given: Keys
    #: Springs with these keys.
    bed: ElasticFoundation
    #: Law of the bed with the thickness of each layer [m].
    law: SpringLaw
    #: Typical of the knee [mm].
    indentation: float

    def keys(self, values: FloatArray) -> Keys:
        """Return the keys of a configuration for parameters (P,) [1]."""
        return self.given | self.free.keys(values, self.indentation)

    def at(self, values: FloatArray) -> ElasticFoundation:
        """Return the bed with parameters (P,) [1]."""
        return self.bed.with_law(with_keys(self.law, self.free.name, self.keys(values)))


def linear_springs(knee: ComparedKnee) -> ElasticFoundation:
    """Return the springs of a knee with the linear law."""
    return build_bed(knee.springs("linear").contact, knee.surfaces)


def check_laws(config: Config, names: Sequence[str]) -> None:
    """Raise an InputError if a law cannot be calibrated with the springs of a configuration."""
    if "modified" in names and config.contact.conservative:
        raise InputError(
            "contact.conservative: expected false for a calibration of the modified law, which has "
            'no stored energy, found true; calibrate other laws (laws = ["coupled"]), or remove '
            "the key"
        )


def free_springs(
    knee: ComparedKnee, samples: CalibrationSamples, linear: ElasticFoundation, name: str
) -> FreeSprings:
    """Return the springs of a knee with a law of `FREE_LAWS`, by means of `linear` springs.

    Raises an InputError as `check_laws`.
    """
    check_laws(knee.config, (name,))
    given = given_parameters(knee.config, name)
    contact = knee.springs(name, **given).contact
    law = law_over(contact, knee.surfaces)
    columns = zip(samples.poses, samples.compartments.tolist(), strict=True)
    depths = [linear.indentation(Pose.from_array(pose), side) for pose, side in columns]
    indentation = 1e3 * float(np.median(depths))
    bed = build_bed(contact, knee.surfaces)
    return FreeSprings(FREE_LAWS[name], given, bed, law, indentation)
