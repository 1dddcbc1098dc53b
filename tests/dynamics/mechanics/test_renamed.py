"""Former public names, with a deprecation warning."""

from importlib import import_module

import pytest

RENAMED = [
    ("chains", "Link", "ViscoelasticLink"),
    ("chains", "Motion", "PrescribedMotion"),
    ("chains", "Segment", "ChainSegment"),
    ("chains", "simulate", "simulate_chains"),
    ("ground", "Impact", "RigidImpact"),
    ("impact", "Impact", "FreeImpact"),
    ("planar_knee", "ContactPoint", "ContactLocation"),
    ("planar_knee", "Impact", "ContactStart"),
    ("planar_knee", "simulate", "simulate_planar_knee"),
    ("unilateral", "Link", "UnilateralLink"),
    ("unilateral", "Segment", "PinnedSegment"),
]


@pytest.mark.filterwarnings("ignore:dynamics.* has moved:DeprecationWarning")
@pytest.mark.parametrize("package", ["dynamics.mechanics", "dynamics"], ids=["present", "former"])
@pytest.mark.parametrize(("module", "former", "present"), RENAMED)
def test_former_names_warn_and_work(package, module, former, present):
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{former} is now .*{present}"):
        renamed = getattr(import_module(f"{package}.{module}"), former)
    assert renamed is getattr(import_module(f"dynamics.mechanics.{module}"), present)


def test_unknown_names_are_rejected():
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        import_module("dynamics.mechanics.chains").Nobody  # noqa: B018
