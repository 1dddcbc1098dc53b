"""Variants of files: the triangles of the source, or a refusal with the reason."""

from __future__ import annotations

from pathlib import Path

import container_variants
import file_variants
import numpy as np
import pytest

from foundation.surfaces.mesh import MeshError
from foundation.surfaces.mesh_io import read_surface

GOOD = file_variants.GOOD | container_variants.GOOD
BAD = file_variants.BAD | container_variants.BAD


def needs(name):
    if Path(name).suffix in (".vtp", ".vtu"):
        pytest.importorskip("vtkmodules", reason="VTP and VTU need vtk (the vtp extra)")


def as_set(corners):
    """Return triangles (F, 3, 3) as a set: each begins with its least corner, the winding stays."""
    found = []
    for triangle in np.asarray(corners).round(9).tolist():
        first = triangle.index(min(triangle))
        found.append(tuple(map(tuple, triangle[first:] + triangle[:first])))
    return sorted(found)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_valid_variants_have_the_triangles_of_the_source(tmp_path, name):
    needs(name)
    (tmp_path / name).write_bytes(GOOD[name])
    found = read_surface(tmp_path / name)
    assert as_set(found.points[found.faces]) == as_set(file_variants.CORNERS)


@pytest.mark.parametrize("name", sorted(BAD))
def test_damaged_variants_are_refused_with_the_reason(tmp_path, name):
    needs(name)
    content, reason = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MeshError, match=rf"{name}: .*{reason}"):
        read_surface(tmp_path / name)
