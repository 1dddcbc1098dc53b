"""Static analyses of a contact model: heights and tilts that carry given loads."""

from foundation.statics.height import StaticPose, StaticsError, pose_at_load

__all__ = ["StaticPose", "StaticsError", "pose_at_load"]
