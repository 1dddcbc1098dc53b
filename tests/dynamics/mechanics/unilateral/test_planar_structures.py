"""Segments, nodes and members: balance by virtual work, joint reactions, bad input."""

from __future__ import annotations

import numpy as np
from differences import differences
from numpy.testing import assert_allclose

from dynamics.mechanics.unilateral import Member, PinnedSegment, PlanarStructure

BASE, ELBOW, FREE = np.array([0.2, 0.1]), np.array([0.5, -0.4]), np.array([0.3, -0.2])


def arm() -> PlanarStructure:
    """Two segments, a node, and members between all of them."""
    segments = [PinnedSegment("upper", BASE), PinnedSegment("lower", ELBOW, "upper")]
    members = [
        Member("ground", [0.0, 0.3], "upper", [0.4, -0.1], 100.0),
        Member("upper", [0.3, 0.0], "lower", [0.7, -0.6], 200.0),
        Member("ground", [0.1, 0.2], "lower", [0.6, -0.5], 300.0),
        Member("lower", [0.8, -0.4], "node", FREE, 400.0),
        Member("node", FREE, "ground", [0.0, -0.5], 500.0),
    ]
    return PlanarStructure(segments, members, ["node"])


def moved(body: str, point, freedoms):
    """Where a point of a body is after finite rotations and shifts."""

    def turn(angle, at, about):
        c, s = np.cos(angle), np.sin(angle)
        return about + np.array([[c, -s], [s, c]]) @ (at - about)

    if body == "ground":
        return np.asarray(point)
    if body == "node":
        return np.asarray(point) + freedoms[2:]
    if body == "upper":
        return turn(freedoms[0], point, BASE)
    return turn(freedoms[1], point, ELBOW) + turn(freedoms[0], ELBOW, BASE) - ELBOW


def naive_lengths(structure, freedoms):
    ends = ((m.end_body, m.end, m.start_body, m.start) for m in structure.members)
    spans = [moved(*end[:2], freedoms) - moved(*end[2:], freedoms) for end in ends]
    return np.linalg.norm(spans, axis=1)


def test_balance_is_minus_the_derivative_of_the_lengths():
    structure = arm()
    slopes = differences(lambda freedoms: naive_lengths(structure, freedoms), np.zeros(4))
    assert_allclose(structure.balance, -slopes.T, rtol=0.0, atol=1e-9)
    assert_allclose(structure.stiffness, [100.0, 200.0, 300.0, 400.0, 500.0], rtol=0.0)


def test_reactions_balance_every_segment():
    structure = arm()
    tension = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    upper, lower = structure.joint_reactions(tension)
    first, second, third, fourth, _ = (
        f * member.pull for f, member in zip(tension, structure.members, strict=True)
    )
    # At the end of a member the pull is the opposite of that at its start.
    assert_allclose(lower - second - third + fourth, 0.0, rtol=0.0, atol=1e-14)
    assert_allclose(upper - lower - first + second, 0.0, rtol=0.0, atol=1e-14)
