"""Remedies in messages, taken out of the message and followed literally, cure what is told."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studies import SMOKE, TINY

from foundation.base.errors import InputError
from pipeline.advice import PROGRAM, in_folder
from pipeline.cli.main import main
from pipeline.config.reading import find_config, load_config
from pipeline.store.documents import read_json
from pipeline.store.job import RUN, Job, check_configuration
from pipeline.store.samples import read_table


def refusal(function: Callable[..., Any], *given: Any) -> str:
    """Return the message with which a function refuses its arguments."""
    with pytest.raises(InputError) as caught:
        function(*given)
    return str(caught.value)


def found(pattern: str, message: str) -> str:
    """Return what stands in a message in the place of the group of a pattern."""
    match = re.search(pattern, message)
    assert match is not None, message
    return match[1]


def words_of(message: str) -> list[str]:
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
def test_keys(wrong: str, remedy: str, right: str) -> None:
    told = refusal(load_config, SMOKE, (wrong,))
    assert load_config(SMOKE, (right.format(found(remedy, told)),))


# ---- folders and files of a run ------------------------------------------------------------------


def test_folder_of_another_configuration(run_copy: Path) -> None:
    config = load_config(SMOKE, (*TINY, "run.seed=5"))
    told = refusal(Job(RUN, run_copy, config).check)
    option = found(r"replace the run directory with --(\w+)", told)
    assert Job(RUN, run_copy, config, **{{"force": "replace"}[option]: True}).check() is None


def test_edited_configuration_of_a_run(run_copy: Path) -> None:
    file = run_copy / "config.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("rotation_deg = 8.0", "rotation_deg = 7.0"), encoding="utf-8")
    told = refusal(check_configuration, run_copy)
    new, old = re.search(
        r"rotation_deg is (\S+), and the run was made with ([\d.]+)\.", told
    ).groups()  # type: ignore[union-attr]
    again = words_of(told)
    assert again == ["run", str(file), "--out", f"{run_copy}-changed"]
    assert load_config(find_config(again[1])).space.rotation_deg == float(new) == 7.0
    restored = file.read_text(encoding="utf-8").replace(
        f"rotation_deg = {new}", f"rotation_deg = {old}"
    )
    file.write_text(restored, encoding="utf-8")
    assert check_configuration(run_copy)


def test_interrupted_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = []

    def interrupted(
        config: Any, folder: Path, *, resume: bool, replace: bool, despite_errors: bool
    ) -> None:
        calls.append((config.design.budget, folder, resume, replace))
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.studies.dispatch.run_study", interrupted)
    words = ["run", "smoke", "--set", "design.budget=150", "--out", "a b/c", "--force"]
    assert main(words) == 130
    assert main(words_of(capsys.readouterr().err)) == 130
    assert calls == [(150, Path("a b/c"), False, True), (150, Path("a b/c"), True, False)]


def test_damaged_report_is_written_again(
    run_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = run_copy / "report.json"
    file.write_text("{")
    told = refusal(read_json, file)
    Path(found(r"^(\S+): damaged .* delete it and run", told)).unlink()
    assert main([*words_of(told), "--quiet"]) == 0
    assert read_json(file)["summary"][0] in capsys.readouterr().out


@pytest.mark.slow
def test_missing_file_is_made_again(run_copy: Path) -> None:
    file = run_copy / "samples" / "kept.parquet"
    before = file.read_bytes()
    file.unlink()
    assert main([*words_of(refusal(read_table, file)), "--quiet"]) == 0
    assert file.read_bytes() == before


@pytest.mark.slow
def test_next_step_of_a_run(
    tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of the terminal and the page name the same command, which works."""
    run = shutil.copytree(tiny_run, tmp_path / "my run")
    assert main(["report", str(run), "--quiet"]) == 0
    line = found(r"\nnext: .*: (knee-contact .*)\n", capsys.readouterr().out)
    stored = read_json(run / "report.json")["verdict"]["next"]["command"]
    assert line == in_folder(stored, run)
    page = (run / "report.html").read_text(encoding="utf-8")
    shown = re.search(r'<p class="next">.*?<code>(.*?)</code>', page, re.S)
    assert shown is not None
    assert " ".join(re.findall(r"<span>(.*?)</span>", shown[1])).replace("&#39;", "'") == line
    assert main([*shlex.split(line)[1:], "--quiet"]) == 0
