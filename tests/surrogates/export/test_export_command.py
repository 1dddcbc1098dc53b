"""The command `export`: C sources and FMUs of a run or a file, and what it refuses."""

import json
import shutil

import manufactured
import pytest

import surrogates
from pipeline.cli.main import main
from surrogates.export.c_export import export_knee
from surrogates.export.fmu import export_fmu

SOURCES_ONLY = ["--fmu", "2.0", "--sources-only"]


@pytest.fixture
def file(tmp_path):
    surrogates.save(manufactured.knee(), tmp_path / "knee.npz")
    return tmp_path / "knee.npz"


@pytest.mark.parametrize("whole_run", [True, False])
@pytest.mark.parametrize("options", [[], SOURCES_ONLY], ids=["C", "FMU"])
def test_files_stand_beside_the_surrogate_or_where_they_are_asked_for(
    file, options, whole_run, capsys
):
    source = str(file.parent if whole_run else file)
    suffixes = ("fmu",) if options else ("h", "c")
    assert main(["export", source, *options, "--json"]) == 0
    expected = [str(file.with_suffix(f".{suffix}")) for suffix in suffixes]
    assert json.loads(capsys.readouterr().out) == {"files": expected}
    out = file.parent / "a" / "b"
    assert main(["export", source, *options, "--out", str(out), "--prefix", "mine"]) == 0
    assert str(out / f"mine.{suffixes[-1]}") in capsys.readouterr().out
    knee = surrogates.load(file)
    if options:
        wanted = {"mine.fmu": export_fmu(knee, "2.0", "mine", compiled=False)}
    else:
        surrogates.export_c(knee, out.parent / "c", "mine")
        wanted = {path.name: path.read_bytes() for path in (out.parent / "c").iterdir()}
        with pytest.raises(ValueError, match="knee: expected a surrogate, found"):
            surrogates.export_c(source, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == wanted


def test_the_interface_of_casadi_is_added_on_request(file):
    assert main(["export", str(file), "--casadi"]) == 0
    written = file.with_suffix(".c").read_text(encoding="ascii")
    assert written == export_knee(surrogates.load(file), casadi=True).source
    assert written != export_knee(surrogates.load(file)).source


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prefix", "my knee"], "prefix: expected letters"),
        (["--fmu", "3.0", "--prefix", "my-knee"], "prefix: expected letters"),
        (["--sources-only"], "--sources-only: expected --fmu"),
        (["--casadi", "--fmu", "3.0"], "--casadi: expected C source, found --fmu"),
    ],
)
def test_bad_options_are_named(file, options, message, capsys):
    assert main(["export", str(file), *options]) == 2
    assert message in capsys.readouterr().err
    assert list(file.parent.iterdir()) == [file]


def test_without_a_compiler_the_sources_can_be_exported(file, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main(["export", str(file), "--fmu", "3.0"]) == 2
    cure = "on the path, found none; install a compiler or export only the sources (--sources-only)"
    assert f"C compiler: expected one of cc, gcc, clang {cure}" in capsys.readouterr().err
    assert main(["export", str(file), *SOURCES_ONLY]) == 0
