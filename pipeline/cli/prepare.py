"""Commands that prepare a study: `init`, `check`, `schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pipeline.cli.app import PREPARE, Answer, Config, Overrides, command
from pipeline.preparation.init_options import InitOptions


@command(PREPARE)
def init(
    config: Path = Path("mine.toml"),
    /,
    *,
    options: Annotated[InitOptions, Parameter(name="*")] = InitOptions(),  # noqa: B008
) -> Answer:
    r"""Write a commented configuration for two meshes.

    Parameters
    ----------
    config : Path
        Configuration to write.

    Examples
    --------
    $ knee-contact init --material cartilage
    $ knee-contact init mine.toml --femur femur.stl --tibia tibia.stl \
        --material cartilage
    $ knee-contact init left.toml --femur f.ply --tibia t.ply --side left \
        --unit mm --axes=-x,y,-z --material polyethylene
    """
    from pipeline.preparation.first_configuration import write_starter

    text, content = write_starter(config, options)
    return Answer(text, content)


@command(PREPARE)
def check(config: Config, /, *, overrides: Overrides = (), deep: bool = False) -> Answer:
    """Report all errors of meshes and configuration before a long run.

    Parameters
    ----------
    config, overrides
        Configuration and replaced values.
    deep : bool
        Draw more samples, and evaluate contact on meshes of very many triangles.

    Examples
    --------
    $ knee-contact check mine.toml
    $ knee-contact check mine.toml --deep
    $ knee-contact check mine.toml --set knee.side=left --json
    """
    from foundation.base.findings import LEVELS
    from foundation.base.wording import counted
    from pipeline.advice import command_line
    from pipeline.config.reading import find_config
    from pipeline.design_space.run import with_designs_checked
    from pipeline.preparation.checkup import check_study
    from pipeline.store.run_documents import StoredFinding

    file = find_config(config)
    findings, figures = check_study(file, overrides, deep=deep)
    findings = with_designs_checked(file, overrides, findings, figures)
    stored = [StoredFinding.of(finding) for finding in findings]
    counts = {level: sum(each.level == level for each in stored) for level in LEVELS}
    ready = counts["error"] == 0
    verdict = counted(counts["warning"], "warning")
    if ready:
        options = [word for text in overrides for word in ("--set", text)]
        verdict = f"ready: {verdict}; next: {command_line('run', file, *options)}"
    else:
        verdict = f"not ready: {counted(counts['error'], 'error')}, {verdict}"
    lines = [f"{each.level}: {each.words}" for each in stored]
    content = {
        "file": str(file),
        "ready": ready,
        "counts": counts,
        "remarks": stored,
        "figures": figures,
    }
    return Answer("\n".join([*lines, verdict]), content, 0 if ready else 2)


@command(PREPARE)
def schema() -> Answer:
    """Describe every key of a configuration.

    Examples
    --------
    $ knee-contact schema > keys.md
    """
    from pipeline.studies.dispatch import describe_schemas

    text = describe_schemas().rstrip("\n")
    return Answer(text, text)
