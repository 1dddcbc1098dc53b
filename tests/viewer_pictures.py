"""Pictures of the 3-D view of a page in a browser."""

import io

import numpy as np
from PIL import Image


def pixels(page):
    """Return the picture of the 3-D view, (H, W, 3)."""
    seen = page.locator("#viewer canvas").screenshot()
    return np.asarray(Image.open(io.BytesIO(seen)).convert("RGB"), dtype=int)


def changed(before, after):
    """Return how many pixels are clearly another colour."""
    return int((np.abs(after - before).max(axis=-1) > 24).sum())
