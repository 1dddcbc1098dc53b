"""Commands that prepare a study: `init`, `align`, `check`, `schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from pipeline.cli.app import PREPARE, Answer, Config, Overrides, command
from pipeline.preparation.init_options import FileAxis, InitOptions, Mesh


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
def align(
    config: Config,
    /,
    *,
    overrides: Overrides = (),
    femur_anterior: FileAxis = None,
    tibia_anterior: FileAxis = None,
    side: Literal["right", "left"] | None = None,
    femur_bone: Mesh = (),
    slope_deg: Annotated[float | None, Parameter(allow_leading_hyphen=True)] = None,
    write: bool = False,
) -> Answer:
    """Propose frames for the meshes of a configuration, with a picture.

    Parameters
    ----------
    config, overrides
        Configuration and replaced values.
    femur_anterior : str, optional
        Signed axis of the femoral file nearest to anterior, if the shape does not tell.
    tibia_anterior : str, optional
        Signed axis of the tibial file nearest to anterior, if the shape does not tell.
    side : {"right", "left"}, optional
        Side of the knee (default: from shape and file names).
    femur_bone : tuple of Path
        Bone of the femur, in the frame and unit of the femoral file, whose shaft tells the zero of
        flexion.
    slope_deg : float, optional
        Fall of the tibial plateau towards posterior (default: from the modulus of the layer).
    write : bool
        Replace side and frames in the configuration by the proposed ones.

    Examples
    --------
    $ knee-contact align mine.toml
    $ knee-contact align mine.toml --write
    $ knee-contact align mine.toml --slope-deg 5 --tibia-anterior=-x
    """
    from pipeline.config.reading import find_config
    from pipeline.preparation.align_study import align_study
    from pipeline.preparation.mesh_keys import axis_of

    stated = {"femur": femur_anterior, "tibia": tibia_anterior}
    anterior = {body: axis_of(text) for body, text in stated.items() if text is not None}
    file = find_config(config)
    return Answer(*align_study(file, overrides, anterior, side, slope_deg, femur_bone, write=write))


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
    from pipeline.design_space.checkup import with_designs_checked
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
