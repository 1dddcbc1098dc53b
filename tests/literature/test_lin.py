"""Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594): surrogates of articular contact.

Lehtoranta (2011, sections 3.8 and 4, figures 5 and 11) retells their ten concepts and the stages a
to h. A docstring opens with the place there. Slow tests read a coarse study of the built-in
implant, a quarter of the samples of configs/implant.toml and fewer.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.loads import AXIAL_FORCE, QUANTITY_COLUMNS
from foundation.base.pose import ANGLES, POSITION, SUPERIOR, Pose
from foundation.elastic_foundation.laws import LinearLaw, SeriesLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.implant.condylar_implant import CondylarImplant
from pipeline.config.reading import load_config, shipped_config
from pipeline.originals.candidates import sample_space
from pipeline.progress import silenced
from pipeline.runner import run_study
from pipeline.simulation import GaitSimulation
from pipeline.stages.adaptive_sampling import DROPPED, training_samples
from pipeline.stages.fitting import fit_surrogates, infeasibility, with_gait_bounds
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.documents import read_document
from pipeline.store.figures import AT_POSE, Validation
from pipeline.store.run_documents import PRESSURES, Combinations, RunRecord, Simulation
from pipeline.store.samples import OK, loads_of, poses_of, read_table
from surrogates import load
from surrogates.families.registry import FAMILIES

#: Largest difference of values by surrogate and by elastic foundation, as printed.
PRINTED = 0.015
OVERRIDES = ("run.workers=1", "validation.points=60", "surrogate.compare=[]",
             "design.candidates=1600", "design.first=200", "design.budget=800",
             "design.gait_samples=150")  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a finished study: run, counts, documents, samples by name, and its gait cycle."""
    folder = tmp_path_factory.mktemp("lin") / "run"
    with silenced():
        run_study(load_config(shipped_config("smoke"), OVERRIDES), folder)
    run = TrainedRun.open(folder)
    gait = GaitSimulation.of(run.config.simulation, run.path)
    record = read_document(folder / "run.json", RunRecord)
    names = ("candidates", "first", "screened-1", "kept", "gait")
    return SimpleNamespace(
        run=run,
        counts=record.counts["total"],
        seconds=record.seconds,
        simulation=read_document(folder / "simulation.json", Simulation),
        validation=read_document(folder / "validation.json", Validation),
        combinations=read_document(folder / "combinations.json", Combinations).combinations,
        samples={n: read_table(folder / "samples" / f"{n}.parquet") for n in names},
        gait=gait,
        cycle=gait(run.reference_model),
    )


def learnt(study, *names):
    """Return the feasible samples of tables, which surrogates learn."""
    tables = [study.samples[name] for name in names]
    return training_samples(tables, study.run.config.feasibility)


def small_implant(law):
    """Return the built-in implant on a coarse mesh, and a pose of some hundred newtons."""
    implant = CondylarImplant()
    femur, insert, labels = implant.tessellate(3e-3)
    pose = implant.home_pose(flexion=0.1).array.copy()
    pose[SUPERIOR] -= 1e-4
    model = ElasticFoundation(femur, insert, law, compartments=labels)
    return model.loads(Pose.from_array(pose)), pose


def test_families_of_surrogates():
    """Families (section 3.8): response surfaces, Kriging and Poly-Fourier models."""
    assert {"polynomial", "kriging", "poly_fourier"} <= set(FAMILIES)


@pytest.mark.slow
def test_the_surrogate_replaces_the_original(study):
    """Section 3.8, concept 1: an inexpensive model replaces the expensive one, without meshes."""
    knee = load(study.run.folder / "knee.npz")
    for pose in study.cycle.poses[::10]:
        truth = study.run.reference_model.loads(Pose.from_array(pose)).wrench
        found = knee.loads(Pose.from_array(pose)).wrench
        assert found[1] == pytest.approx(truth[1], rel=PRINTED, abs=5.0)


def test_both_bodies_have_materials():
    """Section 3.8, concept 2: both bodies have materials and surfaces; one is the main one."""
    layers = LinearLaw(463e6, 0.46, 8e-3), LinearLaw(5e6, 0.45, 3e-3)
    one, other, single = (
        small_implant(law)[0].wrench
        for law in (SeriesLaw(*layers), SeriesLaw(*layers[::-1]), layers[0])
    )
    assert_allclose(other, one, rtol=1e-9, atol=1e-9)
    assert single[1] / one[1] == pytest.approx(43.0, abs=1.0)


def test_six_parameters_place_the_bodies():
    """Section 3.8, concept 3: three translations and three rotations."""
    pose = Pose.from_array(np.array([0.6, 0.02, -0.1, 0.004, 0.03, -0.002]))
    turns = Rotation.from_matrix(pose.rotation_matrix).as_euler("YXZ")
    again = [turns[2], -turns[1], -turns[0], *pose.translation]
    assert_allclose(again, pose.array, rtol=0.0, atol=1e-12)


def test_six_loads_belong_to_a_pose():
    """Section 3.8, concept 4: three forces and three moments, of each compartment and in all."""
    loads, _ = small_implant(LinearLaw(463e6, 0.46, 8e-3))
    parts = sum(loads[name].wrench for name in loads.compartments)
    assert loads.wrench.shape == (6,)
    assert_allclose(parts, loads.wrench, rtol=0.0, atol=1e-9)


@pytest.mark.slow
def test_loads_are_not_most_sensitive_in_their_own_direction(study):
    """Section 3.8, concept 5: each load by the displacement in its own direction; not all six."""
    poses = study.cycle.poses[::5]
    jacobians = [
        study.run.reference_model.loads(Pose.from_array(p), 1).total_jacobian for p in poses
    ]
    found = np.median(np.abs(jacobians), axis=0) * np.repeat([np.pi / 180.0, 1e-3], 3)
    strongest = [
        kind.start + int(found[row, kind].argmax())
        for row, kind in enumerate((POSITION,) * 3 + (ANGLES,) * 3)
    ]
    own = [k == wanted for k, wanted in zip(strongest, (3, 4, 5, 1, 2, 0), strict=True)]
    assert own[1:4] == [True, True, True]  # axial and ML force, adduction moment
    assert not own[0]  # the AP force follows the height
    assert not own[4]  # the axial moment follows adduction


@pytest.mark.slow
def test_samples_combine_poses_and_loads(study):
    """Section 3.8, concept 6: a sample is a position x with its force Fx."""
    first = study.samples["first"]
    assert_allclose(loads_of(first)[:, AXIAL_FORCE], first["load_N"], rtol=0.0, atol=1e-3)


@pytest.mark.slow
def test_bounds_decide_what_is_feasible(study):
    """Section 3.8, concept 7: bounds set beforehand, which may come from the original."""
    run, first = study.run, study.samples["first"]
    bounded = with_gait_bounds(run.config, run.reference_model, run.path)
    for config in (run.config, bounded):
        feasible = infeasibility(loads_of(first), config.feasibility, 0.0) == ""
        assert 0 < feasible.sum() < len(first)
    loads = run.reference_model.loads(study.cycle.poses).values.reshape(-1, 12)
    loads = loads[loads[:, AXIAL_FORCE] > 0.0]
    assert (infeasibility(loads, bounded.feasibility, 1e-6) == "").all()


@pytest.mark.slow
def test_static_analyses_are_repeatable(study):
    """Section 3.8, concept 8: repeated static analyses of the original give what is learnt."""
    kept = study.samples["kept"]
    kept = kept[kept["status"] == OK]
    again = study.run.reference_model.loads(poses_of(kept)).values
    names = list(study.run.reference_model.compartment_names)
    own = again[np.arange(len(kept)), kept["compartment"].map(names.index)]
    stored = loads_of(kept)[:, :6]
    assert_allclose(own[:, :6], stored, rtol=0.0, atol=1e-9 * np.abs(stored).max())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_six_surrogates_over_the_pose_pull(study):
    """Section 3.8, concept 9: six surrogates, each load over the pose; literally, they fail.

    No sample is out of contact: above the cycle they pull, and the cycle does not end. With the
    inverted direction of concepts 5 and 6 there is no pull.
    """
    config = study.run.config
    (fitted,) = fit_surrogates(
        learnt(study, "first", "kept", "gait"), sample_space(config, study.run.path),
        config.surrogate, [("direct", "kriging")], config.run.seed,
    )  # fmt: skip
    raised = study.cycle.poses[::4].copy()
    raised[:, SUPERIOR] += 0.3e-3
    literal, inverted = (
        knee.loads(raised).values[..., AXIAL_FORCE].min()
        for knee in (fitted.knee, study.run.surrogate)
    )
    assert literal < -100.0
    assert inverted == 0.0
    with pytest.raises((SimulationError, EquilibriumError)):
        study.gait(fitted.knee)


@pytest.mark.slow
def test_other_quantities(study):
    """Section 3.8, concept 10: also contact pressures, areas and the centre of pressure."""
    errors = study.validation.figures.of(AT_POSE, "nrmse", *QUANTITY_COLUMNS)
    worst = max(row.value or 0.0 for row in errors)
    assert worst < PRINTED


@pytest.mark.slow
def test_four_steps(study):
    """Four steps (section 3.8): design of experiments, simulation, choice of a model, use."""
    assert {name[0] for name in study.seconds if name[1:2] == ":"} == set("abcdefgh")


@pytest.mark.slow
def test_stage_a(study):
    """Figure 5 (a): n chosen, m evaluated, m - n left; the letters are exchanged."""
    n, m = study.counts.candidates, study.counts.first
    assert study.counts.predicted == n - m > 0


@pytest.mark.slow
def test_stage_b(study):
    """Figure 5 (b): static analyses of the original at the first sample points."""
    first = study.samples["first"]
    assert (first["status"] == OK).all()
    assert len(first) == study.counts.first


@pytest.mark.slow
def test_stage_c(study):
    """Figure 5 (c): surrogates from all these results; here without those outside the bounds."""
    used, first = len(learnt(study, "first")), len(study.samples["first"])
    assert 0.5 * first < used < first


@pytest.mark.slow
def test_stage_d(study):
    """Figure 5 (d): the surrogates predict all other sample points."""
    known = np.isfinite(loads_of(study.samples["screened-1"])[:, :6]).all(axis=1)
    assert known.sum() == study.counts.predicted


@pytest.mark.slow
def test_stage_e(study):
    """Figure 5 (e): predictions out of bounds are removed; here some within a margin stay."""
    screened = study.samples["screened-1"]
    outside = infeasibility(loads_of(screened), study.run.config.feasibility, 0.0) != ""
    dropped = (screened["screening"] == DROPPED).to_numpy()
    assert outside[dropped].all()
    assert (outside & ~dropped).any()


@pytest.mark.slow
def test_stage_f(study):
    """Figure 5 (f): the original evaluates all samples that pass; here up to a budget."""
    assert study.counts.evaluated > 0 < study.counts.left


@pytest.mark.slow
def test_stage_g(study):
    """Figure 5 (g): final surrogates from all sample points; here within bounds, and along gait."""
    counts = study.counts
    assert counts.training == counts.first + counts.evaluated - counts.infeasible
    assert counts.infeasible > 0 < counts.gait


@pytest.mark.slow
def test_stage_h(study):
    """Figure 5 (h): during the dynamic simulation the surrogate gives the values."""
    cycle = study.gait(study.run.surrogate)
    truth = study.run.reference_model.loads(cycle.poses).values[..., AXIAL_FORCE]
    found = study.run.surrogate.loads(cycle.poses).values[..., AXIAL_FORCE]
    assert np.abs(found - truth).max() < PRINTED * truth.max()


@pytest.mark.slow
def test_differences_are_within_those_printed(study):
    """Section 3.8, accuracy: at most 1.5 % from the elastic foundation; the values are unnamed."""
    assert all(each.failure is None for each in study.combinations)
    for each in study.combinations:
        truth, found = (sum(each.wear[name]) for name in ("original", "surrogate"))
        assert found == pytest.approx(truth, rel=PRINTED)
        for name in ("medial", "lateral"):
            axial = each.differences[f"{name}_force_y_N"]
            assert axial.rms < 0.002 * axial.peak
        for pressure in (each.differences[name] for name in PRESSURES):
            assert pressure.surrogate_peak == pytest.approx(pressure.peak, rel=2.0 * PRINTED)


@pytest.mark.slow
def test_gait_by_the_surrogate(study):
    """Figure 11: motions and loads are accurate; no number is printed (not judged)."""
    for column in ("anterior_m", "medial_force_y_N", "medial_peak_pressure_Pa"):
        found = study.simulation.differences[column]
        assert found.rms < PRINTED * found.range
