"""A run of finite elements from its configuration to its report, and the commands on that run."""

import json
from pathlib import Path

import pytest
from studies import TINY, run_command, surrogate_arrays

from foundation.finite_element.compliance_store import ComplianceStore
from foundation.surface_contact import SurfaceContact
from pipeline.cli.main import main
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.samples import read_table

ELEMENTS = (
    *TINY,
    "contact.model='finite_element'",
    "contact.finite_element.node_spacing_mm=2.0",
    "simulation.combinations=false",
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Return the folder of a finished run; not to be written to."""
    folder = tmp_path_factory.mktemp("elements") / "run"
    assert main(run_command(folder, *ELEMENTS)) == 0
    return folder


@pytest.mark.slow
def test_run_is_complete(finished):
    report = json.loads((finished / "report.json").read_text())
    assert report["overview"]["settings"]["node_spacing_mm"] == 2.0
    assert "law" not in report["overview"]["layer"]
    assert report["gait"]["wear"]["per_million_cycles"]["original"]["total_mm3"] > 0.0
    page = (finished / "report.html").read_text()
    assert "<dt>Elastic layer</dt>" in page
    assert "<dt>Springs</dt>" not in page
    # Two compartments, with the spacing and with twice the spacing.
    assert len(list((finished / "condensed").glob("*.npy"))) == 4
    errors = report["gait"]["node_spacing"]["errors"]
    assert errors["poses"] == 21
    assert 0.0 < errors["force_percent"] < 20.0
    assert sum(line.startswith("node spacing 2 mm: ") for line in report["summary"]) == 1
    assert "condensation" in json.loads((finished / "run.json").read_text())["seconds"]
    assert isinstance(TrainedRun.open(finished).contact, SurfaceContact)


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_resumed_run_takes_the_stored_compliances(finished, tmp_path, monkeypatch):
    """More samples: those of before are known, and nothing is condensed again."""
    folder = tmp_path / "run"
    assert main(run_command(folder, *ELEMENTS)) == 0

    def condensed(self, body):
        raise AssertionError("the compliance is stored")

    monkeypatch.setattr(ComplianceStore, "_condensed", condensed)
    command = run_command(folder, *ELEMENTS, "design.budget=86")
    assert main([*command, "--resume"]) == 0
    before, after = (read_table(f / "samples" / "first.parquet") for f in (finished, folder))
    assert after.equals(before)
    assert surrogate_arrays(folder).keys() == surrogate_arrays(finished).keys()
    assert json.loads((folder / "run.json").read_text())["counts"]["total"]["evaluated"] == 52
