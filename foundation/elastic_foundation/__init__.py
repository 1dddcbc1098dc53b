"""The elastic foundation: spring laws, the bed of springs, contact loads, worn surfaces."""

from foundation.elastic_foundation.laws import (
    CoupledLaw,
    LinearLaw,
    LogarithmicLaw,
    ModifiedLaw,
    SeriesLaw,
    SpringLaw,
)
from foundation.elastic_foundation.model import ElasticFoundation

__all__ = [
    "CoupledLaw",
    "ElasticFoundation",
    "LinearLaw",
    "LogarithmicLaw",
    "ModifiedLaw",
    "SeriesLaw",
    "SpringLaw",
]
