"""Analytical laws of one contact: normal forces, Hertz's constants, friction."""

from foundation.contact_laws.dissipative import (
    ConstantHuntCrossleyLaw,
    FloresLaw,
    HuntCrossleyLaw,
    HysteresisLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
    SpringDashpotLaw,
    returned_restitution,
)
from foundation.contact_laws.ellipse import (
    EllipseFactors,
    EllipticContact,
    approximate_factors,
    exact_factors,
    relative_radii,
)
from foundation.contact_laws.friction import CompliantFriction
from foundation.contact_laws.hertz import effective_modulus, effective_radius, sphere_stiffness
from foundation.contact_laws.normal import ContactLaw, HertzLaw, HookeLaw

__all__ = [
    "CompliantFriction",
    "ConstantHuntCrossleyLaw",
    "ContactLaw",
    "EllipseFactors",
    "EllipticContact",
    "FloresLaw",
    "HertzLaw",
    "HookeLaw",
    "HuntCrossleyLaw",
    "HysteresisLaw",
    "KelvinVoigtLaw",
    "LankaraniNikraveshLaw",
    "LinearHysteresisLaw",
    "SpringDashpotLaw",
    "approximate_factors",
    "effective_modulus",
    "effective_radius",
    "exact_factors",
    "relative_radii",
    "returned_restitution",
    "sphere_stiffness",
]
