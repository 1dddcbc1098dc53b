"""The original models: poses, surfaces, spring laws, contact loads.

    from foundation import ElasticFoundation, LinearLaw, Pose, load_mesh

Names are imported when they are first used, so that surrogates need no contact model.
"""

from foundation.base.exports import lazy_names

_HOMES = {
    "CompartmentLoads": "base.loads",
    "CondylarImplant": "implant.condylar_implant",
    "ContactLoads": "base.loads",
    "ElasticFoundation": "elastic_foundation.model",
    "ElasticLayer": "finite_element.layer",
    "FiniteElementContact": "finite_element.model",
    "LinearLaw": "elastic_foundation.laws",
    "LogarithmicLaw": "elastic_foundation.laws",
    "MeshError": "surfaces.mesh",
    "MeshWarning": "surfaces.mesh",
    "ModifiedLaw": "elastic_foundation.laws",
    "PlaneBase": "finite_element.layer",
    "Pose": "base.pose",
    "SeriesLaw": "elastic_foundation.laws",
    "SolidBase": "finite_element.layer",
    "SpringLaw": "elastic_foundation.laws",
    "ThicknessBase": "finite_element.layer",
    "TriangleMesh": "surfaces.mesh",
    "load_mesh": "surfaces.mesh",
}
__all__ = sorted(_HOMES)
__getattr__ = lazy_names(__name__, _HOMES)
