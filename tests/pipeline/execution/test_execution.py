"""Work in parallel on this machine: processes that are lost, folders that are held, full disks."""

import errno
import gc
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import jobs
import numpy as np
import pandas as pd
import pytest
from studies import ROOT, SMOKE, TINY, assert_same_run, run_command

from pipeline.advice import command_line
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.execution import backends as module
from pipeline.execution.backends import Execution
from pipeline.execution.worker_checks import ExecutionError, environment, environment_error
from pipeline.files import replacing
from pipeline.originals.protocol import Evaluation
from pipeline.stages.run_folder import Run
from pipeline.store.samples import RESULT_COLUMNS
from pipeline.store.workspace_lock import locked

JOBS = [(number,) for number in range(6)]
DOUBLED = [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_those_of_the_jobs(workers):
    execution = Execution(workers)
    assert dict(execution.results(jobs.double, JOBS)) == dict(enumerate(DOUBLED))
    assert execution.map(jobs.double, JOBS) == DOUBLED
    assert execution.map(jobs.double, []) == []
    assert sorted(execution.results(max, [(3,), (9,)], 5)) == [(0, 5), (1, 9)]


def test_a_killed_process_costs_only_what_it_had_begun(tmp_path):
    job = partial(jobs.die_once, str(tmp_path / "mark"))
    with pytest.warns(
        UserWarning, match=r"workers were lost .*restarting their tasks \(1 of 3\)"
    ) as told:
        found = list(Execution(2).results(job, JOBS))
    # Each once, whether it ended before or after.
    assert sorted(found) == list(enumerate(DOUBLED))
    assert len(told) == 1


@pytest.mark.filterwarnings("ignore:workers were lost")
def test_what_killed_its_process_is_not_begun_again_in_this_one(tmp_path):
    """Also if it is the only job that is left."""
    execution = Execution(2)
    execution.map(jobs.double, JOBS)  # starts the processes
    job = partial(jobs.process_after_a_death, str(tmp_path / "mark"))
    assert os.getpid() not in execution.map(job, [(0,), (2,)])


@pytest.mark.filterwarnings("ignore:workers were lost")
def test_processes_that_die_again_and_again_end_the_work(monkeypatch):
    monkeypatch.setattr(module, "_REPEATS", 1)
    with pytest.raises(ExecutionError, match=r"lost 2 times .*run out of memory"):
        Execution(2).map(jobs.die, JOBS)


def test_lost_workers_in_a_stage_are_told_with_what_is_stored(tmp_path, monkeypatch):
    def lose(self, function, given, *shared):
        yield 0, given[0][0].assign(**dict.fromkeys(RESULT_COLUMNS, 1.0))
        raise ExecutionError("workers were lost 4 times")

    monkeypatch.setattr(Execution, "results", lose)
    table = pd.DataFrame({"a": np.arange(10.0)})
    config = load_config(SMOKE, ("run.chunk=4",))
    with Run(config, tmp_path / "run") as run:
        run.prepare(resume=False)
        with pytest.raises(ExecutionError, match=r"^workers .*; 4 of 10 samples of first are"):
            run.evaluate("first", table, Evaluation(jobs.double))
    assert len(list((tmp_path / "run" / "samples" / "chunks-first").iterdir())) == 1


def test_missing_package_is_told_with_its_remedy(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(run_command(tmp_path / "run", *TINY, 'run.backend="dask"')) == 1
    err = capsys.readouterr().err
    assert err == (
        'error: backend = "dask": the package distributed is missing; install it with '
        '`pip install "knee-contact[dask]"`, or use backend = "loky"\n'
    )
    assert not (tmp_path / "run").exists()


def test_where_a_run_is_carried_out_may_change(run_copy):
    where = ('run.backend="dask"', "run.workers=3", "run.chunk=99")
    config = load_config(SMOKE, (*TINY, *where))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Execution, "open", lambda self: None)
        with Run(config, run_copy) as run:
            run.prepare(resume=True)
    assert 'backend = "dask"' in (run_copy / "config.toml").read_text()


def test_environments_are_compared_by_name():
    here = environment()
    assert {"Python", "numpy", "numba", "knee-contact"} <= here.keys()
    assert environment_error(here, here) == ""
    other = {**here, "numpy": "1.0"}
    del other["numba"]
    assert environment_error(here, other) == (
        f"has numpy 1.0 (here {here['numpy']}), numba missing (here {here['numba']}); "
        "give scheduler and workers the same environment"
    )


def test_two_commands_in_one_run_directory(run_copy, capsys):
    """The lock of a process that lives is kept, that of one that was killed is not."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from pipeline.store.workspace_lock import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(run_copy)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        before = sorted(run_copy.rglob("*"))
        for command in (
            [*run_command(run_copy, *TINY), "--resume"],
            run_command(run_copy, *TINY),
            ["validate", str(run_copy)],
            ["simulate", str(run_copy)],
            ["wear", str(run_copy)],
        ):
            assert main(command) == 2
            assert capsys.readouterr().err == (
                f"error: {run_copy}: another command is writing to this folder; wait until the "
                "command has ended, or choose another folder with --out\n"
            )
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert sorted(run_copy.rglob("*")) == before
    with locked(run_copy):
        pass


def write_array(partial_file: Path) -> None:
    with partial_file.open("wb") as stream:
        np.savez(stream, a=np.zeros(100_000))


def write_rows(partial_file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": np.random.default_rng(1).random(100_000)}), partial_file)


def write_page(partial_file: Path) -> None:
    partial_file.write_text("<p>" * 100_000, encoding="utf-8")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("write", [write_array, write_rows, write_page])
def test_full_disk_is_told_for_every_kind_of_file(tmp_path, write):
    path = tmp_path / "file.kind"
    path.write_text("old")

    def replace_it() -> None:
        with replacing(path) as part:
            part.symlink_to("/dev/full")
            write(part)

    with pytest.raises(OSError, match="no space left on device") as caught:
        replace_it()
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file.kind"]
    assert path.read_text() == "old"


@pytest.fixture
def small_disk(tmp_path):
    """Give a file system of its own, of 160 kB, and a function that mounts it otherwise."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(folder)]
    if not mount or os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs")

    def again(options: str) -> None:
        gc.collect()  # the traceback of an error holds the file that could not be written
        subprocess.run([mount, "-o", f"remount,{options}", str(folder)], check=True)

    yield folder, again
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_full_disk_loses_no_sample(tiny_run, small_disk, capsys):
    disk, again = small_disk
    command = [*run_command(disk / "run", *TINY, "run.chunk=2"), "--resume"]
    assert main(command) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {disk / 'run' / 'samples' / 'chunks-first'}/")
    assert err.count("\n") == 1
    chunks = list((disk / "run" / "samples" / "chunks-first").iterdir())
    go_on = f"continue with `{command_line(*command)}`"
    told = (
        r"cannot be written \(no space left on device\); (\d+) of 120 samples of first are stored; "
    )
    stored = re.search(told, err)
    assert stored is not None
    assert 2 * len(chunks) <= int(stored[1]) < 120
    assert err.endswith(f"are stored; free disk space, then {go_on}\n")
    assert 1 <= len(chunks) < 60
    assert {path.suffix for path in chunks} == {".parquet"}
    again("size=50m,ro")
    assert main(command) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "cannot be written (read-only file system); the files that were written before " in err
    assert f"writable, or choose another folder with --out, then {go_on}" in err
    assert main(run_command(disk / "other", *TINY)) == 2
    assert capsys.readouterr().err.startswith(f"error: {disk / 'other'}: cannot be written (read-")
    again("size=50m,rw")
    assert main(command) == 0
    assert_same_run(disk / "run", tiny_run)
