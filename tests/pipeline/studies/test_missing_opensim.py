"""Commands without OpenSim, or with an installation that cannot be used."""

import sys

import pytest

from dynamics.musculoskeletal.opensim_system import opensim as wheel
from foundation.base.errors import InputError
from pipeline.cli.main import main


def test_a_broken_installation_is_told_from_none(monkeypatch):
    error = ImportError("libosimCommon.so: cannot open shared object file")
    monkeypatch.delitem(sys.modules, "casadi", raising=False)

    def broken(name):
        raise error

    monkeypatch.setattr("importlib.import_module", broken)
    wheel.cache_clear()
    with pytest.raises(InputError, match="opensim: expected a package that Python imports") as told:
        wheel()
    assert str(error) in str(told.value)


def test_casadi_in_the_same_process_is_named(monkeypatch):
    def clashing(name):
        raise ImportError("undefined symbol: _ZN6casadi")

    monkeypatch.setattr("importlib.import_module", clashing)
    monkeypatch.setitem(sys.modules, "casadi", None)
    wheel.cache_clear()
    with pytest.raises(InputError, match="a process without CasADi, found CasADi imported"):
        wheel()


@pytest.mark.parametrize("config", ["passive_flexion", "comak_walking"])
def test_commands_say_what_to_install(no_opensim, jam_folder, config, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["run", config, "--out", str(out), "--quiet"]) == 2
    told = capsys.readouterr().err
    assert told.count('pip install "knee-contact[opensim]"') == 1
    assert not out.exists()
