"""Faults of the program are told as such, and what users give never looks like one."""

import copy
import json
import traceback

import jobs
import pytest
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from studies import TINY, run_command

from foundation.base.errors import InputError
from pipeline.cli.main import FAULT, main
from pipeline.execution import Execution

DOCUMENTS = ("run", "simulation", "validation")
#: What an edit or another program may leave in place of a value.
ODD_VALUES = (
    *(None, True, -1, 0, 1, 2**70, 0.5, -1e-320, 1e300, "", "medial", "nan", "\ud800\u2028"),
    *([], {}, [[]], [None], {"medial": 1}, [1.0, 2.0], {"kind": "table"}),
)


def fault(*_, **__):
    """Fail as a slip in the code does."""
    return {}["no such key"]


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("run", "pipeline.runner.sample_space"),
        ("report", "pipeline.reports.report.summary_lines"),
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
    with pytest.raises(ValueError, match="no answer") as caught, Execution(workers) as execution:
        execution.map(jobs.refuse, [(1,), (1,)])
    assert not isinstance(caught.value, InputError)
    assert "in refuse" in "".join(traceback.format_exception(caught.value))


# ---- Damaged documents ---------------------------------------------------------------------------


def places(tree, head=()):
    """Return the ways to all values of a document, its outermost one left out."""
    found = []
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        found.append((*head, key))
        if isinstance(value, dict | list):
            found += places(value, (*head, key))
    return found


@st.composite
def changed(draw, content):
    """Draw a document with one to three values replaced, left out, repeated or exchanged."""
    tree = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(places(tree)))
        part = tree
        for key in way:
            part = part[key]
        what = draw(st.sampled_from(("replace", "replace", "remove", "repeat", "move")))
        if what == "replace":
            # A copy: a later change within the list would change it for all examples.
            part[last] = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
        elif what == "remove":
            del part[last]
        elif isinstance(part, list):
            part.insert(0, copy.deepcopy(part[last]))
        else:
            part["moved"] = part.pop(last)
        if not tree:
            return b"{}"
    return json.dumps(tree).encode()


#: One folder for all examples, which overwrite the same file.
trying = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def try_damaged(data, file, command):
    """Give damaged content to a command, which may not show a fault."""
    whole = file.read_bytes()
    content = data.draw(changed(json.loads(whole)) | damaged(whole))
    try:
        file.write_bytes(content)
        assert main([*command, "--quiet"]) in (0, 1, 2), content
    finally:
        file.write_bytes(whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_damaged_document_is_no_fault_of_the_report(run_copy, name):
    # What takes longest of a report, and what a run may be without.
    for other in ("knee.npz", "frames.npz", "wear.npz", "combinations.parquet"):
        (run_copy / other).unlink()

    @trying
    @given(data=st.data())
    def example(data):
        try_damaged(data, run_copy / f"{name}.json", ["report", str(run_copy)])

    example()
