"""Commands that use a trained surrogate: studies, wear, loads, files for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import ArgumentCollection, Group, Parameter

from foundation.base.errors import InputError
from foundation.base.wording import counted
from pipeline.cli.app import (
    USE,
    Answer,
    Config,
    Force,
    ForceFiles,
    OutFolder,
    Overrides,
    Resume,
    RunFolder,
    SurrogateSource,
    command,
)

if TYPE_CHECKING:
    from dynamics.walking.knee_motion import KneeColumns


def _check_one(arguments: ArgumentCollection) -> None:
    if len(arguments.filter_by(value_set=True)) != 1:
        raise InputError("expected either a configuration or --factors")


_ONE = Parameter(group=Group("Arguments (one of)", validator=_check_one, sort_key=3))


@command(USE)
def study(
    config: Annotated[Config | None, _ONE] = None,
    /,
    *,
    factors: Annotated[bool, _ONE] = False,
    walk: Path | None = None,
    overrides: Overrides = (),
    out: OutFolder = None,
    resume: Resume = False,
    force: Force = False,
) -> Answer:
    """Vary the gait cycle of a run, or a walk with muscles: Monte Carlo or sensitivity study.

    Parameters
    ----------
    config, overrides, out, resume, force
        Configuration, replaced values, folder to write, whether to continue or to replace.
    factors : bool
        List the inputs that a study can vary, instead of a study.
    walk : Path, optional
        With --factors: folder of a walk of an OpenSim model, whose inputs are listed.

    Examples
    --------
    $ python -m pipeline study configs/montecarlo.toml
    $ python -m pipeline study configs/sobol.toml --set study.run=runs/mine
    $ python -m pipeline study --factors
    """
    from pipeline.config.reading import find_config
    from pipeline.studies.any_study import describe_any_factors, simulate_any_study

    if config is None:
        text = describe_any_factors(walk)
        return Answer(text, text)
    return Answer(
        *simulate_any_study(find_config(config), overrides, out, resume=resume, replace=force)
    )


@command(USE)
def walk(
    config: Config,
    /,
    *,
    overrides: Overrides = (),
    out: OutFolder = None,
    force: Force = False,
) -> Answer:
    """Simulate knee loads from measured walking.

    With walk.model = "planar", a planar leg and a trained knee; with an OpenSim model (.osim) that
    has articular contact, muscles, ligaments and contact by COMAK.

    Examples
    --------
    $ python -m pipeline walk configs/walking.toml
    $ python -m pipeline walk mine.toml --set walk.run=runs/mine
    $ python -m pipeline walk configs/comak_walking.toml
    """
    from pipeline.config.reading import find_config
    from pipeline.studies.any_walk import simulate_any_walk

    return Answer(*simulate_any_walk(find_config(config), overrides, out, replace=force))


@command(USE)
def comak(
    settings: Path,
    /,
    *,
    contact: Annotated[tuple[str, ...], Parameter(consume_multiple=False)] = ("original",),
    replay: Path | None = None,
    model: Path | None = None,
    geometry: Path | None = None,
    overrides: Overrides = (),
    out: OutFolder = None,
    force: Force = False,
) -> Answer:
    """Simulate a walk from OpenSim-JAM's settings of COMAK, with tables of the same names.

    Parameters
    ----------
    settings : Path
        Settings of OpenSim-JAM's COMAKTool (.xml), or a configuration of a walk (.toml).
    contact
        original: springs on flat triangles, as OpenSim-JAM; surrogate: the newest runs in `runs`
        with the meshes of the model; or a run directory. Repeat the option for each joint.
    replay
        plant.npz of an earlier walk, replayed in place of OpenSim.
    model
        Model in place of that of the settings.
    geometry
        Folder of mesh files that are not beside the model.
    overrides, out, force
        Replaced values, folder to write, whether to replace another walk there.

    Examples
    --------
    $ python -m pipeline comak comak_settings.xml --geometry Geometry --out walk
    $ python -m pipeline comak comak_settings.xml --replay walk/plant.npz
    $ python -m pipeline comak comak_settings.xml --contact runs/tibiofemoral
    """
    from pipeline.studies.any_walk import muscle_walk_answer
    from pipeline.studies.muscle_walks.comak_tool import comak_file

    file = comak_file(
        settings, overrides, contact=contact, replay=replay, model=model, geometry=geometry
    )
    return Answer(*muscle_walk_answer(file, out, replace=force))


@command(USE)
def forward(
    config: Config,
    /,
    *,
    overrides: Overrides = (),
    out: OutFolder = None,
    force: Force = False,
) -> Answer:
    """Simulate a joint that is moved: passive flexion, laxity tests, isometric contractions.

    Prescribed coordinates, muscles and loads of an OpenSim model act; ligaments and contact move
    the other coordinates of the joint.

    Examples
    --------
    $ python -m pipeline forward configs/passive_flexion.toml
    $ python -m pipeline forward anterior_laxity --set forward.step_s=0.005
    """
    from pipeline.config.reading import find_config
    from pipeline.studies.forward_motions.simulate import (
        load_forward,
        simulate_forward_motion,
        summary_text,
    )

    file = load_forward(find_config(config), overrides)
    folder = out or Path("runs") / file.forward.name
    content = simulate_forward_motion(file, folder, replace=force)
    return Answer(summary_text(content, folder), content)


@command(USE)
def wear(folder: RunFolder, /, *, cycles: float = 5e6, blocks: int = 5) -> Answer:
    """Simulate wear of the insert of a run over many gait cycles.

    Parameters
    ----------
    folder : Path
        Run directory.
    cycles : float
        Number of gait cycles [1].
    blocks : int
        Number of blocks of cycles; the worn surface is updated after each block.

    Examples
    --------
    $ python -m pipeline wear runs/implant --cycles 5e6 --blocks 5
    """
    from pipeline.studies.lifetime_wear import wear_insert, worn_table

    content = wear_insert(folder, cycles, blocks)
    return Answer(worn_table(content), content)


@command(USE)
def export(
    source: SurrogateSource,
    /,
    *,
    out: Path | None = None,
    prefix: Annotated[str, Parameter(metavar="NAME")] = "knee",
    fmu: Literal["2.0", "3.0"] | None = None,
    sources_only: bool = False,
    casadi: bool = False,
    force: ForceFiles = False,
) -> Answer:
    """Write the surrogate of a run as C source or as an FMU.

    Parameters
    ----------
    source : Path
        Run directory, or .npz file of a surrogate.
    out : Path, optional
        Folder to write (default: the folder of the surrogate).
    prefix : str
        Name of the files, and prefix of all names that the files define.
    fmu : {"2.0", "3.0"}, optional
        Write NAME.fmu for co-simulation and model exchange by this version of FMI.
    sources_only : bool
        Leave the compiled library out of the FMU; a C compiler is not needed then.
    casadi : bool
        Add NAME_wrench to the C source, which casadi.external loads with its derivatives.
    force : bool
        Replace files of other contents.

    Examples
    --------
    $ python -m pipeline export runs/implant --out src --prefix knee
    $ python -m pipeline export runs/implant --fmu 3.0
    """
    from pipeline.exchange.exports import export_c, write_fmu
    from pipeline.files import replacing_together

    if fmu and casadi:
        raise InputError("--casadi: expected C source, found --fmu; leave out one of them")
    if sources_only and not fmu:
        raise InputError("--sources-only: expected --fmu as well, found none; add --fmu 2.0 or 3.0")
    with replacing_together(others=force):
        if fmu:
            files = [str(write_fmu(source, fmu, out, prefix, not sources_only))]
        else:
            files = [str(file) for file in export_c(source, out, prefix, casadi)]
    return _judged(files, {"files": files}, source, "surrogate")


@command(USE)
def fields(
    folder: RunFolder,
    /,
    *,
    out: Path,
    model: Literal["original", "surrogate"] = "original",
    force: ForceFiles = False,
) -> Answer:
    """Write pressure fields of the gait cycle for ParaView.

    Parameters
    ----------
    folder : Path
        Run directory.
    out : Path
        Folder to write: cycle.pvd, and a .vtp file of tibia and femur for each instant.
    model : {"original", "surrogate"}
        Model whose simulated cycle gives the poses; pressures are those of the original model.
    force : bool
        Replace files of other contents.

    Examples
    --------
    $ python -m pipeline fields runs/implant --out fields
    """
    from pipeline.exchange.pressure_fields import write_fields
    from pipeline.files import replacing_together

    with replacing_together(others=force):
        collection, *files = write_fields(folder, out, model)
    head = f"{counted(len(files) // 2, 'instant')}, tibia and femur"
    content = {"files": [str(path) for path in (collection, *files)]}
    return _judged([head], content, folder, model, f"pressure fields: {collection}")


def _judged(
    lines: list[str], content: dict[str, Any], source: Path, model: str, *last: str
) -> Answer:
    """Return an answer with the verdict on the model that it was made with."""
    from pipeline.reports.judgement import judgement_lines, stored_judgement

    found = stored_judgement(source, model)
    told = judgement_lines(found)
    if found is None and model == "surrogate":
        told = [f"verdict of {source}: not known, without a report and held-out errors"]
    known = {} if found is None else {"verdict": found}
    return Answer("\n".join([*lines, *told, *last]), {**content, **known})


_COLUMNS_HELP = (
    "Columns of flexion, adduction, rotation, and of the origin of the femur in the tibial frame "
    "(anterior, superior, lateral) or of the origin of the tibia in the femoral frame (tx, ty, "
    "tz); a minus before a column reverses its sign (default: coordinates of OpenSim-JAM models)."
)


@dataclass(frozen=True)
class ColumnOptions:
    """Columns of a motion file and their units.

    Parameters
    ----------
    columns : str, optional
        Columns by coordinate, as "flexion=knee_angle,...".
    angle_unit : {"deg", "rad"}, optional
        Unit of the angles (default: the unit in the header of the file).
    length_unit : {"m", "mm"}
        Unit of the lengths.
    """

    columns: Annotated[
        str | None, Parameter(metavar="COORDINATE=COLUMN,...", help=_COLUMNS_HELP)
    ] = None
    angle_unit: Literal["deg", "rad"] | None = None
    length_unit: Literal["m", "mm"] = "m"

    def knee_columns(self) -> KneeColumns:
        """Return the columns as the readers and writers of motions expect them."""
        from dynamics.walking.knee_motion import KneeColumns, parse_columns

        names = parse_columns(self.columns) if self.columns else {}
        return KneeColumns(names, self.angle_unit, self.length_unit)


Columns = Annotated[ColumnOptions, Parameter(name="*")]
_DEFAULT_COLUMNS = ColumnOptions()


@command(USE)
def loads(
    source: SurrogateSource,
    motion: Path,
    /,
    *,
    out: Path,
    original: bool = False,
    bodies: tuple[str, str] = ("femur_distal_r", "tibia_proximal_r"),
    columns: Columns = _DEFAULT_COLUMNS,
    force: ForceFiles = False,
) -> Answer:
    r"""Calculate loads of the knee along a motion from another program.

    Parameters
    ----------
    source : Path
        Run directory, or .npz file of a surrogate.
    motion : Path
        Motion: .mot, .sto, .csv or .parquet.
    out : Path
        Loads to write: .sto, .mot, .csv or .parquet.
    original : bool
        Use the original model of the run instead of its surrogate.
    bodies : (str, str)
        Femoral and tibial body of your OpenSim model, for the set-up file beside .sto or .mot.
    columns : ColumnOptions
        Columns of the motion and their units.
    force : bool
        Replace files of other contents.

    Examples
    --------
    $ python -m pipeline loads runs/implant walk.mot --out loads.sto
    $ python -m pipeline loads runs/implant/knee.npz poses.csv --out loads.csv \
        --columns flexion=-kne,adduction=add,rotation=rot,tx=tx,ty=ty,tz=tz \
        --angle-unit deg --length-unit mm
    """
    from dynamics.walking.knee_motion import read_knee_poses
    from pipeline.exchange.loads_along import contact_of, loads_along, write_loads
    from pipeline.exchange.unit_hints import check_some_trusted
    from pipeline.files import replacing_together
    from pipeline.flagged_instants import flagged_sentence

    if out.resolve() == motion.resolve():
        raise InputError(f"--out {out}: expected another file than the motion")
    names = columns.knee_columns()
    time, poses = read_knee_poses(motion, names)
    model = contact_of(source, original=original)
    table, flags = loads_along(model, time, poses)
    check_some_trusted(model, table, flags, motion, names)
    with replacing_together(others=force):
        files = write_loads(table, out, bodies)
    pressure = table["total_peak_pressure_Pa"]
    content = {
        "file": str(out),
        "files": [str(file) for file in files],
        "rows": len(table),
        "flagged": int(table["flagged"].sum()),
        "flags": flags,
        "not_trusted": flagged_sentence(
            int(table["flagged"].sum()), len(table), [flag["message"] for flag in flags]
        ),
        "largest_axial_force_N": float(table["total_force_y_N"].max()),
        "largest_pressure_Pa": float(pressure.max()) if pressure.notna().any() else None,
    }
    which = "original" if original else "surrogate"
    told = [str(content["not_trusted"])] if content["not_trusted"] else []
    written = [f"loads: {file}" for file in files]
    return _judged(_loads_lines(content), content, source, which, *written, *told)


def _loads_lines(content: dict[str, Any]) -> list[str]:
    pressure = content["largest_pressure_Pa"]
    lines = [
        f"{counted(content['rows'], 'instant')}: axial force up to "
        f"{content['largest_axial_force_N']:.0f} N"
        + ("" if pressure is None else f", pressure up to {1e-6 * pressure:.1f} MPa"),
        f"flagged instants: {content['flagged']} of {content['rows']}",
    ]
    lines += [
        f"  {flag['rows']} from {flag['time_s']:g} s: {flag['message']}"
        for flag in content["flags"]
    ]
    return lines


@command(USE)
def motion(
    folder: RunFolder,
    /,
    *,
    out: Path,
    model: Literal["surrogate", "original"] = "surrogate",
    columns: Columns = _DEFAULT_COLUMNS,
    force: ForceFiles = False,
) -> Answer:
    """Write the simulated gait cycle of a run as a motion for OpenSim.

    Parameters
    ----------
    folder : Path
        Run directory.
    out : Path
        Motion to write: .mot or .sto.
    model : {"surrogate", "original"}
        Contact model of the simulation.
    columns : ColumnOptions
        Columns of the motion and their units.
    force : bool
        Replace files of other contents.

    Examples
    --------
    $ python -m pipeline motion runs/implant --out cycle.mot
    """
    from pipeline.exchange.loads_along import run_motion, write_motion
    from pipeline.files import replacing_together

    table = run_motion(folder, model, columns.knee_columns())
    with replacing_together(others=force):
        write_motion(table, out)
    rows = len(table.time)
    content = {"file": str(out), "rows": rows, "columns": list(table.names)}
    return _judged([counted(rows, "instant")], content, folder, model, f"motion: {out}")
