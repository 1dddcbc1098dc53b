"""Commands that use a trained surrogate: wear, loads, files for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from foundation.base.errors import InputError
from foundation.base.wording import counted
from pipeline.cli.app import USE, Answer, RunFolder, SurrogateSource, command

if TYPE_CHECKING:
    from dynamics.motion.knee_motion import KneeColumns


@command(USE)
def factors() -> Answer:
    """List the inputs of the gait cycle of a run that a study can vary.

    Examples
    --------
    $ knee-contact factors
    """
    from pipeline.studies.factors import describe_factors

    text = describe_factors()
    return Answer(text, text)


@command(USE, files=True)
def design(
    folder: Annotated[Path, Parameter(help="Run directory of a run over designs.")],
    /,
    *values: Annotated[
        str,
        Parameter(
            metavar="NAME=VALUE",
            help="Value of a parameter in the unit of its name (default: of the base "
            "configuration).",
        ),
    ],
    out: Path,
    original: bool = False,
) -> Answer:
    r"""Take one design out of a run over designs: surrogate, configuration, surfaces, gait cycle.

    Parameters
    ----------
    folder, values
        Run directory, and values of parameters.
    out : Path
        Folder to write: knee.npz, the surrogate; design.toml, the configuration; femur.stl and
        tibia.stl, the surfaces in mm.
    original : bool
        Simulate the gait cycle also with the original model.

    Examples
    --------
    $ knee-contact design runs/family dish_sagittal_radius_mm=60 --out runs/a
    $ knee-contact design runs/family dish_coronal_radius_mm=24 \
        youngs_modulus_MPa=500 --out runs/b --original
    """
    from pipeline.design_space.designs import (
        BOTH,
        TrainedDesigns,
        design_lines,
        design_values,
        infeasible,
        outcome_of,
    )
    from pipeline.exchange.exports import write_design

    run = TrainedDesigns.open(folder)
    chosen = design_values(run, values)
    found = {name: each.value for name, each in chosen.items()}
    paths = [str(path) for path in write_design(run, found, out)]
    outcome = outcome_of(run.config, run.knee, found, BOTH if original else BOTH[1:])
    lines = [*design_lines(run, chosen, outcome), *paths]
    content = {"run": str(folder), "infeasible": infeasible(run.config, found), "files": paths}
    return Answer("\n".join(lines), {**outcome.content(), **content})


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
    $ knee-contact wear runs/implant --cycles 5e6 --blocks 5
    """
    from pipeline.studies.lifetime_wear import wear_insert, worn_table

    content = wear_insert(folder, cycles, blocks)
    return Answer(worn_table(content), content)


@command(USE, files=True)
def export(
    source: SurrogateSource,
    /,
    *,
    out: Path | None = None,
    prefix: Annotated[str, Parameter(metavar="NAME")] = "knee",
    fmu: Literal["2.0", "3.0"] | None = None,
    sources_only: bool = False,
    casadi: bool = False,
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
        Leave the compiled library out of the FMU, so that no C compiler is needed.
    casadi : bool
        Add NAME_wrench to the C source, which casadi.external loads with its derivatives.

    Examples
    --------
    $ knee-contact export runs/implant --out src --prefix knee
    $ knee-contact export runs/implant --fmu 3.0
    """
    from pipeline.exchange.exports import export_c, write_fmu

    if fmu and casadi:
        raise InputError("--casadi: expected C source, found --fmu; leave out --casadi or --fmu")
    if sources_only and not fmu:
        raise InputError("--sources-only: expected --fmu as well, found none; add --fmu 2.0 or 3.0")
    if fmu:
        files = [str(write_fmu(source, fmu, out, prefix, not sources_only))]
    else:
        files = [str(file) for file in export_c(source, out, prefix, casadi)]
    return _judged(files, {"files": files}, source, "surrogate")


def _judged(
    lines: list[str], content: dict[str, Any], source: Path, model: str, *last: str
) -> Answer:
    """Return an answer with the verdict on the model that it was made with."""
    from pipeline.reports.judgement import judgement_lines, stored_judgement

    found = stored_judgement(source, model)
    told = judgement_lines(found)
    if found is None and model == "surrogate":
        told = [f"verdict of {source}: unknown, as no report.json of its run is beside it"]
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
    length_unit : {"m", "mm", "inch"}
        Unit of the lengths.
    """

    columns: Annotated[
        str | None, Parameter(metavar="COORDINATE=COLUMN,...", help=_COLUMNS_HELP)
    ] = None
    angle_unit: Literal["deg", "rad"] | None = None
    length_unit: Literal["m", "mm", "inch"] = "m"

    def knee_columns(self) -> KneeColumns:
        """Return the columns as the readers and writers of motions expect them."""
        from dynamics.motion.knee_motion import KneeColumns, parse_columns

        names = parse_columns(self.columns) if self.columns else {}
        return KneeColumns(names, self.angle_unit, self.length_unit)


Columns = Annotated[ColumnOptions, Parameter(name="*")]
_DEFAULT_COLUMNS = ColumnOptions()


@command(USE, files=True)
def loads(
    source: SurrogateSource,
    motion: Path,
    /,
    *,
    out: Path,
    original: bool = False,
    bodies: tuple[str, str] = ("femur_distal_r", "tibia_proximal_r"),
    columns: Columns = _DEFAULT_COLUMNS,
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
        Femoral and tibial body of your OpenSim model, for the set-up file that .sto and .mot need.
    columns : ColumnOptions
        Columns of the motion and their units.

    Examples
    --------
    $ knee-contact loads runs/implant walk.mot --out loads.sto
    $ knee-contact loads runs/implant/knee.npz poses.csv --out loads.csv \
        --columns flexion=-kne,adduction=add,rotation=rot,tx=tx,ty=ty,tz=tz \
        --angle-unit deg --length-unit mm
    """
    from dynamics.motion.knee_motion import read_knee_poses
    from pipeline.exchange.loads_along import (
        check_some_trusted,
        contact_of,
        loads_along,
        write_loads,
    )
    from pipeline.flagged_instants import flagged_sentence

    if out.resolve() == motion.resolve():
        raise InputError(f"--out {out}: expected another file than the motion")
    names = columns.knee_columns()
    time, poses = read_knee_poses(motion, names)
    model = contact_of(source, original=original)
    table, flags = loads_along(model, time, poses)
    check_some_trusted(table, flags, motion)
    files = write_loads(table, out, bodies)
    pressure = table["total_peak_pressure_Pa"]
    content = {
        "file": str(out),
        "files": [str(file) for file in files],
        "rows": len(table),
        "flagged": int(table["flagged"].sum()),
        "flags": [
            {"message": str(each.flag), "time_s": each.time, "rows": each.samples} for each in flags
        ],
        "not_trusted": flagged_sentence(
            int(table["flagged"].sum()), len(table), [each.flag.kind for each in flags]
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


@command(USE, files=True)
def motion(
    folder: RunFolder,
    /,
    *,
    out: Path,
    model: Literal["surrogate", "original"] = "surrogate",
    columns: Columns = _DEFAULT_COLUMNS,
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

    Examples
    --------
    $ knee-contact motion runs/implant --out cycle.mot
    """
    from pipeline.exchange.loads_along import run_motion, write_motion

    table = run_motion(folder, model, columns.knee_columns())
    write_motion(table, out)
    rows = len(table.time)
    content = {"file": str(out), "rows": rows, "columns": list(table.names)}
    return _judged([counted(rows, "instant")], content, folder, model, f"motion: {out}")


@command(USE, files=True)
def tables(
    source: Annotated[Path, Parameter(help="Run directory, or Parquet file.")],
    /,
    *,
    out: Path,
    table: Annotated[tuple[str, ...], Parameter(metavar="NAME", consume_multiple=False)] = (),
    units: Literal["si", "people"] = "si",
) -> Answer:
    r"""Write sample tables and the simulated cycles of a run as CSV.

    Parameters
    ----------
    source : Path
        Run directory, or Parquet file.
    out : Path
        File to write; a folder for several tables.
    table : tuple of str
        Name of a table; repeat the option for more (default: all tables).
    units : {"si", "people"}
        SI units and radians, or degrees, mm, N mm, mm² and MPa.

    Examples
    --------
    $ knee-contact tables runs/implant --out tables
    $ knee-contact tables runs/implant --table simulation --units people \
        --out cycle.csv
    """
    from pipeline.reports.judgement import judgement_lines, stored_judgement
    from pipeline.store.samples import export_tables

    files = export_tables(source, out, wanted=table, people=units == "people")
    paths = [str(path) for path in files]
    found = stored_judgement(source) if source.is_dir() else None
    known = {} if found is None else {"verdict": found}
    return Answer("\n".join([*paths, *judgement_lines(found)]), {"files": paths, **known})
