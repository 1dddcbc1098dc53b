"""Files that cannot be written: status 2, and a sentence with file, reason and cure."""

import errno
import os
import shlex
import sqlite3

import pytest
from studies import TINY, run_command, stored_samples

from foundation.base import files as base
from pipeline.advice import PROGRAM
from pipeline.cli.main import main
from pipeline.store.sample_store import SampleStore


def words_of(message):
    """Return the arguments of the last command in a message."""
    program, *words = shlex.split(message.rsplit("`", 2)[-2])
    assert program == PROGRAM
    return words


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


def refused(capsys, words):
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
        told = refused(capsys, words)
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
        (["fields", "RUN", "--out", "OUT"], "cycle.pvd"),
        (["motion", "RUN", "--out", "OUT/cycle.mot"], "cycle.mot"),
    ],
)
def test_other_commands_keep_their_files(run_copy, tmp_path, capsys, failing, words, name):
    places = {"RUN": str(run_copy), "OUT": str(tmp_path / "out")}
    words = [places.get(w, w.replace("OUT/", f"{tmp_path / 'out'}/")) for w in words]
    before = {path: path.read_bytes() for path in run_copy.rglob("*") if path.is_file()}
    mended = failing(errno.EROFS, name)
    told = refused(capsys, words)
    assert f"{name}: cannot be written (read-only file system); no file is left half " in told
    assert ("--out" in told.split("`")[0]) == ("--out" in words)
    assert {path: path.read_bytes() for path in before} == before
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))
    mended()
    assert words_of(told) == words
    assert main(words) == 0
