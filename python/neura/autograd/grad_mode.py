"""Whether operations are recorded: context managers that are decorators too."""

from .. import _neura


class _Mode:
    def __call__(self, function):
        import functools
        import inspect

        if inspect.isgeneratorfunction(function):
            raise NotImplementedError("modes: generator functions cannot be decorated; use the mode inside of them")

        @functools.wraps(function)
        def inner(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return inner


class _Grad(_Mode):
    _on = True

    def __new__(cls, function=None):
        return super().__new__(cls) if function is None else super().__new__(cls)(function)

    def _again(self):
        return type(self)()

    def __enter__(self):
        _neura._enter_grad(self._on)
        return self

    def __exit__(self, *error):
        _neura._leave_grad()


class no_grad(_Grad):
    """Nothing is recorded within."""

    _on = False


class enable_grad(_Grad):
    """Operations are recorded within, also inside no_grad."""


class set_grad_enabled(_Mode):
    """Recording on or off, from the call on; as a context manager, until it is left."""

    def __init__(self, mode):
        self._mode, self._before = mode, _neura.is_grad_enabled()
        _neura._set_grad_enabled(mode)

    def _again(self):
        return type(self)(self._mode)

    def __call__(self, function):
        _neura._set_grad_enabled(self._before)
        return super().__call__(function)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        _neura._set_grad_enabled(self._before)


class inference_mode(_Mode):
    """Nothing is recorded within, and what is made there never can be."""

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if callable(mode):
            self._mode = True
            return self(mode)
        return self

    def __init__(self, mode=True):
        self._mode = mode

    def _again(self):
        return type(self)(self._mode)

    def __enter__(self):
        _neura._enter_inference(self._mode)
        return self

    def __exit__(self, *error):
        _neura._leave_inference()
