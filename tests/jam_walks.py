"""OpenSim-JAM's example of a walk: configuration, files of its folder, and changes of a walk."""

from studies import ROOT

from pipeline.studies.muscle_walks.schema import MuscleWalkFile

JAM_WALK = ROOT / "configs" / "comak_walking.toml"
#: OpenSim-JAM's example: plane triangles.
AS_JAM = ("walk.surface=flat",)
WALK_FILES = {
    *("config.toml", "states.sto", "kinematics.mot", "forces.sto", "contact.sto", "frames.csv"),
    *("model.osim", "plant.npz", "walk.json", "walk.html"),
}


def changed(file, comak=None, **walk):
    """Return a walk with other keys of [walk], and others of [comak] from a mapping."""
    return MuscleWalkFile(
        walk=file.walk.model_copy(update=walk), comak=file.comak.model_copy(update=comak or {})
    )
