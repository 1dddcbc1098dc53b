"""Arguments that unilateral systems reject, with messages that name the argument."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dynamics.mechanics.unilateral import (
    ComplementarityError,
    Member,
    PinnedSegment,
    PlanarStructure,
    UnilateralLink,
    simulate_links,
    solve_complementarity,
    solve_structure,
)

NAN = np.nan
ONE, TWO = PinnedSegment("one", [0.0, 0.0]), PinnedSegment("two", [0.0, 1.0], "three")
GYROSCOPIC = [[0.0, 3.0], [-3.0, 0.0]]
ROD = Member("ground", [0.0, 0.0], "one", [1.0, 0.0], 1.0)

problem = partial(solve_complementarity, matrix=np.eye(2), constant=[1.0, 2.0])
links = partial(
    simulate_links, mass=[[1.0]], links=[], position=[0.0], velocity=[0.0], step=0.1, n_steps=2
)
two_masses = partial(links, mass=np.eye(2), position=[0.0, 0.0], velocity=[1.0, 0.0])
link = partial(UnilateralLink, direction=[1.0], stiffness=1.0)
structure = partial(solve_structure, balance=[[1.0, -1.0]], stiffness=[1.0, 2.0], load=[1.0])
planar = partial(PlanarStructure, segments=[ONE], members=[])
member = partial(Member, "ground", [0.0, 0.0], "one", end=[1.0, 0.0], stiffness=1.0)


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (problem, {"matrix": np.eye(3)}, r"matrix: expected shape \(2, 2\), found \(3, 3\)"),
        (problem, {"rule": "first"}, r"rule: expected one of .* found 'first'"),
        (links, {"mass": [[-1.0]]}, r"mass, damping, stiffness: expected positive definite"),
        (links, {"step": 0.0}, r"step: expected > 0 s"),
        (links, {"n_steps": 0}, r"n_steps: expected >= 1"),
        (links, {"load": [1.0, 2.0]}, r"load at 0.1 s: expected shape \(1\)"),
        (links, {"links": [link(direction=[1, 0])]}, r"link: direction: expected shape \(1\)"),
        (link, {"stiffness": 0.0}, r"link: stiffness: expected > 0 N/m"),
        (link, {"friction": 0.1}, r"link: tangent: expected a direction with friction"),
        (link, {"friction": 0.1, "tangent": [1, 2]}, r"link: tangent: expected shape \(1\)"),
        (structure, {"stiffness": [1.0, 0.0]}, r"stiffness: the least: expected > 0 N/m, found 0"),
        (
            links,
            {"mass": np.empty((0, 0)), "position": [], "velocity": []},
            r"position: expected at least one coordinate",
        ),
        (two_masses, {"mass": [[2.0, 1.0], [0.0, 2.0]]}, r"mass: expected a symmetric matrix"),
        (two_masses, {"damping": GYROSCOPIC}, r"damping: expected a symmetric .* image by 6"),
        (
            structure,
            {"balance": np.empty((1, 0)), "stiffness": []},
            r"stiffness: expected at least one member",
        ),
        (planar, {"segments": [TWO]}, r"segment two: parent: expected one of .* found 'three'"),
        (planar, {"segments": [ONE, ONE]}, r"bodies: expected unique names"),
        (planar, {"segments": [], "members": [ROD]}, r"member: body: .* found 'one'"),
        (member, {"stiffness": 0.0}, r"member ground to one: stiffness: expected > 0 N/m"),
        (member, {"end": [0.0, 0.0]}, r"member ground to one: length: expected > 0 m"),
        (
            partial(planar().generalised_force, point=[0, 0], force=[0, 0]),
            {"body": "two"},
            r"body: expected one of .* found 'two'",
        ),
    ],
)
def test_bad_arguments_are_named(call, change, message):
    with pytest.raises(ValueError, match=message):
        call(**change)


def test_a_matrix_with_a_negative_minor_has_no_solution():
    with pytest.raises(ComplementarityError, match="no solution"):
        solve_complementarity([[-1.0]], [-1.0])


def test_a_structure_without_bodies_has_an_empty_balance_matrix():
    assert PlanarStructure([], []).balance.shape == (0, 0)
