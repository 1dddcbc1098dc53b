"""What contact laws make of a restitution: `python examples/mechanics/contact_laws.py`.

A sphere of cartilage strikes a plane. Laws with a coefficient of restitution return more or less
than this coefficient; with the constant factor of Hunt & Crossley (1975) the restitution depends on
the speed.
"""

from dynamics.mechanics.impact import coefficient_of_restitution
from foundation.contact_laws import (
    ConstantHuntCrossleyLaw,
    FloresLaw,
    HertzLaw,
    HuntCrossleyLaw,
    LankaraniNikraveshLaw,
    sphere_stiffness,
)

GIVEN, MASS, SPEEDS = 0.5, 0.3, (0.25, 1.0, 4.0)


def main() -> dict[str, float]:
    """Simulate impacts; return the restitutions [1] by the name of the law and the speed."""
    stiffness = sphere_stiffness(0.04, None, 5e6, 0.46, 5e6, 0.46)
    laws = {
        "Hertz": HertzLaw(stiffness),
        "Hunt-Crossley": HuntCrossleyLaw(stiffness, GIVEN),
        "Lankarani-Nikravesh": LankaraniNikraveshLaw(stiffness, GIVEN),
        "Flores": FloresLaw(stiffness, GIVEN),
        "constant factor": ConstantHuntCrossleyLaw(stiffness, dissipation=1.0),
    }
    print(f"restitution given: {GIVEN}; returned at {', '.join(map(str, SPEEDS))} m/s:")
    found = {}
    for name, law in laws.items():
        for speed in SPEEDS:
            impact = coefficient_of_restitution(law, MASS, speed)
            found[f"{name}, {speed:g} m/s"] = impact.restitution
        values = (found[f"{name}, {speed:g} m/s"] for speed in SPEEDS)
        print(f"{name:20}", "  ".join(f"{value:.3f}" for value in values))
    return found


if __name__ == "__main__":
    main()
