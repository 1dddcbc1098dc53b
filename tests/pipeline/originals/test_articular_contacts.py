"""Mesh files that stand for those of an OpenSim model."""

import pytest

from dynamics.musculoskeletal import OsimModel
from foundation.errors import InputError
from pipeline.originals.articular_contacts import articular_contacts, contact_meshes
from tests.dynamics.musculoskeletal.test_osim_model import MODEL


@pytest.mark.parametrize("read", [articular_contacts, contact_meshes])
def test_a_name_that_is_no_mesh_file_of_the_model_is_named(read, tmp_path):
    (tmp_path / "m.osim").write_text(MODEL)
    with pytest.raises(InputError, match=r"found 'bad\.stl'; .* bed\.stl, target\.stl, bone\.stl"):
        read(OsimModel(tmp_path / "m.osim"), meshes={"bad.stl": tmp_path / "bed.stl"})
