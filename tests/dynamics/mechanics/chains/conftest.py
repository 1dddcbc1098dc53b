"""Chains that several modules of tests take."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics.mechanics.chains import Assembly, Chain, ChainSegment, Joint, ViscoelasticLink


@pytest.fixture
def random_chains():
    """Return the function that makes two linked chains of a number of segments."""
    return two_chains


def two_chains(total: int, damping: float = 1.0) -> tuple[Assembly, np.ndarray, np.ndarray]:
    """Return two chains that hang side by side, linked segment by segment, and a state.

    Links are by turns lines and bushings. The numbers are drawn from a generator seeded by the
    number of segments; the second chain has as many as the first, or one less.
    """
    rng = np.random.default_rng(total)
    counts = ((total + 1) // 2, total // 2)
    chains = []
    for name, count, base in zip("ab", counts, ([0.0, 0.0], [0.06, 0.02]), strict=True):
        segments = tuple(
            ChainSegment(
                f"s{i}",
                length=rng.uniform(0.25, 0.35),
                mass=rng.uniform(0.5, 3.0),
                inertia=rng.uniform(0.005, 0.02),
                centre=[rng.uniform(0.1, 0.2), rng.uniform(-0.02, 0.02)],
            )
            for i in range(count)
        )
        joints = tuple(
            Joint(rng.uniform(2.0, 10.0), damping * rng.uniform(0.1, 0.5), rng.uniform(-0.2, 0.2))
            for _ in range(count)
        )
        chains.append(Chain(name, segments, base, joints))
    links = []
    for i in range(counts[1]):
        line = i % 2 == 0
        links.append(
            ViscoelasticLink(
                f"l{i}",
                ("a", f"s{i}"),
                [rng.uniform(0.05, 0.2), 0.02],
                ("b", f"s{i}"),
                [rng.uniform(0.05, 0.2), -0.01],
                stiffness=rng.uniform(200.0, 1500.0),
                damping=damping * rng.uniform(2.0, 10.0),
                rest_length=rng.uniform(0.02, 0.06) if line else 0.0,
                kind="line" if line else "bushing",
            )
        )
    assembly = Assembly(tuple(chains), tuple(links))
    return assembly, rng.normal(-1.4, 0.1, total), rng.normal(0.0, 0.5, total)
