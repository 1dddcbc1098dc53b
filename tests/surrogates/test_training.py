"""Training from a script: what is fitted, and in which box."""

import beds
import manufactured
import numpy as np
import pytest

import pipeline
import surrogates
from foundation.base.errors import InputError
from foundation.base.loads import ContactLoads
from foundation.elastic_foundation.laws import LinearLaw
from foundation.implant.condylar_implant import CondylarImplant
from surrogates.formulations.training_data import samples_of
from surrogates.training import space_of


def test_a_fit_to_the_truth_predicts_the_truth():
    """The formulation is exact for a polynomial of the degree that is fitted."""
    true = manufactured.truth()
    data = {"medial": true.samples(manufactured.design())}
    options = {"family": "polynomial", "settings": manufactured.FAMILIES["polynomial"]}
    knee = surrogates.fit(data, space=true.space, **options)
    again = surrogates.fit(data, space=true.space, **options)
    held_out = {"medial": true.samples(manufactured.draw(60, seed=5))}
    errors = knee.errors(held_out)
    assert errors.index.get_level_values("compartment").unique().tolist() == ["medial"]
    assert errors.nrmse.max() < 1e-5
    assert knee.header["family"] == "polynomial"
    poses = held_out["medial"].poses
    assert np.array_equal(knee.loads(poses).values, again.loads(poses).values)
    with pytest.raises(InputError, match=r"name: .*'lateral'"):
        knee.errors({"lateral": held_out["medial"]})


def test_samples_leave_out_what_is_out_of_contact_and_the_box_holds_the_rest():
    rng = np.random.default_rng(1)
    poses, values = rng.uniform(0.1, 0.2, (9, 6)), rng.uniform(1.0, 2.0, (9, 2, 12))
    values[:4, 1, 1] = 0.0
    data = samples_of(poses, ContactLoads(values, ("medial", "lateral")))
    assert np.array_equal(data["medial"].poses, poses)
    assert np.array_equal(data["lateral"].loads, values[4:, 1])
    x, _ = space_of(data).scaled(poses, values[:, 0, 1])
    assert np.abs(x[:, :5]).max() == pytest.approx(1.0)
    assert x[:, 5].max() <= 1.0


def test_poses_and_loads_are_samples_and_other_outputs_are_refused():
    true = manufactured.truth()
    samples = true.samples(manufactured.design())
    loads = ContactLoads(samples.loads[:, None], ("medial",))
    options = {"family": "polynomial", "settings": manufactured.FAMILIES["polynomial"]}
    knee = surrogates.fit(samples.poses, loads, space=true.space, **options)
    same = surrogates.fit({"medial": samples}, space=true.space, **options)
    assert np.array_equal(knee.loads(samples.poses).values, same.loads(samples.poses).values)
    assert knee.errors(samples.poses, loads).equals(same.errors({"medial": samples}))
    with pytest.raises(InputError, match=r"loads: expected ContactLoads .*found ndarray.*fit_fam"):
        surrogates.fit(samples.poses, samples.loads)
    with pytest.raises(InputError, match=r"loads: expected ContactLoads .*found NoneType"):
        surrogates.fit(samples.poses)


def test_samples_of_a_contact_model_carry_the_drawn_loads():
    implant = CondylarImplant()
    model = beds.implant_model(LinearLaw(463e6, 0.46, 8e-3), edge=3e-3)
    home = implant.home_pose(flexion=0.0)
    path = surrogates.ReferencePath.constant(0.0, home.array[1:])
    space = surrogates.SampleSpace(path, [0.0, 0.4], [0.01, 0.05, 1e-3, 1e-3], [100.0, 1000.0])
    data = pipeline.sample(model, space, 6, seed=2)
    assert list(data) == ["medial", "lateral"]
    for name, samples in data.items():
        assert len(samples.poses) == 6
        loads = model.loads(samples.poses)[name].array
        np.testing.assert_allclose(samples.loads, loads, rtol=1e-9, atol=1e-9)
        x, _ = space.scaled(samples.poses, samples.loads[:, 1])
        assert np.abs(x).max() < 1.0 + 1e-9
        assert samples.loads[:, 1].min() > 99.0


def test_another_material_is_the_bed_of_that_material():
    model = beds.implant_model(LinearLaw(463e6, 0.46, 8e-3), edge=3e-3)
    pose = CondylarImplant().home_pose(flexion=0.1)
    pose = type(pose)(**(vars(pose) | {"superior": pose.superior - 2e-4}))
    stiff = model.with_material(poissons_ratio=0.4)
    expected = model.loads(pose).force * (
        LinearLaw(463e6, 0.4, 8e-3).confined_modulus / model.law.confined_modulus
    )
    np.testing.assert_allclose(stiff.loads(pose).force, expected, rtol=1e-12, atol=1e-9)
    with pytest.raises(InputError, match="youngs_modulus"):
        model.with_material(youngs_modulus=-1.0)
