"""Analytical laws of one contact: normal forces, Hertz's constants, friction."""

from foundation.contact_laws.hertz import (
    EllipticContact,
    effective_modulus,
    effective_radius,
    sphere_stiffness,
)
from foundation.contact_laws.normal import (
    CompliantFriction,
    ConstantHuntCrossleyLaw,
    ContactLaw,
    FloresLaw,
    HertzLaw,
    HookeLaw,
    HuntCrossleyLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    SpringDashpotLaw,
    returned_restitution,
)

__all__ = [
    "CompliantFriction",
    "ConstantHuntCrossleyLaw",
    "ContactLaw",
    "EllipticContact",
    "FloresLaw",
    "HertzLaw",
    "HookeLaw",
    "HuntCrossleyLaw",
    "KelvinVoigtLaw",
    "LankaraniNikraveshLaw",
    "SpringDashpotLaw",
    "effective_modulus",
    "effective_radius",
    "returned_restitution",
    "sphere_stiffness",
]
