"""Gradient recording on and off: no_grad, enable_grad, inference_mode, as context managers and decorators."""

from .. import _neura

_NO_GRAD, _INFERENCE, _ANOMALY, _TRACE_ONLY = 1, 4, 8, 32  # bits of _exchange_modes

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


def _wrap_generator(function, again):
    """The body runs in the mode, whoever resumes it does not."""
    import functools

    @functools.wraps(function)
    def inner(*args, **kwargs):
        generator = function(*args, **kwargs)
        try:
            with again():
                value = generator.send(None)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    with again():
                        generator.close()
                    raise
                except BaseException as error:
                    with again():
                        value = generator.throw(error)
                else:
                    with again():
                        value = generator.send(sent)
        except StopIteration as end:
            return end.value

    return inner


def _decorated(function, again):
    """A function or a generator whose every run is a block of what `again` gives."""
    import functools
    import inspect

    if inspect.isclass(function):
        import warnings

        text = "decorating a class changes only how it is called, not its methods; decorate the methods"
        warnings.warn(text, FutureWarning, stacklevel=3)
    elif inspect.isgeneratorfunction(function):
        return _wrap_generator(function, again)

    @functools.wraps(function)
    def inner(*args, **kwargs):
        with again():
            return function(*args, **kwargs)

    return inner


class _Mode:
    """A block of code in a mode: with, or decorating a function or a generator."""

    def __call__(self, function):
        return _decorated(function, self._again)

    def _again(self):
        return type(self)()


class _Bits(_Mode):
    _mask, _value = _NO_GRAD, 0

    def __init__(self):
        self._before = 0

    def __enter__(self):
        self._before = _neura._exchange_modes(self._mask, self._value)

    def __exit__(self, *error):
        _neura._exchange_modes(self._mask, self._before)


class _Grad(_Bits):
    def __new__(cls, function=None):
        self = super().__new__(cls)
        if function is None:
            return self
        self.__init__()
        return self(function)


class no_grad(_Grad):
    """Disables gradient recording: results have requires_grad=False, and nothing is saved for backward.

    A context manager, and a decorator of functions and generators, with or without parentheses. It holds for the
    thread that enters it.

    >>> x = neura.ones(2, requires_grad=True)
    >>> with neura.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _value = _NO_GRAD


class enable_grad(_Grad):
    """Enables gradient recording, also inside of no_grad; used like it."""


class set_grad_enabled(_Bits):
    """Turns gradient recording on or off, from the call on; as a context manager or decorator, within it.

    mode (bool): whether operations are recorded.
    """

    def __init__(self, mode):
        self._mode = bool(mode)
        self._before = _neura._exchange_modes(_NO_GRAD, 0 if mode else _NO_GRAD)

    def _again(self):
        return type(self)(self._mode)

    def __call__(self, function):
        _neura._exchange_modes(_NO_GRAD, self._before)
        return super().__call__(function)

    def __enter__(self):
        pass

    def __repr__(self):
        return f"{type(self).__name__}(mode={self._mode})"


class inference_mode(_Bits):
    """Disables gradient recording; tensors made within can never be recorded: the cheapest way to run a network.

    mode (bool): False switches the mode, and no_grad with it, off within.
    """

    _mask = _NO_GRAD | _INFERENCE

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if not callable(mode):
            return self
        self.__init__()
        return self(mode)

    def __init__(self, mode=True):
        super().__init__()
        self.mode = bool(mode)
        self._value = self._mask if mode else 0

    def _again(self):
        return type(self)(self.mode)
