"""Small jobs for workers."""


def double(number):
    """Return twice a number."""
    return 2 * number


def refuse(number):
    """Raise an error of the job itself."""
    raise ValueError(f"no answer to {number}")
