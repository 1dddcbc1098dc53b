"""Closed solids, shells and bones with a known bearing surface."""

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from foundation.surfaces.mesh_topology import half_edges
from foundation.surfaces.smooth_surface import angle_weighted_normals
from foundation.surfaces.triangle_mesh import (
    TriangleMesh,
    area_vectors,
    degenerate_triangles,
)


def closed_insert(rows=40, columns=64):
    """Return a closed insert with two dishes (y up, z right), and the number of its top triangles.

    The top triangles come first.
    """
    x, z = np.meshgrid(
        np.linspace(-24e-3, 24e-3, rows), np.linspace(-38e-3, 38e-3, columns), indexing="ij"
    )
    height = 9e-3 + x**2 / 0.09 + (np.abs(z) - 20e-3) ** 2 / 0.08
    top = np.stack([x, height, z], axis=-1).reshape(-1, 3)
    base = top * [1.0, 0.0, 1.0]
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    a, b, c, d = corner, corner + 1, corner + columns, corner + columns + 1
    upper = np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])
    lower = upper[:, ::-1] + len(top)
    grid = np.arange(len(top)).reshape(rows, columns)
    rim = np.concatenate([grid[0], grid[1:, -1], grid[-1, -2::-1], grid[-2:0:-1, 0]])
    ahead = np.roll(rim, -1)
    wall = np.concatenate(
        [
            np.stack([rim, rim + len(top), ahead], 1),
            np.stack([ahead, rim + len(top), ahead + len(top)], 1),
        ]
    )
    faces = np.concatenate([upper, lower, wall])
    return TriangleMesh(np.concatenate([top, base]), faces, "insert"), len(upper)


def joined(*meshes):
    first = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    faces = [mesh.faces + start for mesh, start in zip(meshes, first, strict=False)]
    return TriangleMesh(vertices, np.concatenate(faces), meshes[0].name)


def shell(sheet, thickness):
    """Return a closed layer below an open surface: outer wall, inner wall, rim."""
    count = len(sheet.vertices)
    normals = angle_weighted_normals(sheet.vertices, sheet.faces)
    start, end = _rim(sheet)
    rim = [[end, start, start + count], [end, start + count, end + count]]
    faces = [sheet.faces, sheet.faces[:, ::-1] + count, *(np.stack(side, 1) for side in rim)]
    vertices = np.concatenate([sheet.vertices, sheet.vertices - thickness * normals])
    return TriangleMesh(vertices, np.concatenate(faces), sheet.name)


def bone(sheet, along, length, *, rings=30, cut=True):
    """Return a bone below an open surface: walls that narrow to a shaft along y, and its cut.

    `along` is the direction of the shaft on y, 1 or -1; with `cut`, a plane closes the shaft.
    """
    start, end = _rim(sheet)
    rim, place = np.unique(start, return_inverse=True)
    after = np.searchsorted(rim, end)
    loop = sheet.vertices[rim]
    middle = 0.5 * (loop.min(axis=0) + loop.max(axis=0))
    edge = along * max(along * loop[:, 1]) + along * 1e-3
    points, faces = [sheet.vertices], [sheet.faces]
    lower = rim
    for k in range(1, rings + 1):
        part = k / rings
        narrow = 1.0 - 0.55 * min(1.0, part * length / 50e-3)
        ring = middle + narrow * (loop - middle)
        ring[:, 1] = (1.0 - part) * loop[:, 1] + part * (edge + along * length)
        first = sum(map(len, points))
        points.append(ring)
        upper, lower = lower, first + np.arange(len(rim))
        faces.append(np.stack([upper[after], upper[place], lower[place]], 1))
        faces.append(np.stack([upper[after], lower[place], lower[after]], 1))
    if cut:
        centre = sum(map(len, points))
        points.append(ring.mean(axis=0)[None])
        faces.append(np.stack([lower[after], lower[place], np.full(len(place), centre)], 1))
    return TriangleMesh(np.concatenate(points), np.concatenate(faces), sheet.name)


def stray_pieces(mesh, count=12):
    """Return a mesh with loose triangles of about 1 mm beside it."""
    generator = np.random.default_rng(0)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    middles = low + (high - low) * generator.uniform(-0.1, 1.1, (count, 1, 3))
    corners = middles + 1e-3 * generator.standard_normal((count, 3, 3))
    loose = TriangleMesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3))
    return joined(mesh, loose)


def turned(mesh, seed):
    turn = Rotation.random(random_state=seed).as_matrix()
    return TriangleMesh(mesh.vertices @ turn.T + [0.1, -0.2, 0.05], mesh.faces, mesh.name)


def taken(part, mesh):
    """Return which triangles (F,) of a mesh a part of it has."""
    distance = KDTree(part.centroids).query(mesh.centroids)[0]
    return distance < 1e-9


def _rim(sheet):
    """Return start and end (E,) of the edges of one triangle, in its sense."""
    start, end, key = half_edges(sheet.faces, len(sheet.vertices))
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    single = count[inverse] == 1
    return start[single], end[single]


def whole_femur(length, step=1.5e-3, lean=0.0):
    """Return a distal femur (y up, x anterior, axis z at the origin) with a shaft up to y = length.

    The shaft leans towards z by the tangent `lean`.

    The level surface of blended ellipsoids and a shaft, as from a segmentation: needs VTK.
    """
    from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkImageData
    from vtkmodules.vtkFiltersCore import vtkFlyingEdges3D

    low, high = np.array([-26e-3, -30e-3, -44e-3]), np.array([46e-3, length, 44e-3])
    counts = np.ceil((high - low) / step).astype(int) + 1
    axes = [start + step * np.arange(n) for start, n in zip(low, counts, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    ellipsoids = [([0.022, 0.012, 0.0], [0.016, 0.020, 0.020])]
    for side in (-1.0, 1.0):
        ellipsoids += [
            ([0.0, 0.0, 0.023 * side], [0.021, 0.021, 0.014]),
            ([0.011, 0.0, 0.021 * side], [0.026, 0.024, 0.014]),
            ([0.020, 0.012, 0.016 * side], [0.021, 0.024, 0.013]),
        ]
    parts = [
        min(radii) * (np.linalg.norm((points - middle) / radii, axis=-1) - 1.0)
        for middle, radii in ellipsoids
    ]
    height = points[..., 1]
    flare = 12e-3 * np.exp(-np.maximum(height - 20e-3, 0.0) / 20e-3)
    shaft = np.hypot(points[..., 0] - 8e-3, points[..., 2] - lean * height) - (13e-3 + flare)
    parts.append(np.maximum(shaft, 12e-3 - height))
    blend = -2e-3 * np.log(sum(np.exp(-part / 2e-3) for part in parts))
    level = np.maximum(blend, height - (length - 2.5 * step))
    image = vtkImageData()
    image.SetDimensions(*counts)
    image.SetSpacing(step, step, step)
    image.SetOrigin(*low)
    image.GetPointData().SetScalars(numpy_to_vtk(level.transpose(2, 1, 0).ravel(), deep=True))
    contour = vtkFlyingEdges3D()
    contour.SetInputData(image)
    contour.SetValue(0, 0.0)
    contour.Update()
    vertices = vtk_to_numpy(contour.GetOutput().GetPoints().GetData()).astype(np.float64)
    cells = contour.GetOutput().GetPolys().GetConnectivityArray()
    faces = vtk_to_numpy(cells).reshape(-1, 3)
    faces = faces[~degenerate_triangles(vertices, faces)]
    volume = float((vertices[faces].mean(axis=1) * area_vectors(vertices, faces)).sum())
    return TriangleMesh(vertices, faces if volume > 0.0 else faces[:, ::-1], "femur")


def rounded_disc(radius, half, slope=0.0):
    """Return a disc with a round edge (y up), and the vertices (V,) of its flat top.

    Flat walls of a radius are `half` above and below the middle; the edge is half a circle. The
    disc falls towards -x by an angle [rad].
    """
    turn = np.linspace(0.0, np.pi, 25)
    inner = np.linspace(0.1, 1.0, 12)[:-1] * radius
    profile = np.concatenate(
        [
            np.stack([inner, np.full_like(inner, half)], 1),
            np.stack([radius + half * np.sin(turn), half * np.cos(turn)], 1),
            np.stack([inner[::-1], np.full_like(inner, -half)], 1),
        ]
    )
    around = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    across = np.multiply.outer(np.stack([np.cos(around), np.sin(around)], 1), profile[:, 0])
    height = np.broadcast_to(profile[:, 1], across[:, 0].shape)
    rings = np.stack([across[:, 0], height, across[:, 1]], axis=-1).reshape(-1, 3)
    vertices = np.concatenate([rings, [[0.0, half, 0.0], [0.0, -half, 0.0]]])
    count = len(profile)
    own = np.arange(60)[:, None] * count + np.arange(count - 1)
    after = (own + count) % (60 * count)
    first, next_first = own[:, 0], after[:, 0]
    last, next_last = own[:, -1] + 1, after[:, -1] + 1
    top, base = np.full(60, 60 * count), np.full(60, 60 * count + 1)
    faces = np.concatenate(
        [
            np.stack([own, after, own + 1], -1).reshape(-1, 3),
            np.stack([after, after + 1, own + 1], -1).reshape(-1, 3),
            np.stack([top, next_first, first], 1),
            np.stack([base, last, next_last], 1),
        ]
    )
    flat = (vertices[:, 1] > 0.999 * half) & (np.hypot(*vertices[:, [0, 2]].T) < 1.001 * radius)
    tilted = Rotation.from_euler("z", slope).apply(vertices)
    return TriangleMesh(tilted, faces, "disc"), flat
