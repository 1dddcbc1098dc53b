"""Small jobs for workers."""


def double(number):
    return 2 * number


def refuse(number):
    raise ValueError(f"no answer to {number}")
