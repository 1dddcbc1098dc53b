"""The mesh files of a knee: which of them are one and the same."""

from __future__ import annotations

from pathlib import Path

from foundation.surfaces.triangle_mesh import TriangleMesh


def same_mesh(one: TriangleMesh, other: TriangleMesh) -> bool:
    """Return whether two loaded meshes are one file, or files of the same content.

    Parameters
    ----------
    one, other : TriangleMesh
        As `foundation.surfaces.mesh.load_mesh` returns them, named after their files.
    """
    first, second = Path(one.name), Path(other.name)
    if first.resolve() == second.resolve():
        return True
    if len(one.faces) != len(other.faces):
        return False
    return first.read_bytes() == second.read_bytes()


def told_same(one: TriangleMesh, other: TriangleMesh) -> str:
    """Return what is wrong with a femur and a tibia that are the same mesh."""
    return (
        f"femur and tibia are the same mesh: {one.name} and {other.name} have the same content; "
        "name the mesh of the other body in knee.femur.file or knee.tibia.file"
    )
