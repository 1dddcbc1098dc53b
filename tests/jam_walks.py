"""OpenSim-JAM's example of a walk: configuration, and files of its folder."""

from studies import ROOT

JAM_WALK = ROOT / "configs" / "comak_walking.toml"
#: OpenSim-JAM's example: plane triangles.
AS_JAM = ("walk.surface=flat",)
WALK_FILES = {
    *("config.toml", "states.sto", "kinematics.mot", "forces.sto", "contact.sto", "frames.csv"),
    *("model.osim", "walk.json", "walk.html"),
}
