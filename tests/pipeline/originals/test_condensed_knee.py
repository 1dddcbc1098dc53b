"""Finite elements as the original model of samples: stored compliances, workers, flags, path."""

from multiprocessing.reduction import ForkingPickler

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE, TINY

from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import COMPARTMENTS
from foundation.finite_element.compliance_store import ComplianceStore
from foundation.finite_element.model import FiniteElementContact
from pipeline.config.reading import load_config
from pipeline.execution.backends import Execution
from pipeline.originals.contact_original import build_knee
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.knee import Knee
from pipeline.store.samples import FAILED, OK, candidate_table
from surrogates.sampling.space import ReferencePath

CONFIG = load_config(
    SMOKE,
    (*TINY, "contact.model='finite_element'", "contact.finite_element.node_spacing_mm=2.0"),
)
#: Size of what travels to a worker with each chunk [bytes].
SMALL = 20e6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("condensed") / "run"


@pytest.fixture(scope="module")
def knee(folder) -> Knee:
    """Return the knee of a run folder, prepared."""
    made = build_knee(CONFIG, folder)
    assert not folder.exists()
    made.prepare(lambda text: None)
    return made


@pytest.fixture(scope="module")
def path(knee) -> ReferencePath:
    return knee.reference_path(CONFIG)


@pytest.fixture(scope="module")
def drawn(path) -> pd.DataFrame:
    poses = path.poses(np.linspace(0.1, 0.8, 4))
    parts = [candidate_table(poses, np.linspace(50.0, 900.0, 4), name) for name in COMPARTMENTS]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def done(knee, drawn) -> pd.DataFrame:
    return evaluate_rows(knee.model, drawn, "load")


def forbid_condensing(monkeypatch):
    def condensed(self, body):
        raise AssertionError("the compliance is stored")

    monkeypatch.setattr(ComplianceStore, "_condensed", condensed)


def test_samples_carry_their_load(done):
    assert done["status"].tolist() == [OK] * len(done)
    np.testing.assert_allclose(done["force_y_N"], done["load_N"], rtol=1e-6, atol=0.0)


@pytest.mark.slow
def test_stored_compliances_give_the_same_loads(knee, folder, drawn, done, monkeypatch):
    fresh = build_knee(CONFIG)
    assert fresh.digest == knee.digest
    assert evaluate_rows(fresh.model, drawn, "load").equals(done)
    assert len(list((folder / "condensed").iterdir())) == 2
    forbid_condensing(monkeypatch)
    stored = build_knee(CONFIG, folder)
    assert evaluate_rows(stored.model, drawn, "load").equals(done)


def test_lost_compliances_are_computed_again(knee, folder, drawn, done):
    times = {}
    for file in (folder / "condensed").iterdir():
        times[file.name] = file.stat().st_mtime_ns
    lost = next((folder / "condensed").iterdir())
    content = lost.read_bytes()
    lost.unlink()
    assert evaluate_rows(build_knee(CONFIG, folder).model, drawn, "load").equals(done)
    assert lost.read_bytes() == content
    others = [f for f in (folder / "condensed").iterdir() if f != lost]
    assert all(f.stat().st_mtime_ns == times[f.name] for f in others)


@pytest.mark.slow
def test_workers_map_the_stored_compliances(knee, drawn, done, monkeypatch):
    assert len(ForkingPickler.dumps(knee.model)) < SMALL
    function, shared, _ = knee.evaluation()
    jobs = [(drawn.iloc[:5],), (drawn.iloc[5:],)]
    found = dict(Execution(workers=2).results(function, jobs, *shared))
    assert pd.concat([found[0], found[1]]).equals(done)


def test_contact_that_leaves_the_layer_is_no_sample(knee, drawn, monkeypatch):
    def flags(self, pose, compartment):
        return (Flag(FlagKind.END_OF_NODES, compartment),) * (compartment == "medial")

    monkeypatch.setattr(FiniteElementContact, "compartment_flags", flags)
    for follow in ("load", "pose"):
        rows = drawn if follow == "load" else drawn.assign(superior_m=drawn["superior_m"] - 1e-4)
        found = evaluate_rows(knee.model, rows, follow)
        medial = found["compartment"] == "medial"
        assert (found.loc[medial, "status"] == FAILED).all()
        assert found.loc[medial, "reason"].eq(str(Flag(FlagKind.END_OF_NODES, "medial"))).all()


def test_path_of_springs_is_near_the_rest_of_the_elements(knee, path):
    """Springs are stiffer: the elements settle some micrometres deeper, and hardly elsewhere."""
    elements = Knee(knee.model, knee.start, knee.digest).reference_path(CONFIG)
    apart = np.abs(elements.poses(path.flexion) - path.poses(path.flexion)).max(axis=0)
    half = CONFIG.space
    assert apart[1] < 0.1 * np.radians(half.adduction_deg)
    assert apart[2] < 0.1 * np.radians(half.rotation_deg)
    assert apart[3] < 0.1e-3 * half.anterior_mm
    assert apart[4] < 0.1e-3
    assert apart[5] < 0.1e-3 * half.lateral_mm
