"""Search of the designs of a run over designs: objectives, limits, and its front."""
