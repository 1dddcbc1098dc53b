"""What the README and the docs show must run as it stands there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from pipeline.config import load_config
from pipeline.simulation import gait_cycle

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_python_of_the_readme_runs(tiny_run, capsys):
    (code,) = blocks("python")
    assert "runs/implant/knee.npz" in code
    scope = {}
    exec(code.replace("runs/implant/knee.npz", str(tiny_run / "knee.npz")), scope)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 5
    assert 0.0 < float(printed[2]) < scope["loads"].force[1]
    assert printed[3].startswith("Statistics(steps=")
    # Some cubic millimetres in a million cycles.
    assert 1e-15 < float(printed[4]) < 2e-14
    original = scope["model"].evaluate(scope["pose"])
    # The tiny run's mesh is coarser than the snippet's, and its samples are few.
    assert 0.3 < scope["loads"].force[1] / original.force[1] < 3.0


def test_python_of_the_mechanics_runs(capsys):
    text = (ROOT / "docs" / "mechanics.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    scope = {}
    exec(code, scope)
    returned, *_ = capsys.readouterr().out.splitlines()
    # Flores' law returns a little less than was asked for.
    assert 0.45 < float(returned) < 0.5
    assert scope["strike"].peak_reaction > 1.0


def test_study_of_the_readme_is_a_valid_configuration(tmp_path):
    (text,) = blocks("toml")
    assert tomllib.loads(text)
    (tmp_path / "mine.toml").write_text(text)
    config = load_config(tmp_path / "mine.toml")
    assert config.knee.femur.axes == ("-x", "y", "-z")
    # The shipped waveforms are found wherever the study lies.
    assert gait_cycle(config.simulation).period == config.simulation.period_s


def test_targets_and_files_that_the_readme_names_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"make ([a-z-]+)", README)):
        assert re.search(rf"^(test )?{target}[ :]", makefile, re.M), target
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / link).exists(), link
    for config in re.findall(r"configs/[\w./]+\.toml", README):
        assert (ROOT / config).exists(), config
