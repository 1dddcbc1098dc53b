"""Searches on the femoral surface against brute force over all patches."""

from functools import cache

import numpy as np
import pytest
from core_probe import facet_nearby, meet, normal
from scipy.spatial import KDTree
from smooth_shapes import sphere, torus

from foundation.core.library import CORE, address
from foundation.surfaces.femur_patches import femur_patches
from foundation.surfaces.smooth_surface import flat_surface, smooth_surface

REACH = 6e-3
MESHES = {"sphere": sphere(2), "torus": torus(3e-3)}
BOTH = pytest.mark.parametrize("curved", [False, True], ids=["flat", "curved"])
EACH = pytest.mark.parametrize("name", MESHES)


@cache
def femur_named(name, curved=True):
    return femur_of(MESHES[name], curved)


def femur_of(mesh, curved=True):
    surface = smooth_surface(mesh) if curved else flat_surface(mesh)
    return femur_patches(mesh, surface, curved=curved, reach=REACH)


def points_of(patch, u, v):
    terms = np.stack([np.ones_like(u), u, v, u * u, u * v, v * v])
    return np.einsum("tp,fti->fpi", terms, patch)


def samples(patch, parts=8):
    u, v = np.array(
        [(i / parts, j / parts) for i in range(parts + 1) for j in range(parts + 1 - i)]
    ).T
    return points_of(patch, u, v)


def lines(femur, count, seed=0):
    """Lines from near the surface, 2 mm under or over it, in directions about its normal."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        facet = int(rng.integers(len(femur.patch)))
        u, v = rng.dirichlet(np.ones(3))[:2]
        at = points_of(femur.patch[facet : facet + 1], np.array([u]), np.array([v]))[0, 0]
        across = normal(femur, facet, u, v)
        along = across / np.linalg.norm(across) + 0.4 * rng.normal(size=3)
        along /= np.linalg.norm(along)
        yield facet, at - rng.uniform(-2e-3, 2e-3) * along, along


def search(femur, start, along, reach=20e-3):
    s, facet, place = np.empty(1), np.empty(1, np.intc), np.empty(2)
    CORE.line_exits(femur.address, reach, 1, *map(address, (start, along, s, facet, place)))
    return facet[0], *place, s[0]


def brute_force(femur, start, along, reach=20e-3):
    """Nearest way out of the surface over all patches, or infinity."""
    best = np.inf
    for facet in range(len(femur.patch)):
        u, v, s, out = meet(femur, facet, start, along)[:4]
        if 0.0 < s < reach and min(u, v, 1 - u - v) >= -1e-9 and out > 0.0:
            best = min(best, s)
    return best


@BOTH
@EACH
def test_a_hit_lies_on_the_line_and_on_the_patch(name, curved):
    femur = femur_named(name, curved)
    met = 0
    for facet, start, along in lines(femur, 200):
        u, v, s, out, *found = meet(femur, facet, start, along)
        if min(u, v, 1 - u - v) < 0.0:
            continue  # a tilted line that meets a neighbour, which ends the search on this patch
        met += 1
        at = points_of(femur.patch[facet : facet + 1], np.array([u]), np.array([v]))[0, 0]
        np.testing.assert_allclose(start + s * along, at, rtol=0, atol=1e-11)
        # Of Newton's last step but one, hence less exact.
        size = np.linalg.norm(found)
        assert out == pytest.approx(np.dot(found, along), rel=1e-3, abs=1e-3 * size)
    assert met > 100


@BOTH
@EACH
def test_tree_finds_what_brute_force_finds(name, curved):
    femur = femur_named(name, curved)
    found = []
    for _, start, along in lines(femur, 150, seed=1):
        facet, u, v, s = search(femur, start, along)
        exact = brute_force(femur, start, along)
        assert (facet >= 0) == np.isfinite(exact)
        if facet >= 0:
            assert s == pytest.approx(exact, rel=1e-12)
            assert min(u, v, 1 - u - v) >= -1e-9
        found.append(facet >= 0)
    assert 0 < sum(found) < len(found) or name == "sphere"


def distance_bound(femur, at):
    """That of the cell, or outside the grid of the cell at its edge and of the way there."""
    position = (at - femur.grid_low) / femur.grid_cell
    cells = np.array(femur.grid_distance.shape)
    cell = np.clip(np.floor(position), 0, cells - 1).astype(int)
    beyond = np.maximum(np.maximum(-position, position - cells), 0.0)
    return max(femur.grid_distance[tuple(cell)], femur.grid_cell * np.linalg.norm(beyond))


@EACH
def test_grid_bounds_the_distance_from_below(name):
    """Inside the grid and far beyond it; and the facet it names is not far off."""
    femur = femur_named(name)
    surface = samples(femur.patch)
    tree = KDTree(surface.reshape(-1, 3))
    rng = np.random.default_rng(4)
    low, high = surface.min(axis=(0, 1)), surface.max(axis=(0, 1))
    size = (high - low).max()
    tight = 0
    for margin in (0.0, 0.15, 3.0):
        for at in rng.uniform(low - margin * size, high + margin * size, (300, 3)):
            facet, bound = facet_nearby(femur, at), distance_bound(femur, at)
            exact = tree.query(at)[0]
            # The samples are a little farther than the surface.
            assert bound <= exact
            tight += bound > 0.5 * exact
            if margin == 0.0:
                away = np.linalg.norm(surface[facet] - at, axis=1).min()
                assert away <= exact + 2 * femur.grid_cell + 6e-3
    assert tight > 300


@EACH
def test_planes_bound_the_surface_within_their_reach(name):
    femur = femur_named(name)
    surface = samples(femur.patch).reshape(-1, 3)
    for plane in femur.planes:
        point, normal, rise = plane[:3], plane[3:6], plane[6]
        near = np.linalg.norm(surface - point, axis=1) < REACH
        height = ((surface[near] - point) @ normal).max()
        assert height <= rise + 1e-15
        assert rise < height + 2e-3
