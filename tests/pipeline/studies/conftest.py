"""OpenSim-JAM's example of a walk, simulated once."""

import pytest

from pipeline.cli.main import main


@pytest.fixture(scope="session")
def jam_walk(jam_folder, opensim, knee_data, tmp_path_factory):
    """Return the folder of the first frames by OpenSim-JAM's settings; not to be written to."""
    folder = tmp_path_factory.mktemp("walk") / "out"
    names = {"femur": "ACLC01-R-femur-cart.obj", "tibia": "ACLC01-R-tibia-cart.obj"}
    meshes = [
        f'--set=walk.meshes."lenhart2015-R-{bone}-cartilage.stl"='
        f"{knee_data / 'jam_lenhart2015_knee' / name}"
        for bone, name in names.items()
    ]
    settings = jam_folder / "examples/walking/inputs/comak_settings.xml"
    changes = ["--set=comak.stop_s=1.24", *meshes, "--out", str(folder), "--quiet"]
    assert main(["run", str(settings), *changes]) == 0
    return folder
