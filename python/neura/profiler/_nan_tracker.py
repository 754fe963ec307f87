"""Which operation made the first NaN."""

from .._neura import _profile as _native
from ._profile import _Modules


class NanFinding:
    """The first operation with NaN in its result.

    operation (str); backward (bool); module (str: the path of the module that called it, "" outside of modules and in
    backward); result (str) and operands (list of str): dtype, sizes, the range of finite values, how many are not
    finite.
    """

    def __init__(self, values, module):
        self.operation, self.backward, self.result, self.operands, self._text = values
        self.module = module

    def __str__(self):
        return (f"in {self.module}: " if self.module else "") + self._text


class NanTracker:
    """Finds the first operation of a block, forward or backward, whose result holds NaN or infinity.

    infinities (bool): whether an infinity counts. Every result is read once more, and waited for on a device: for
    debugging. Only this thread's operations are seen, and not what is traced.

    >>> with neura.profiler.NanTracker() as tracker:
    ...     y = neura.tensor([1.0, -1.0]).log() * 2
    >>> tracker.found.operation
    'log'
    """

    def __init__(self, infinities=True):
        self._infinities, self._tracker, self._modules, self._found = bool(infinities), None, None, None

    def __enter__(self):
        self._found = None
        self._tracker = _native.NanTracker(self._infinities)
        self._modules = _Modules(self._look)
        return self

    def __exit__(self, *error):
        self._modules.remove()
        self._tracker.stop()
        self._look("")
        self._tracker = self._modules = None

    def _look(self, module):
        values = self._tracker.found() if self._found is None else None
        if values:
            self._found = NanFinding(values, "" if values[1] else module)

    @property
    def found(self):
        """The NanFinding, or None."""
        if self._tracker:
            self._look(self._modules.innermost())
        return self._found
