"""Remedies in messages, taken out of the message and followed literally, cure what is told."""

import errno
import os
import re
import shlex
import sqlite3
from pathlib import Path

import pytest
from studies import SMOKE, TINY, run_command, stored_samples

from foundation.base import files as base
from foundation.base.errors import InputError
from pipeline.advice import PROGRAM
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.store.documents import read_json
from pipeline.store.sample_store import SampleStore


def refusal(function, *given):
    with pytest.raises(InputError) as caught:
        function(*given)
    return str(caught.value)


def found(pattern, message):
    """Return what stands in a message in the place of the group of a pattern."""
    match = re.search(pattern, message)
    assert match is not None, message
    return match[1]


def words_of(message):
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


@pytest.fixture
def failing(monkeypatch):
    """Return a function that lets the writing of files of a name fail."""
    replacing = base.replacing

    def fail(number, name):
        def refuse(path, later=None):
            if path.match(name):
                raise OSError(number, os.strerror(number))
            return replacing(path, later)

        monkeypatch.setattr(base, "replacing", refuse)
        return lambda: monkeypatch.setattr(base, "replacing", replacing)

    return fail


def unwritten(capsys, words):
    """Carry out a command that cannot write; return its message."""
    assert main(words) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    return told.removeprefix("error: ").rstrip()


@pytest.mark.usefixtures("unsimulated")
def test_full_disk_names_what_is_stored_and_the_command_that_goes_on(tmp_path, capsys, monkeypatch):
    connect = sqlite3.connect

    def connect_small(file):
        table = connect(file)
        table.execute("PRAGMA max_page_count = 6")
        return table

    words = [*run_command(tmp_path / "run", *TINY, "run.chunk=20"), "--force"]
    file = tmp_path / "run" / "samples.sqlite"
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_small)
        told = unwritten(capsys, words)
    assert told.startswith(f"{file}: cannot be written (database or disk is full); ")
    stored = stored_samples(file)
    assert 0 < stored < 120
    assert f"; {stored} of 120 missing samples are stored; free disk space, " in told
    again = words_of(told)
    assert again == [*words[:-1], "--resume"]
    missing = []
    evaluate = SampleStore.evaluate

    def counted(self, rows, *rest):
        missing.append(len(rows))
        evaluate(self, rows, *rest)

    monkeypatch.setattr(SampleStore, "evaluate", counted)
    assert main(again) == 0
    assert missing[0] == 120 - stored


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["report", "RUN"], "report.html"),
        (["motion", "RUN", "--out", "OUT/cycle.mot"], "cycle.mot"),
    ],
)
def test_other_commands_keep_their_files(run_copy, tmp_path, capsys, failing, words, name):
    places = {"RUN": str(run_copy), "OUT": str(tmp_path / "out")}
    words = [places.get(w, w.replace("OUT/", f"{tmp_path / 'out'}/")) for w in words]
    before = {path: path.read_bytes() for path in run_copy.rglob("*") if path.is_file()}
    mended = failing(errno.EROFS, name)
    told = unwritten(capsys, words)
    assert f"{name}: cannot be written (read-only file system); no file is left half " in told
    assert ("--out" in told.split("`")[0]) == ("--out" in words)
    assert {path: path.read_bytes() for path in before} == before
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))
    mended()
    assert words_of(told) == words
    assert main(words) == 0
