"""Muscles, ligaments and joint contact of a whole person: OpenSim models and COMAK.

`OsimModel` reads a model with articular contact, `OpenSimSystem` and `OpenSimPlant` are its
multibody system by the `opensim` package, `JointContact` a contact model in a joint, `Comak` finds
activations and secondary coordinates along a motion, `settle` their start. `simulate_forward` lets
forces move the secondary coordinates while all others are prescribed; `follow_markers` finds a
motion from markers, with `ConstraintFunctions` for the secondary coordinates.
"""

from dynamics.musculoskeletal.comak import Comak, ComakResult
from dynamics.musculoskeletal.comak_settings import ComakSettings

__all__ = ["Comak", "ComakResult", "ComakSettings"]
