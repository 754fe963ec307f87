"""Options of printing that hold within a block."""

import contextlib

from ._neura import get_printoptions, set_printoptions


@contextlib.contextmanager
def printoptions(**kwargs):
    """set_printoptions(**kwargs) inside a `with` block; what was set before holds again after it.

    >>> import neura
    >>> with printoptions(precision=2):
    ...     print(neura.tensor([1.23456]))
    tensor([1.23])
    """
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)
