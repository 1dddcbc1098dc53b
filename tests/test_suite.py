"""The tests themselves: one way to the data, and no compiled function is exchanged."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: Readers of the variable: the fixture that finds the folder, and the tests of the variable.
READERS = {
    "conftest.py",
    "pipeline/cli/test_remedies.py",  # where there is no data
    "pipeline/config/test_config.py",
    "pipeline/originals/test_mesh_loading.py",  # where there is no data
    Path(__file__).name,
}


def sources():
    return {str(p.relative_to(TESTS)): p.read_text("utf-8") for p in TESTS.rglob("*.py")}


def test_data_are_found_by_one_fixture():
    """Tests that looked for the folder on their own skipped where the others found the data."""
    found = {
        name
        for name, text in sources().items()
        if re.search(r"(environ|getenv|setenv|delenv).*KNEE_DATA", text)
    }
    assert found <= READERS
    assert "conftest.py" in found


def test_the_data_folder_stands_in_the_environment(data_folder, monkeypatch, tmp_path):
    """Configurations and programs read the same folder from wherever they run."""
    from pipeline.config.data_folder import data_path

    monkeypatch.chdir(tmp_path)
    assert data_path("$KNEE_DATA/a.stl", Path()) == data_folder / "a.stl"


#: Stands for the interpreter: tells which kernels there are, and what it is asked to run.
STAND_IN = """#!/bin/sh
if [ "$1" = - ]; then
    case $OPENBLAS_CORETYPE in
        Old | Older) echo Old ;;
        New) kill -ILL $$ ;;
        Newer) echo Newer ;;
    esac
else
    echo "ran $OPENBLAS_CORETYPE $KNEE_BUILD"
    [ "$OPENBLAS_CORETYPE" != "$FAILING" ]
fi
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("failing", ["none", "Newer"])
def test_delicate_tests_run_once_under_each_set_of_kernels(tmp_path, failing):
    stand_in = tmp_path / "python"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    chosen = {"PYTHON": str(stand_in), "CORES": "Old New Older Newer", "FAILING": failing}
    chosen["BUILDS"] = "avx2 plain"
    outer = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "KNEE_BUILD")}
    done = subprocess.run(
        ["bash", str(TESTS.parent / ".ci" / "kernels")],
        env=outer | chosen, capture_output=True, text=True, check=False,
    )  # fmt: skip
    ran = [line.split() for line in done.stdout.splitlines() if line.startswith("ran")]
    assert [names for _, *names in ran] == [["Old"], ["Newer"], [], ["avx2"], ["plain"]]
    assert "skipped the BLAS kernels of New: this machine or its BLAS has none" in done.stdout
    assert "skipped the BLAS kernels of Older: here they are those of Old" in done.stdout
    assert done.returncode == (failing != "none")
    assert ("failed under BLAS kernels of Newer" in done.stderr) == (failing != "none")
