"""Work of a Dask scheduler, through joblib."""

import jobs
import pytest
from studies import TINY, assert_same_run, run_command

from pipeline import execution
from pipeline.cli.main import main
from pipeline.errors import StageError
from pipeline.execution import Execution

distributed = pytest.importorskip("distributed", reason="needs the extra dask")


@pytest.fixture(scope="module")
def scheduler():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


def test_results_of_a_scheduler_are_those_of_the_jobs(scheduler):
    work = Execution(scheduler=scheduler)
    assert work.map(jobs.double, [(number,) for number in range(6)]) == [0, 2, 4, 6, 8, 10]
    assert sorted(work.results(max, [(3,), (9,)], 5)) == [(0, 5), (1, 9)]
    with pytest.raises(ValueError, match="no answer to 7"):
        work.map(jobs.refuse, [(7,)])


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(execution, "_CONNECT_SECONDS", 0.2)
    with pytest.raises(StageError, match=r"scheduler tcp://127\.0\.0\.1:9: no answer.*dask sched"):
        Execution(scheduler="tcp://127.0.0.1:9").map(jobs.double, [(1,)])


def test_a_scheduler_without_workers_is_named(monkeypatch):
    monkeypatch.setattr(execution, "_WORKER_SECONDS", 0.2)
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        pytest.raises(StageError, match=r"start workers with `dask worker .* --nthreads 1`"),
    ):
        Execution(scheduler=cluster.scheduler_address).map(jobs.double, [(1,)])


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_run_of_a_scheduler_has_the_same_numbers(tiny_run, scheduler, tmp_path):
    folder = tmp_path / "run"
    assert main(run_command(folder, *TINY, f'run.scheduler="{scheduler}"', "run.chunk=2")) == 0
    assert_same_run(folder, tiny_run)
