"""Coefficients of Rosenbrock methods; motion.h states their meaning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foundation.base.checks import FloatArray
from foundation.core.library import Struct


@dataclass(frozen=True, eq=False)
class Tableau:
    """A method of s stages; all numbers are dimensionless [1]."""

    #: g.
    shift: float
    #: stages, couplings (s, s): a and C, strictly lower.
    stages: FloatArray
    couplings: FloatArray
    #: nodes, slopes (s,): c and d.
    nodes: FloatArray
    slopes: FloatArray
    #: H, (2 or 3, s).
    dense: FloatArray
    #: Of the result, and of the embedded one that the error is taken from.
    order: tuple[int, int]

    @cached_property
    def packed(self) -> Struct:
        """The struct `tableau`."""
        fields = {**vars(self), "sums": self.stages, "rows": len(self.dense)}
        return Struct("tableau", fields | {"stages": len(self.nodes), "order": self.order[1]})


def _lower(rows: list[list[float]]) -> FloatArray:
    size = len(rows) + 1
    matrix = np.zeros((size, size))
    for i, row in enumerate(rows, 1):
        matrix[i, : len(row)] = row
    return matrix


def _tableau(
    shift: float,
    stages: list[list[float]],
    couplings: list[list[float]],
    nodes: list[float],
    slopes: list[float],
    dense: list[list[float]],
    order: tuple[int, int],
) -> Tableau:
    size = len(couplings) + 1
    # The last stages are the embedded results: each starts at the end of the previous stage.
    while len(stages) < size - 1:
        stages = [*stages, [*stages[-1], 1.0]]
    return Tableau(
        shift,
        _lower(stages),
        _lower(couplings),
        np.array(nodes + [1.0] * (size - len(nodes))),
        np.array(slopes + [0.0] * (size - len(slopes))),
        np.array([row + [0.0] * (size - len(row)) for row in dense]),
        order,
    )


#: Order 4 with an embedded order 3, six stages, stiffly accurate, of full order on linear parabolic
#: problems and on differential-algebraic ones of index 1 (Steinebach 1995, Order reduction of
#: ROW-methods for DAEs and method of lines applications, TH Darmstadt preprint 1741; coefficients
#: as in OrdinaryDiffEq.jl).
RODAS4P = _tableau(
    0.25,
    [
        [3.0],
        [1.831036793486759, 0.4955183967433795],
        [2.304376582692669, -0.05249275245743001, -1.176798761832782],
        [-7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401],
    ],
    [
        [-12.0],
        [-8.791795173947035, -2.207865586973518],
        [10.81793056857153, 6.780270611428266, 19.53485944642410],
        [34.19095006749676, 15.49671153725963, 54.74760875964130, 14.16005392148534],
        [
            34.62605830930532, 15.30084976114473, 56.99955578662667, 18.40807009793095,
            -5.714285714285717,
        ],
    ],
    [0.0, 0.75, 0.21, 0.63],
    [0.25, -0.5, -0.023504, -0.0362],
    [
        [25.09876703708589, 11.62013104361867, 28.49148307714626, -5.664021568594133],
        [
            1.638054557396973, -0.7373619806678748, 8.477918219238990, 15.99253148779520,
            -1.882352941176471,
        ],
    ],
    (4, 3),
)  # fmt: skip

#: Order 5 with an embedded order 4, eight stages, otherwise as `RODAS4P` (Steinebach 2023, BIT
#: 63:27; coefficients as in OrdinaryDiffEq.jl).
RODAS5P = _tableau(
    0.21193756319429014,
    [
        [3.0],
        [2.849394379747939, 0.45842242204463923],
        [-6.954028509809101, 2.489845061869568, -10.358996098473584],
        [2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641],
        [
            -7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
            0.030198172008377946,
        ],
    ],
    [
        [-14.155112264123755],
        [-17.97296035885952, -2.859693295451294],
        [147.12150275711716, -1.41221402718213, 71.68940251302358],
        [165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306],
        [
            24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125,
            -0.6610691825249471,
        ],
        [
            30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783,
            -19.097331116725623, -28.087943162872662,
        ],
        [
            37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047,
            -40.06618937091002, -54.66780262877968, -9.48861652309627,
        ],
    ],
    [0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664],
    [
        0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734,
        2.325825639765069,
    ],
    [
        [
            25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204,
            0.524948541321073, 1.1241088310450404, 0.4272876194431874, -0.17202221070155493,
        ],
        [
            -9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796,
            20.176138334709044, 15.98066361424651, -6.789040303419874, -6.710236069923372,
        ],
        [
            11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643,
            -52.072871366152654, -59.78993625266729, -0.15582684282751913, 4.883087185713722,
        ],
    ],
    (5, 4),
)  # fmt: skip

#: Methods by name.
TABLEAUS = {"Rodas5P": RODAS5P, "Rodas4P": RODAS4P}
