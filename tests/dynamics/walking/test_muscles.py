"""Muscles and legs as values, and their tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.walking.muscle_tables import MUSCLE_PATHS, MUSCLES, load_leg_muscles
from dynamics.walking.muscles import REFERENCE_HEIGHT, Muscle

POINTS = np.array([[0.0, 0.0, 0.01], [0.0, -0.1, 0.0], [0.01, -0.2, 0.0]])
good_muscle = partial(
    Muscle, name="one", area=1e-3, fibre_length=0.1, bodies=("femur", "femur", "tibia"),
    passages=("fixed", "posterior", "fixed"),
)  # fmt: skip


@pytest.fixture(scope="module")
def leg():
    return load_leg_muscles()


def test_shipped_muscles(leg) -> None:
    names = """iliopsoas gluteus_maximus rectus_femoris vastus_medialis vastus_intermedius
    vastus_lateralis biceps_femoris_long biceps_femoris_short semimembranosus semitendinosus
    gastrocnemius_medial gastrocnemius_lateral soleus tibialis_anterior"""
    assert leg.names == tuple(names.split())


def test_ward2009_architecture(leg) -> None:
    (soleus, biceps) = leg.select(("soleus", "biceps_femoris_long")).muscles
    assert_allclose([soleus.area, soleus.fibre_length], [51.8e-4, 0.044], rtol=1e-12)
    assert_allclose([biceps.area, biceps.fibre_length], [11.3e-4, 0.0976], rtol=1e-12)


def test_frames_start_at_the_joints(leg) -> None:
    """The ischium lies below and behind the hip, the calcaneus behind the ankle."""
    (semimembranosus,) = leg.select(("semimembranosus",)).muscles
    assert_allclose(semimembranosus.points[0], [-0.0485, -0.03137, -0.01199], rtol=0, atol=1e-12)
    assert_allclose(semimembranosus.points[-1], [-0.02311, -0.03485, -0.01957], rtol=0, atol=1e-12)
    (soleus,) = leg.select(("soleus",)).muscles
    assert_allclose(soleus.points[-1], [-0.04877, -0.01095, 0.00262], rtol=0, atol=1e-12)
    (rectus,) = leg.select(("rectus_femoris",)).muscles
    assert_allclose(rectus.points[-1], [0.0121, 0.0437, 0.0014], rtol=0, atol=1e-12)


def test_scaled_leg(leg) -> None:
    tall = load_leg_muscles(1.2 * REFERENCE_HEIGHT)
    for small, large in zip(leg.muscles, tall.muscles, strict=True):
        assert_allclose(large.area, 1.44 * small.area, rtol=1e-14)
        assert_allclose(large.fibre_length, 1.2 * small.fibre_length, rtol=1e-14)
        assert_allclose(large.points, 1.2 * small.points, rtol=1e-14)
    for name in ("knee", "ankle", "tuberosity", "pole_z", "mechanism_knee"):
        assert_allclose(getattr(tall, name), 1.2 * np.asarray(getattr(leg, name)), rtol=1e-14)


def test_points_are_copied_and_read_only() -> None:
    points = POINTS.copy()
    muscle = good_muscle(points=points)
    points[0, 0] = 1.0
    assert muscle.points[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        muscle.points[0, 0] = 1.0


@pytest.mark.parametrize(
    ("shipped", "old", "new", "message"),
    [
        (MUSCLES, "soleus,51.8", "soleus,-51.8", "line 18: muscle soleus: area: expected > 0"),
        (MUSCLES, "soleus,51.8", "soleus,much", "line 18, column cross_section_cm2: .*found much"),
        (MUSCLES, "soleus,51.8", "plantaris,51.8", "line 18, column muscle: .*'plantaris'"),
        (MUSCLES, "fibre_length_cm", "fibre_length_mm", "header: .*'fibre_length_mm'"),
        (MUSCLES, "soleus,51.8,4.40", "soleus,51.8", "line 18: expected 3 cells, .*found 2"),
        (MUSCLE_PATHS, "soleus,foot", "soleus,toe", "column body: .*'toe'"),
        (MUSCLE_PATHS, "-0.1192,", "nan,", "column x_m: expected a finite number, found nan"),
        (MUSCLE_PATHS, ",posterior", ",behind", "column passage: .*'behind'"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, shipped, old, new, message) -> None:
    text = shipped.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / shipped.name
    path.write_text(text.replace(old, new), encoding="utf-8")
    option = "muscles" if shipped == MUSCLES else "paths"
    with pytest.raises(ValueError, match=message) as caught:
        load_leg_muscles(**{option: path})
    assert shipped.name in str(caught.value)
