"""Names that configurations choose from; without imports of packages, for a fast `--help`.

Each list has the names of a registry in their order: `foundation.elastic_foundation.laws.LAWS`,
`pipeline.studies.calibration.laws.FREE_LAWS`, `surrogates.families.FAMILIES`, `FORMULATIONS`
of a compartment, and `pipeline.studies.contact_models.registry.MODELS`.
"""

from __future__ import annotations

from typing import Literal

Law = Literal["linear", "modified", "logarithmic", "coupled"]
CalibratedLaw = Literal["modified", "coupled"]
Family = Literal["kriging", "polynomial", "poly_fourier", "network"]
Formulation = Literal["inverted", "direct"]
ComparedModel = Literal[
    "finite_elements", "finite_elements_coarse", "linear", "logarithmic", "modified",
    "modified_calibrated", "coupled", "coupled_calibrated", "elliptic_hertz", "hertz_calibrated",
    "hooke_calibrated", "springs_surrogate", "elements_surrogate",
]  # fmt: skip
