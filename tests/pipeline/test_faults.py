"""Faults of the program are told as such, and what users give never looks like one."""

import traceback

import jobs
import pytest
from studies import TINY, run_command

from foundation.base.errors import InputError
from pipeline.cli.main import FAULT, main
from pipeline.execution import Execution


def fault(*_, **__):
    """Fail as a slip in the code does."""
    return {}["no such key"]


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("run", "pipeline.runner.sample_space"),
        ("report", "pipeline.reports.report.surrogate_tiles"),
        ("wear", "pipeline.studies.lifetime_wear.extrapolate_wear"),
    ],
)
def test_fault_has_a_traceback_a_line_and_a_status(
    run_copy, tmp_path, monkeypatch, capsys, command, place
):
    monkeypatch.setattr(place, fault)
    new = run_command(tmp_path / "new", *TINY)
    assert main(new if command == "run" else [command, str(run_copy)]) == FAULT == 70
    told = capsys.readouterr().err
    assert "Traceback (most recent call last)" in told
    assert "in fault" in told
    last = told.splitlines()[-1]
    assert last.startswith("error: this is a fault of knee-contact, not of your input; please")
    assert "--version" in last


@pytest.mark.parametrize("workers", [1, 2])
def test_fault_of_a_worker_keeps_its_traceback(workers):
    with pytest.raises(ValueError, match="no answer") as caught:
        Execution(workers).map(jobs.refuse, [(1,), (1,)])
    assert not isinstance(caught.value, InputError)
    assert "in refuse" in "".join(traceback.format_exception(caught.value))
