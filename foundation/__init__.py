"""The original models: poses, meshes, built-in implant, elastic foundation and finite elements.

Names are imported from the rooms, so that whoever uses a trained surrogate needs no contact model:

- `foundation.base`: poses (`foundation.base.pose`) and loads (`foundation.base.loads`)
- `foundation.surfaces`: meshes of bones, cartilage and implants
- `foundation.implant`: the built-in implant
- `foundation.elastic_foundation`: the elastic foundation and its spring laws
- `foundation.finite_element`: the elastic layer by finite elements
- `foundation.contact_laws`: analytical laws of a single contact
"""
