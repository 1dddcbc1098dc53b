"""Analytical laws of one contact: normal forces, Hertz's constants, friction."""

from foundation.contact_laws.dissipative import (
    ConstantHuntCrossleyLaw,
    FloresLaw,
    HuntCrossleyLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    SpringDashpotLaw,
    returned_restitution,
)
from foundation.contact_laws.ellipse import EllipticContact
from foundation.contact_laws.friction import CompliantFriction
from foundation.contact_laws.hertz import effective_modulus, effective_radius, sphere_stiffness
from foundation.contact_laws.normal import ContactLaw, HertzLaw, HookeLaw

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
