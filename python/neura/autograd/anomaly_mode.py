"""Anomaly mode: an error in backward says which line of the program made the operation."""

from .. import _neura
from .grad_mode import _ANOMALY, _TRACE_ONLY, _Bits

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly(_Bits):
    """Turns anomaly mode on or off for this thread, from the call on; as a context manager, within the block.

    In anomaly mode every recorded operation remembers the Python lines that called it; an error in its derivative, or
    NaN in its gradients unless check_nan is False, names them. Slow: for debugging.

    mode (bool), check_nan (bool).
    """

    _mask = _ANOMALY | _TRACE_ONLY

    def __init__(self, mode, check_nan=True):
        self.mode, self.check_nan = bool(mode), bool(check_nan)
        self._value = (_ANOMALY if mode else 0) | (0 if check_nan or not mode else _TRACE_ONLY)
        self._before = _neura._exchange_modes(self._mask, self._value)

    def __enter__(self):
        pass

    def _again(self):
        return type(self)(self.mode, self.check_nan)

    def __call__(self, function):
        _neura._exchange_modes(self._mask, self._before)
        return super().__call__(function)


class detect_anomaly(_Bits):
    """A block, or a function decorated, in anomaly mode: set_detect_anomaly says what that is.

    check_nan (bool): whether NaN in a gradient is an error.
    """

    _mask = _ANOMALY | _TRACE_ONLY

    def __init__(self, check_nan=True):
        super().__init__()
        self.check_nan = bool(check_nan)
        self._value = _ANOMALY | (0 if check_nan else _TRACE_ONLY)

    def _again(self):
        return type(self)(self.check_nan)
