"""Arguments of a finite-element model that cannot be used, refused before anything is meshed."""

from functools import partial

import layers
import numpy as np
import pytest
import shapes
from solids import joined

from foundation import (
    ElasticLayer,
    FiniteElementContact,
    PlaneBase,
    ThicknessBase,
    TriangleMesh,
)
from foundation.base.errors import InputError
from foundation.finite_element import model as model_module

LAYER = ElasticLayer(10e6, 0.45, ThicknessBase(6e-3))


@pytest.fixture
def unmeshed(monkeypatch):
    def never(*_, **__):
        raise AssertionError("meshed before the refusal")

    monkeypatch.setattr(model_module, "meshed_layer", never)


def contact(tibia, labels, layer=LAYER, *, inverted=False, **options):
    ball = shapes.ellipsoid((0.04, 0.04, 0.04), 2)
    if inverted:
        ball = TriangleMesh(ball.vertices, ball.faces[:, ::-1], "ball")
    return FiniteElementContact(ball, tibia, layer, compartments=labels, spacing=2e-3, **options)


def test_surfaces_in_millimetres_are_refused(unmeshed):
    tibia, labels = layers.two_plates()
    large = TriangleMesh(1e3 * tibia.vertices, tibia.faces, "plates")
    words = r"spacing: a medial compartment of 4e\+06 cm² has 100,000,000 nodes, .* check the unit"
    with pytest.raises(InputError, match=words):
        contact(large, labels)


def test_a_triangle_far_away_is_refused():
    """It has next to no area, but the grid is laid over the rectangle around the surface."""
    tibia, labels = layers.two_plates()
    far = tibia.vertices[tibia.faces[:1]].reshape(3, 3) + np.array([30.0, 0.0, 30.0])
    lone = TriangleMesh(far, np.array([[0, 1, 2]]))
    with pytest.raises(
        InputError, match=r"surface is 3e\+04 mm by 3e\+04 mm, expected .* increase spacing, or rem"
    ):
        contact(joined(tibia, lone), np.append(labels, labels[0]))


def test_a_femoral_layer_of_a_femur_inside_out_is_refused():
    with pytest.raises(InputError, match=r"ball: no triangle opposite .* flip its normals"):
        contact(*layers.two_plates(), inverted=True, femur_layer=LAYER)


REFUSED = [
    *(
        (partial(layers.plate_contact, **options), next(iter(options)))
        for options in (
            {"spacing": 0.05e-3},
            {"spacing": np.nan},
            {"growth": 0.9},
            {"growth": np.nan},
            {"search_depth": 0.0},
            {"candidates": [True]},
        )
    ),
    (partial(layers.plate_contact, PlaneBase(7e-3)), "base overlaps the surface"),
    (
        partial(layers.plate_contact, PlaneBase(-6.0)),
        r"reaches up to y = 6\.00 mm; .* give metres, not milli",
    ),
    *(
        (partial(ElasticLayer, 1e6, ratio, PlaneBase()), "poissons_ratio")
        for ratio in (0.5, 0.49995, np.nan, -1.0)
    ),
    (partial(ElasticLayer, 1e6, 0.4, 5e-3), "base: expected PlaneBase, SolidBase or Thick"),
    *(
        (partial(ElasticLayer, 1e6, 0.4, PlaneBase(), axes), "axes: expected rows of a rotation")
        for axes in (1.1 * np.eye(3), -np.eye(3))
    ),
    (partial(PlaneBase, 0.0, (0.0, 1.1, 0.0)), "normal: expected a unit vector"),
    (
        partial(layers.plate_contact, PlaneBase(7e-3, (0.0, 0.8, 0.6))),
        "the base is the plane height = 7 mm",
    ),
    *(
        (partial(ThicknessBase, thickness), r"^thickness: expected ")
        for thickness in ("6 mm", [], [[1e-3]], 0.0, np.nan, [6e-3, np.nan], 6.0, [6e-3, 0.05e-3])
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_normals_that_point_down_are_refused(unmeshed):
    tibia, labels = layers.two_plates()
    down = TriangleMesh(tibia.vertices, tibia.faces[:, ::-1], "plates")
    with pytest.raises(InputError, match=r"plates: the mean normal of the medial .* -1\.00 \(exp"):
        contact(down, labels)


@pytest.mark.parametrize("options", [{"layer": None}, {"femur_layer": 3e-3}])
def test_a_layer_is_an_elastic_layer(unmeshed, options):
    tibia, labels = layers.two_plates()
    (name,) = options
    with pytest.raises(InputError, match=f"^{name}: expected an ElasticLayer, found"):
        contact(tibia, labels, **options)
