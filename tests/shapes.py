"""Simple surfaces with known contact, as triangle meshes."""

from dataclasses import replace

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from foundation.base.pose import Pose
from foundation.surfaces.mesh import TriangleMesh


def plate(width, cells, centre=(0.0, 0.0, 0.0), up=True):
    """Square plate in the x-z plane, `cells` x `cells` squares of two triangles, facing up."""
    line = np.linspace(-width / 2, width / 2, cells + 1)
    x, z = np.meshgrid(line, line, indexing="ij")
    vertices = np.column_stack([x.ravel(), np.zeros(x.size), z.ravel()]) + np.asarray(centre)
    index = np.arange(x.size).reshape(x.shape)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    faces = np.concatenate([np.column_stack([a, c, b]), np.column_stack([a, d, c])])
    return TriangleMesh(vertices, faces if up else faces[:, ::-1], "plate")


def labels(mesh):
    """Halve a mesh at z = 0 into compartments."""
    return (mesh.centroids[:, 2] > 0).astype(np.int8)


def ellipsoid(semi_axes, level):
    """Lower half of an ellipsoid about the origin, from an icosphere."""
    ball = trimesh.creation.icosphere(subdivisions=level)
    vertices = np.asarray(ball.vertices) * semi_axes
    faces = np.asarray(ball.faces)
    lower = (np.asarray(ball.vertices)[faces][:, :, 1] < 0.05).any(axis=1)
    return TriangleMesh(vertices, faces[lower], "ellipsoid")


def swept(profile, half_length, cells_x, cells_z, half_width):
    """Surface y = profile(x, z) facing down, over |x| < half_width, |z| < half_length."""
    x, z = np.meshgrid(
        np.linspace(-half_width, half_width, cells_x + 1),
        np.linspace(-half_length, half_length, cells_z + 1),
        indexing="ij",
    )
    vertices = np.column_stack([x.ravel(), profile(x, z).ravel(), z.ravel()])
    index = np.arange(x.size).reshape(x.shape)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    return TriangleMesh(vertices, faces, "swept")


def turned_pose(rotation, superior, anterior=0.0, lateral=0.0):
    """Pose of a rotation matrix (3, 3): angles of R = Ry(-rotation) Rx(-adduction) Rz(flexion)."""
    rotated, adducted, flexed = Rotation.from_matrix(rotation).as_euler("YXZ")
    return Pose(flexed, -adducted, -rotated, anterior, superior, lateral)


def pressed_poses(implant, count, seed=0, deepest=0.25e-3):
    """Random poses of the built-in implant, up to `deepest` below the height of first touch [m]."""
    rng = np.random.default_rng(seed)
    poses = []
    for _ in range(count):
        home = implant.home_pose(rng.uniform(0.0, 1.0))
        adduction, rotation, anterior, lateral = rng.uniform(-1, 1, 4) * (0.015, 0.1, 3e-3, 5e-4)
        poses.append(
            replace(
                home,
                adduction=adduction,
                rotation=rotation,
                anterior=home.anterior + anterior,
                superior=home.superior - rng.uniform(0.0, deepest),
                lateral=lateral,
            )
        )
    return poses
