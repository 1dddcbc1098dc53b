"""Segments, joints and chains."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import Chain, ChainSegment, Joint, PrescribedMotion

THIGH = ChainSegment("thigh", 0.4, 7.0, 0.1, [0.17, 0.0])
SHANK = ChainSegment("shank", 0.42, 3.0, 0.05, [0.18, 0.01])
LEG = Chain("leg", (THIGH, SHANK), base=[0.1, 0.9])


def test_a_point_is_where_the_rotations_put_it():
    angles = np.array([-1.3, -1.7])
    point = np.array([0.3, -0.05])

    def turned(angle: float, vector) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, -s], [s, c]]) @ vector

    expected = turned(angles[0], [0.4, 0.0]) + turned(angles[1], point)
    found = LEG.reach("shank", point) @ np.exp(1j * angles)
    assert_allclose([found.real, found.imag], expected, rtol=1e-14)
    # The thigh does not follow the shank.
    assert LEG.reach("thigh", point)[1] == 0.0


def test_a_base_stands_or_follows_its_path():
    assert LEG.base_at(3.0) == (0.1 + 0.9j, 0j, 0j)
    time = np.linspace(0.0, 1.0, 6)
    moved = Chain(
        "leg", (THIGH,), base=PrescribedMotion(time, np.column_stack([time**2, 1.0 + time]))
    )
    assert_allclose(moved.base_at(0.5), [0.25 + 1.5j, 1.0 + 1.0j, 2.0 + 0.0j], rtol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": 0.0}, r"segment s: length: expected > 0 m, found 0.0"),
        ({"mass": -1.0}, r"segment s: mass: expected > 0 kg, found -1.0"),
        ({"mass": np.nan}, r"segment s: mass: expected > 0 kg, found nan"),
        ({"inertia": -0.1}, r"segment s: inertia: expected >= 0 kg m²"),
        ({"inertia": 0.0, "centre": [0.0, 0.0]}, r"segment s: inertia: expected > 0 kg m² about"),
        ({"centre": 0.2}, r"segment s: centre: expected shape \(2\)"),
        ({"centre": [0.1, np.inf]}, r"segment s: centre: expected finite"),
    ],
)
def test_bad_segments_are_named(change, message):
    values = {"name": "s", "length": 0.4, "mass": 1.0, "inertia": 0.01, "centre": [0.2, 0.0]}
    with pytest.raises(ValueError, match=message):
        ChainSegment(**(values | change))


@pytest.mark.parametrize(
    ("name", "value"), [("stiffness", -1.0), ("damping", -1.0), ("neutral", np.nan)]
)
def test_bad_joints_are_named(name, value):
    with pytest.raises(ValueError, match=rf"joint: {name}: expected"):
        Joint(**{name: value})


TIME = np.linspace(0.0, 1.0, 6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"segments": ()}, r"chain leg: segments: expected at least one .* found none"),
        ({"segments": (THIGH, THIGH)}, r"segments: .* unique names, found thigh, thigh"),
        ({"joints": (Joint(),)}, r"chain leg: joints: expected 2, found 1"),
        (
            {"angles": PrescribedMotion(TIME, np.zeros((6, 3)))},
            r"angles: expected 2 columns, found 3",
        ),
        ({"base": PrescribedMotion(TIME, np.zeros((6, 3)))}, r"base: expected 2 columns, found 3"),
        ({"base": [0.0, 0.0, 0.0]}, r"chain leg: base: expected shape \(2\)"),
        (
            {"angles": PrescribedMotion(TIME, np.zeros((6, 2))), "drive": lambda t, a, r: a},
            r"chain leg: drive: expected none with prescribed angles",
        ),
    ],
)
def test_bad_chains_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        Chain(**({"name": "leg", "segments": (THIGH, SHANK)} | change))


def test_points_of_missing_segments_are_refused():
    with pytest.raises(ValueError, match=r"chain leg: segment: .* found 'foot'"):
        LEG.reach("foot", [0.0, 0.0])
