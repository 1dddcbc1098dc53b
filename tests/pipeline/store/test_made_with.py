"""A finished run whose `config.toml` was edited since: nothing attests what was not run."""

from __future__ import annotations

import json
import shutil
import tomllib

import pytest
import tomli_w
from studies import TINY

from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.stages.run_folder import Run
from pipeline.store.made_with import check_configuration, configuration_digest
from pipeline.store.workspace_lock import RunError
from pipeline.studies.runs import Task


def edit(folder, section, **keys):
    """Replace keys of a run's `config.toml`; None takes a key out."""
    path = folder / "config.toml"
    tree = tomllib.loads(path.read_text())
    tree[section] = {k: v for k, v in (tree[section] | keys).items() if v is not None}
    path.write_text(tomli_w.dumps(tree))


COMMANDS = {
    "simulate": ["{run}"],
    "loads": ["{run}", "{run}/cycle.mot", "--out", "{out}/loads.sto"],
    "samples": ["summary", "{run}"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_edited_configuration_of_a_finished_run_is_refused(run_copy, tmp_path, capsys, command):
    shutil.copy(run_copy / "knee.npz", tmp_path / "knee.npz")
    assert main(["motion", str(run_copy), "--out", str(run_copy / "cycle.mot")]) == 0
    before = (run_copy / "report.html").read_bytes()
    edit(run_copy, "contact", youngs_modulus_MPa=400.0)
    capsys.readouterr()
    out = tmp_path / "out"
    given = [text.format(run=run_copy, out=out) for text in COMMANDS[command]]
    assert main([command, *given]) == 2
    err = capsys.readouterr().err
    assert "contact.youngs_modulus_MPa is 400.0, and the run was made with 463.0" in err
    assert "Restore the file, or make another run" in err
    assert (run_copy / "report.html").read_bytes() == before
    assert not out.exists()


def test_edited_configuration_is_refused_by_studies_and_walks(run_copy):
    edit(run_copy, "simulation", samples=41)
    with pytest.raises(RunError, match=r"simulation\.samples is 41, and .* made with 21"):
        Task.of(run_copy, "surrogate", {})


def test_report_tells_the_configuration_of_the_run_of_keys_that_may_change(run_copy):
    edit(run_copy, "run", workers=7, chunk=3, name="renamed", backend="dask")
    assert main(["report", str(run_copy)]) == 0
    report = json.loads((run_copy / "report.json").read_text())
    told = report["provenance"]["configuration"]["run"]
    assert (told["workers"], told["chunk"], told["name"]) == (1, 7, "smoke")


def test_keys_that_were_added_or_taken_out_are_told(run_copy):
    edit(run_copy, "simulation", neutral_anterior_mm=1.5, samples=None)
    with pytest.raises(RunError) as error:
        check_configuration(run_copy)
    assert "neutral_anterior_mm is 1.5, and the run was made with not given" in str(error.value)
    assert "simulation.samples is not given, and the run was made with 21" in str(error.value)


def test_resume_restores_an_edited_file(run_copy):
    before = (run_copy / "config.toml").read_bytes()
    edit(run_copy, "design", first=50)
    with Run(load_config("configs/smoke.toml", TINY), run_copy) as run:
        run.prepare(resume=True)
    assert (run_copy / "config.toml").read_bytes() == before
    assert check_configuration(run_copy) is not None


def test_digest_is_in_the_provenance_and_blind_to_keys_that_may_change(tiny_run):
    text = (tiny_run / "config.toml").read_text()
    digest = configuration_digest(text)
    run = json.loads((tiny_run / "run.json").read_text())
    assert run["hashes"]["configuration"] == digest
    assert configuration_digest(text.replace("workers = 1", "workers = 2")) == digest
    assert configuration_digest(text.replace("463.0", "400.0")) != digest
