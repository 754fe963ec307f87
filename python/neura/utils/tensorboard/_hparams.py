"""Settings of a run and what it reached with them, as TensorBoard's plug-in "hparams" reads them."""

from ..._neura import errors
from . import _records as r

_STRING, _BOOL, _FLOAT = 1, 2, 3  # the plug-in's types


def _value(x, name):
    """The type, and a google.protobuf.Value."""
    if isinstance(x, bool):
        return _BOOL, r.integer(4, x)
    if isinstance(x, (int, float)):
        return _FLOAT, r.double(2, float(x))
    if isinstance(x, str):
        return _STRING, r.message(3, x)
    raise errors.DTypeError(f"add_hparams: expected {name} to be a bool, a number or a str, got {type(x).__name__}")


def hparams(settings, metrics, domains):
    """Three summaries: the experiment, the run's settings, and its end."""
    experiment, start = b"", b""
    for name, x in settings.items():
        kind, value = _value(x, name)
        info = r.message(1, name) + r.integer(4, kind)
        if name in domains:
            info += r.message(5, b"".join(r.message(1, _value(v, name)[1]) for v in domains[name]))
        experiment += r.message(4, info)
        start += r.message(1, r.message(1, name) + r.message(2, value))
    for name in metrics:
        experiment += r.message(5, r.message(1, r.message(2, name)))

    def summary(tag, field, content):
        return r.value(tag, r.plugin("hparams", r.message(field, content)))

    return [
        summary("_hparams_/experiment", 2, experiment),
        summary("_hparams_/session_start_info", 3, start),
        summary("_hparams_/session_end_info", 4, r.integer(1, 1)),
    ]
