"""The schema of a configuration: every field, its default, unit and description in one place.

Keys carry their unit. Unknown keys are errors; values are not coerced.
"""

from __future__ import annotations

import inspect
import json
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic.fields import FieldInfo

from foundation.errors import InputError
from pipeline.config.schema_base import Finite, NonNegative, Positive, Section
from pipeline.config.simulation_schema import SimulationConfig


def _ascending(limits: tuple[float, float]) -> tuple[float, float]:
    if not limits[0] < limits[1]:
        raise InputError("expected [low, high] with low < high")
    return limits


Range = Annotated[tuple[Finite, Finite], AfterValidator(_ascending)]
Family = Literal["kriging", "polynomial", "poly_fourier", "network"]
Formulation = Literal[
    "inverted", "energy", "root", "touch_stiffness", "load_stiffness", "power", "direct",
    "knee_direct", "knee_power", "knee_inverted_one", "knee_inverted_two",
]  # fmt: skip
Design = Literal["lhs", "lhs_optimised", "sobol", "halton", "hammersley", "full_factorial"]


class ExecutionConfig(Section):
    """Where work is carried out in parallel."""

    workers: int = Field(
        0, ge=0, description="processes; 0 takes one per core; a scheduler has its own workers"
    )
    backend: Literal["loky", "dask"] = Field(
        "loky", description="processes of this machine by loky, or workers of Dask"
    )
    scheduler: str = Field(
        "",
        pattern=r"^([a-z]+://\S+:\d+)?$",
        description="address of a Dask scheduler, tcp://host:8786; without one, backend dask "
        "starts a cluster on this machine",
    )

    @model_validator(mode="after")
    def _scheduler_is_of_dask(self) -> Self:
        if self.scheduler and self.backend != "dask":
            raise InputError(
                f'scheduler: expected backend = "dask" with an address, found "{self.backend}"'
            )
        return self


class RunConfig(ExecutionConfig):
    """What the run is called and how it is carried out."""

    name: str = Field(
        "implant", pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", description="name of the run"
    )
    seed: int = Field(1, ge=0, description="seed of the training design")
    chunk: int = Field(50, ge=1, description="samples evaluated and stored at a time")


class MeshConfig(Section):
    """One triangulated surface, open or closed."""

    file: str = Field(description="path; relative to the config file, or $KNEE_DATA/...")
    unit: Literal["m", "cm", "mm", "um"] = Field("m", description="unit of the file")
    axes: tuple[str, str, str] = Field(
        ("x", "y", "z"), description="signed file axis of anterior, superior and the body's right"
    )


class OriginalConfig(Section):
    """What the surrogate is made of: an original model, or a table of poses and loads.

    With a table [knee] and [contact] are left out; what [space], [design] and [validation] do not
    say follows from its rows.
    """

    kind: Literal["model", "table"] = Field(
        "model", description="the elastic foundation of [knee] and [contact], or a table"
    )
    file: str | None = Field(
        None,
        description="table of poses and loads (CSV or .parquet, docs/table_original.md); relative "
        "to the config file, or $KNEE_DATA/...",
    )
    side: Literal["right", "left"] = Field(
        "right",
        description="a left knee's table whose third axis is the body's right is mirrored; one "
        "with lateral positive is given as right",
    )

    @model_validator(mode="after")
    def _file_of_a_table(self) -> Self:
        if self.kind == "table" and self.file is None:
            raise InputError('kind = "table" needs file, a table of poses and loads')
        if self.kind == "model" and (self.file is not None or self.side != "right"):
            raise InputError('file and side need kind = "table"')
        return self


class ImplantConfig(Section):
    """The built-in condylar implant."""

    condyles: Literal["j_curve", "single_radius"] = Field(
        "j_curve", description="sagittal profile: three tangent arcs, or one radius"
    )
    radius_mm: Positive = Field(25.0, description="sagittal radius of single_radius")
    dish_sagittal_radius_mm: Positive = Field(45.0, description="of the plateaus")
    dish_coronal_radius_mm: Positive = Field(23.0, description="of the plateaus")
    dish_half_length_mm: Positive = Field(22.0, description="of the plateaus")
    edge_mm: Positive = Field(0.75, description="edge length of the insert's triangles")
    femur_edge_mm: Positive = Field(1.0, description="edge length of the femoral triangles")


class KneeConfig(Section):
    """Which knee: the built-in implant, or two meshes."""

    source: Literal["builtin", "meshes"] = Field("builtin", description="where the shapes are from")
    side: Literal["right", "left"] = Field(
        "right", description="a left knee is mirrored to a right one when its meshes are loaded"
    )
    implant: ImplantConfig = Field(default_factory=ImplantConfig)
    femur: MeshConfig | None = Field(None, description="femoral articular surface")
    tibia: MeshConfig | None = Field(None, description="tibial articular surface")
    tibia_solid: MeshConfig | None = Field(
        None, description="closed solid below it, which the thickness is measured on"
    )
    split_lateral_mm: Finite | None = Field(
        None, description="where the compartments part (lateral coordinate); found if not given"
    )

    @model_validator(mode="after")
    def _meshes_given(self) -> Self:
        if self.source == "meshes" and (self.femur is None or self.tibia is None):
            raise InputError('source = "meshes" needs [knee.femur] and [knee.tibia]')
        if self.source == "builtin" and (self.femur or self.tibia or self.tibia_solid):
            raise InputError(
                '[knee.femur], [knee.tibia] and [knee.tibia_solid] need source = "meshes"'
            )
        if self.source == "builtin" and (self.side, self.split_lateral_mm) != ("right", None):
            raise InputError(
                'side and split_lateral_mm need source = "meshes"; the built-in implant is a right '
                "one and knows its compartments"
            )
        return self


#: A layer given in metres by mistake would be thinner, one in micrometres thicker [mm].
THICKNESS_RANGE = (0.1, 100.0)
Thickness = Annotated[
    float, Field(ge=THICKNESS_RANGE[0], le=THICKNESS_RANGE[1], allow_inf_nan=False)
]


class LayerConfig(Section):
    """Elastic layer of one body.

    The layer acts in the springs, which stand on the tibia: a table gives the thickness that the
    springs meet at each tibial vertex, of the femoral layer too.
    """

    law: Literal["linear", "modified", "logarithmic"] = Field("linear", description="spring law")
    youngs_modulus_MPa: Positive = Field(463.0, le=1e6, description="Young's modulus")
    poissons_ratio: float = Field(0.46, gt=-1.0, lt=0.5, description="Poisson's ratio")
    thickness_mm: Thickness | Literal["underside"] = Field(
        "underside",
        description="layer thickness, or measured along minus the tibial normal to the underside "
        "of the built-in insert or of [knee.tibia_solid]",
    )
    thickness_file: str | None = Field(
        None,
        description="in its place: CSV file with a column thickness_mm, one row per vertex of the "
        "tibial mesh as loaded (load_mesh); relative to the config file, or $KNEE_DATA/...",
    )
    f: float = Field(float("inf"), gt=1.0, description="f of the modified law")
    m: Positive = Field(1.0, description="exponent of the modified law")
    reference_indentation_mm: Positive = Field(1.0, description="dref of the modified law")

    @property
    def measured(self) -> bool:
        """Whether the thickness is measured to an underside."""
        return self.thickness_mm == "underside" and self.thickness_file is None

    @model_validator(mode="after")
    def _one_thickness(self) -> Self:
        if self.thickness_file is not None and self.thickness_mm != "underside":
            raise InputError(
                "thickness_mm and thickness_file: expected one of them, found "
                f"{self.thickness_mm!r} and {self.thickness_file!r}"
            )
        return self


class ContactConfig(LayerConfig):
    """The original model's springs: the tibial layer, and the femoral one if it is elastic."""

    surface: Literal["curved", "flat"] = Field(
        "curved",
        description="both surfaces between their vertices: smooth patches with a quadratic field "
        "of indentation, or plane facets with one spring each",
    )
    conservative: bool = Field(
        False,
        description="loads as the gradient of the stored energy, instead of each spring's along "
        "its own normal; not with the modified law of finite f",
    )
    search_depth_mm: Positive = Field(20.0, description="largest indentation looked for")
    femur_layer: LayerConfig | None = Field(None, description="second elastic body, in series")


class PathConfig(Section):
    """Reference path over flexion that the sampled offsets count from."""

    kind: Literal["settled", "table"] = Field(
        "settled", description="found by settling the knee simulator, or given as a table"
    )
    step_deg: Positive = Field(10.0, description="distance of the settled knots in flexion")
    axial_force_N: Positive = Field(1000.0, description="axial force of settling")
    flexion_deg: tuple[Finite, ...] = Field((), description="knots of the table")
    adduction_deg: tuple[Finite, ...] = ()
    rotation_deg: tuple[Finite, ...] = ()
    anterior_mm: tuple[Finite, ...] = ()
    superior_mm: tuple[Finite, ...] = ()
    lateral_mm: tuple[Finite, ...] = ()

    @model_validator(mode="after")
    def _table_complete(self) -> Self:
        columns = ("adduction_deg", "rotation_deg", "anterior_mm", "superior_mm", "lateral_mm")
        if self.kind == "table":
            for name in columns:
                if len(getattr(self, name)) != len(self.flexion_deg):
                    raise InputError(
                        f"{name}: expected one value per flexion_deg ({len(self.flexion_deg)}), "
                        f"found {len(getattr(self, name))}"
                    )
            knots = self.flexion_deg
            if not knots or any(b <= a for a, b in pairwise(knots)):
                raise InputError(
                    f"flexion_deg: expected increasing knots for a table, found {list(knots)}"
                )
        elif any(getattr(self, name) for name in ("flexion_deg", *columns)):
            raise InputError('the columns of a path need kind = "table"')
        return self


class SpaceConfig(Section):
    """Where the samples are drawn."""

    flexion_deg: Range = Field((-3.0, 63.0), description="range of flexion")
    adduction_deg: Positive = Field(0.7, description="half width about the path")
    rotation_deg: Positive = Field(8.0, description="half width about the path")
    anterior_mm: Positive = Field(5.0, description="half width about the path")
    lateral_mm: Positive = Field(0.6, description="half width about the path")
    load_N: Range = Field((2.0, 3000.0), description="axial load of one compartment")
    path: PathConfig = Field(default_factory=PathConfig)

    @model_validator(mode="after")
    def _load_positive(self) -> Self:
        if self.load_N[0] <= 0.0:
            raise InputError(f"load_N: expected 0 < low < high, found {list(self.load_N)}")
        return self


class DesignConfig(Section):
    """Stages a to f: candidates, first samples, and rounds of screening and sampling.

    Per compartment. Stages c to f are gone through once a round; each round fits the surrogates
    to all samples so far.
    """

    kind: Design = Field("sobol", description="design of experiments")
    candidates: int = Field(
        4096,
        ge=20,
        description="m, candidates per compartment (a full factorial rounds it up to its grid)",
    )
    first: int = Field(400, ge=10, description="n, those evaluated in stage b")
    rounds: int = Field(
        3, ge=1, le=20, description="how often the surrogates are fitted and samples added"
    )
    budget: int = Field(
        1000, ge=0, description="most samples evaluated; 0 takes all that stage e keeps"
    )
    infill: Literal["sequence", "error"] = Field(
        "error",
        description="which kept candidates a round adds: the next of the design, or those where "
        "the predicted error of the load is largest (Kriging)",
    )
    wanted_error_percent: NonNegative = Field(
        0.0,
        description="no further round when the leave-one-out error of the axial load at a given "
        "pose, RMS over the largest load, is below; 0 never stops",
    )
    family: Literal["kriging", "polynomial"] = Field(
        "kriging", description="family of the surrogates of stage c"
    )
    gait_samples: int = Field(
        0,
        ge=0,
        description="further samples along gait cycles with varied inputs, simulated with the last "
        "round's surrogates",
    )
    domain_samples: int = Field(
        1000,
        ge=0,
        description="samples of the whole box per compartment that no surrogate is fitted to: they "
        "tell where it can be trusted; without, the bounds of [feasibility] alone do",
    )
    load_spread: Positive = Field(
        1.0,
        description="the load's root of this degree is spread evenly: 1 the load itself, 2 its "
        "square root, more for more samples at low loads",
    )
    follow: Literal["load", "pose"] = Field(
        "load",
        description="stage f finds the height that carries the drawn load, or evaluates once at "
        "the predicted height and takes the load found there",
    )

    @model_validator(mode="after")
    def _first_below(self) -> Self:
        if self.first >= self.candidates:
            raise InputError(
                f"first: expected fewer than candidates ({self.candidates}), found {self.first}"
            )
        if 0 < self.budget < self.first:
            raise InputError(f"budget: expected at least first ({self.first}), found {self.budget}")
        if self.infill == "error" and self.family != "kriging":
            raise InputError('infill = "error" needs family = "kriging"')
        return self


class FeasibilityConfig(Section):
    """Stage e: bounds of what gait can produce, as predicted by the first surrogates."""

    ap_ratio: Positive = Field(0.3, description="largest size of the AP force over the axial load")
    ml_ratio: Positive = Field(0.15, description="largest size of the ML force over the axial load")
    peak_pressure_MPa: Positive = Field(60.0, description="largest peak pressure")
    load_N: Range = Field((0.0, 1e9), description="axial load of one compartment")
    margin: NonNegative = Field(
        0.1, description="slack on every bound, as a fraction, so that the border is learnt too"
    )
    doubt: NonNegative = Field(
        2.0,
        description="standard errors of a prediction that a candidate has to break a bound by, "
        "beside the margin, to be dropped",
    )
    outside_weight: float = Field(
        0.0,
        ge=0.0,
        lt=1.0,
        description="weight of evaluated samples outside the bounds in the fit of a network; 0 "
        "leaves them out, as all other families do",
    )


class KrigingConfig(Section):
    """Kriging."""

    correlation: Literal["auto", "mixed", "squared_exponential", "matern52", "matern32"] = Field(
        "auto",
        description="correlation function; mixed is Matérn 5/2 along one sheared direction and "
        "squared exponential along the others; auto takes the likeliest",
    )
    trend: Literal["auto", "constant", "linear", "quadratic"] = Field(
        "auto", description="trend; auto is quadratic where the samples carry it, else linear"
    )
    starts: int = Field(1, ge=1, description="starts of the likelihood search")
    likelihood_points: int = Field(400, ge=20, description="samples the lengths are fitted on")
    nugget: Annotated[tuple[Positive, Positive], AfterValidator(_ascending)] = Field(
        (1e-8, 1e-3), description="bounds of the estimated nugget, of the process variance"
    )


class PolynomialConfig(Section):
    """Polynomial response surface."""

    basis: Literal["anisotropic", "total_degree"] = Field(
        "anisotropic",
        description="terms chosen by marginal likelihood, or all of a total degree",
    )
    terms: int = Field(462, ge=7, le=3003, description="most terms of the anisotropic basis")
    degree: tuple[Annotated[int, Field(ge=1, le=8)], ...] = Field(
        (3, 4, 5), description="total degrees among which the leave-one-out error chooses"
    )
    ridge: tuple[NonNegative, ...] = Field(
        (1e-8, 1e-6, 1e-4), description="ridge penalties among which it chooses"
    )


class PolyFourierConfig(PolynomialConfig):
    """Fourier series in flexion times polynomials in the other variables."""

    period_ratio: float = Field(
        2.0, ge=1.0, allow_inf_nan=False, description="period over the range of flexion"
    )


class NetworkConfig(Section):
    """Two-layer tanh networks on a polynomial of low degree, for tens of thousands of samples."""

    hidden: int = Field(96, ge=4, le=512, description="units of each layer")
    networks: int = Field(1, ge=1, le=8, description="networks averaged")
    base_degree: int = Field(4, ge=1, le=6, description="total degree of the polynomial")
    steps: int = Field(220_000, ge=100, description="training steps, shared out among the networks")


class SurrogateConfig(Section):
    """Stages c and g."""

    formulation: Formulation = Field("inverted", description="what is learnt")
    family: Family = Field("kriging", description="by what it is learnt")
    pose_at: Literal["condyle", "femur"] = Field(
        "condyle", description="where poses are counted: the condyle's centre, the femoral origin"
    )
    load_degree: float = Field(
        2.0, ge=1.0, le=4.0, description="p, the power of the depth that the load grows with"
    )
    reference_load_N: Positive = Field(
        40.0, description="the small load of load_stiffness (touch_stiffness: first contact)"
    )
    touch_points: bool = Field(
        False, description="learn the height of first contact beside (inverted, root)"
    )
    compare: tuple[tuple[Formulation, Family], ...] = Field(
        (("inverted", "polynomial"), ("inverted", "poly_fourier")),
        description="others fitted to the same samples and reported beside it",
    )
    kriging: KrigingConfig = Field(default_factory=KrigingConfig)
    polynomial: PolynomialConfig = Field(default_factory=PolynomialConfig)
    poly_fourier: PolyFourierConfig = Field(default_factory=PolyFourierConfig)
    network: NetworkConfig = Field(default_factory=NetworkConfig)


class ValidationConfig(Section):
    """Held-out validation."""

    points: int = Field(300, ge=20, description="held-out poses per compartment")
    kind: Design = Field("lhs", description="design of the held-out set")
    load_spread: Positive = Field(
        1.0, description="how the held-out loads are spread; see [design]"
    )
    formulation_samples: int = Field(
        1000,
        ge=50,
        description="most samples per compartment that `validate --formulations` learns from",
    )
    folds: int = Field(
        0,
        ge=0,
        le=20,
        description="folds of a cross-validation of stage g's fits, each fitted again; 0: the "
        "leave-one-out (or, of networks, held-back) residuals alone",
    )
    seed: int = Field(20_240_001, ge=0, description="seed of the held-out set alone")

    @model_validator(mode="after")
    def _folds_enough(self) -> Self:
        if self.folds == 1:
            raise InputError("folds: expected 0 or at least 2, found 1")
        return self


#: Formulations that are learnt from samples at any poses.
_FROM_ROWS_ALONE = ("inverted", "root", "power", "direct")


class Config(Section):
    """A whole study."""

    run: RunConfig = Field(default_factory=RunConfig)
    original: OriginalConfig = Field(default_factory=OriginalConfig)
    knee: KneeConfig = Field(default_factory=KneeConfig)
    contact: ContactConfig = Field(default_factory=ContactConfig)
    space: SpaceConfig = Field(default_factory=SpaceConfig)
    design: DesignConfig = Field(default_factory=DesignConfig)
    feasibility: FeasibilityConfig = Field(default_factory=FeasibilityConfig)
    surrogate: SurrogateConfig = Field(default_factory=SurrogateConfig)
    validation: ValidationConfig = Field(default_factory=ValidationConfig)
    simulation: SimulationConfig = Field(default_factory=SimulationConfig)

    @model_validator(mode="after")
    def _thickness_known(self) -> Self:
        femoral = self.contact.femur_layer
        no_solid = self.knee.source == "meshes" and self.knee.tibia_solid is None
        if self.contact.measured and no_solid:
            raise InputError(
                'contact.thickness_mm: "underside" needs the closed solid [knee.tibia_solid] or '
                "the built-in implant, expected a thickness in mm or a thickness_file"
            )
        if femoral is not None and femoral.measured:
            raise InputError(
                'contact.femur_layer.thickness_mm: "underside" is that of the tibia or the '
                "built-in insert, expected a thickness in mm or a thickness_file"
            )
        return self

    @model_validator(mode="after")
    def _a_table_suffices(self) -> Self:
        if self.original.kind == "model":
            return self
        asked = self.surrogate
        pairs = ((asked.formulation, asked.family), *asked.compare)
        wanting = [name for name, _ in pairs if name not in _FROM_ROWS_ALONE]
        for told, wrong in (
            (
                "knee and contact: expected none, they describe an original model",
                (self.knee, self.contact) != (KneeConfig(), ContactConfig()),
            ),
            (
                "design.gait_samples: expected 0, samples of their own need an original model",
                self.design.gait_samples > 0,
            ),
            (
                f"surrogate: expected formulations of {', '.join(_FROM_ROWS_ALONE)}, found "
                f"{', '.join(wanting)}, which needs samples of its own",
                bool(wanting),
            ),
            (
                "surrogate.touch_points: expected false, they need an original model",
                asked.touch_points,
            ),
        ):
            if wrong:
                raise InputError(f'{told}; original.kind is "table"')
        return self


def describe_schema(root: type[BaseModel] = Config) -> str:
    """Return every key with type, default and description, as a Markdown table per section."""
    lines: list[str] = []

    def section(model: type[BaseModel], head: str) -> None:
        lines.extend([f"## [{head}]" if head else "# Configuration", "", _text(model), ""])
        nested = {k: t for k, f in model.model_fields.items() if (t := section_of(f.annotation))}
        plain = [k for k in model.model_fields if k not in nested]
        if plain:
            lines.extend(["| key | default | limits | meaning |", "|---|---|---|---|"])
            lines.extend(_row(key, model.model_fields[key]) for key in plain)
            lines.append("")
        for key, inner in nested.items():
            section(inner, f"{head}.{key}" if head else key)

    section(root, "")
    return "\n".join(lines).rstrip() + "\n"


def _text(model: type[BaseModel]) -> str:
    return inspect.cleandoc(model.__doc__ or "")


def section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the section that a field holds, None if it holds a plain value."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _row(key: str, field: FieldInfo) -> str:
    if field.is_required():
        default = "required"
    else:
        value = field.get_default(call_default_factory=True)
        default = "none" if value is None else f"`{json.dumps(value).replace('Infinity', 'inf')}`"
    choices = [str(a) for a in get_args(field.annotation) if isinstance(a, str)]
    text = field.description or ""
    if choices:
        text += f" ({', '.join(choices)})"
    limits = " and ".join(
        f"{sign} {getattr(item, name):g}"
        for item in field.metadata
        for name, sign in (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
        if hasattr(item, name)
    )
    return f"| `{key}` | {default} | {limits} | {text.strip()} |"
