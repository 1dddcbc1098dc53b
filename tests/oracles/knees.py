"""The real knees; the data lies in `$KNEE_DATA` or ../shared/data."""

from pathlib import Path

from foundation.surfaces.mesh import load_mesh
from pipeline.config.data_folder import data_path

_PLAIN = ("x", "y", "z")
_TURNED = ("-x", "y", "-z")  # x posterior, z medial
_FILES = {
    "grand challenge": (
        "grand_challenge_DM_implant/Femoral Component contact.stl",
        "grand_challenge_DM_implant/Tibial Insert contact.stl",
        _TURNED,
    ),
    "lenhart": (
        "jam_lenhart2015_knee/ACLC01-R-femur-cart.obj",
        "jam_lenhart2015_knee/ACLC01-R-tibia-cart.obj",
        _PLAIN,
    ),
}


def load_knee(name):
    """Return femur and tibia of a knee of `_FILES` [m], None where the data is absent."""
    *files, axes = _FILES[name]
    paths = [data_path(f"$KNEE_DATA/{file}", Path()) for file in files]
    if not all(path.is_file() for path in paths):
        return None
    femur, tibia = (load_mesh(path, axes=axes, side="right") for path in paths)
    return femur, tibia
