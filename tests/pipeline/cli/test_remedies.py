"""Remedies in messages, taken out of the message and followed literally, cure what is told."""

import re
import shlex
from pathlib import Path

import pytest
from studies import SMOKE

from foundation.base.errors import InputError
from pipeline.advice import PROGRAM
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.store.documents import read_json


def refusal(function, *given):
    """Return the message with which a function refuses its arguments."""
    with pytest.raises(InputError) as caught:
        function(*given)
    return str(caught.value)


def found(pattern, message):
    """Return what stands in a message in the place of the group of a pattern."""
    match = re.search(pattern, message)
    assert match is not None, message
    return match[1]


def words_of(message):
    """Return the arguments of the last command in a message."""
    program, *words = shlex.split(found(r".*`(knee-contact [^`]+)`", message))
    assert program == PROGRAM
    return words


MEANT = r"\(did you mean (\w+)\?\)"


@pytest.mark.parametrize(
    ("wrong", "remedy", "right"),
    [
        ("simulation.waveforms='walking'", MEANT, "simulation.waveforms='{}'"),
        ("run.sede=1", MEANT, "run.{}=1"),
        ("contact.thickness_mm='insert'", r"or '(\w+)', found", "contact.thickness_mm='{}'"),
        ("design.budget=39", r"expected at least first \((\d+)\)", "design.budget={}"),
    ],
)
def test_keys(wrong, remedy, right):
    told = refusal(load_config, SMOKE, (wrong,))
    assert load_config(SMOKE, (right.format(found(remedy, told)),))


# ---- folders and files of a run ------------------------------------------------------------------


def test_interrupted_run(monkeypatch, capsys):
    calls = []

    def interrupted(config, folder, *, resume, replace, despite_errors):
        calls.append((config.design.budget, folder, resume, replace))
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.studies.dispatch.run_study", interrupted)
    words = ["run", "smoke", "--set", "design.budget=150", "--out", "a b/c", "--force"]
    assert main(words) == 130
    assert main(words_of(capsys.readouterr().err)) == 130
    assert calls == [(150, Path("a b/c"), False, True), (150, Path("a b/c"), True, False)]


def test_damaged_report_is_written_again(run_copy, capsys):
    file = run_copy / "report.json"
    file.write_text("{")
    told = refusal(read_json, file)
    Path(found(r"^(\S+): damaged .* delete it and run", told)).unlink()
    assert main([*words_of(told), "--quiet"]) == 0
    assert read_json(file)["summary"][0] in capsys.readouterr().out
