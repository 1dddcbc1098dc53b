"""Keys that configurations no longer have, each with the reason, for the error about such a key."""

from __future__ import annotations

#: Why a key or section of a study is no longer needed, by its dotted name.
REMOVED = {
    "contact.finite_element.precision": "condensed compliances are stored in float64",
    "contact.finite_element.solver": "the condensation has one solver",
    "contact.search_depth_mm": "the search for contact ends at an indentation of 20 mm",
    "surrogate.kriging.likelihood_points": "the correlation lengths are fitted to 400 samples",
    "surrogate.poly_fourier": "[surrogate.polynomial] has the settings of both families",
    "surrogate.network.base_degree": "the polynomial of a network has total degree 4",
    "surrogate.pose_at": "the position of the centre of the condyle is the input",
    "surrogate.reference_load_N": "no formulation has a reference load",
    "surrogate.touch_points": "the height of first contact is not learnt apart",
    "validation.formulation_samples": "[surrogate] compare names the surrogates to compare",
    "comparison.weights": "a comparison has the weights of table 2 of Lehtoranta (2011), which the "
    "reader of its page can change",
    "comparison.modified_f": 'set f in [contact], with law = "modified"',
    "comparison.modified_m": 'set m in [contact], with law = "modified"',
    "comparison.modified_reference_indentation_mm": "set reference_indentation_mm in [contact], "
    'with law = "modified"',
}
