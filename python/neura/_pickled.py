"""Files of whole modules and optimizers: Python's pickle of them and the bytes of their tensors, in a
safetensors file. Reading such a file runs code that it names, and so `load` does it with weights_only=False alone.
"""

import pickle

from . import _neura
from ._neura import errors

KEY = "neura.pickle"  # of the metadata: the class of what was pickled


def _bytes(data):
    return _neura.frombuffer(data, dtype=_neura.uint8) if len(data) else _neura.empty(0, dtype=_neura.uint8)


def tensors_of(obj):
    """What a file holds of obj, by name. TypeError where something in it cannot be pickled."""
    buffers = []
    try:
        data = pickle.dumps(obj, protocol=5, buffer_callback=buffers.append)
    except (pickle.PicklingError, AttributeError, TypeError) as e:
        raise TypeError(f"save: expected a {_name(obj)} that can be pickled, got: {e}; save its state_dict()") from e
    return {"pickle": _bytes(bytearray(data)), **{f"bytes.{i}": _bytes(b.raw()) for i, b in enumerate(buffers)}}


def _name(obj):
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def facts_of(obj):
    """The metadata of its file."""
    return {KEY: _name(obj)}


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, buffers, place):
        super().__init__(file, buffers=buffers)
        self._place = place

    def find_class(self, module, name):
        found = super().find_class(module, name)
        if found is not _neura._rebuild_storage:
            return found
        return lambda data, saved: found(data, str(self._place(saved)))


def _placing(location):
    """The function from a saved device to the new one."""
    if location is None:
        return lambda saved: saved
    if isinstance(location, dict):
        return {str(old): new for old, new in location.items()}.get
    return location if callable(location) else lambda saved: location


def rebuilt(name, tensors, kind, location, trusted):
    """The object of a file, of which `kind` is the class. FormatError unless it is trusted."""
    if not trusted:
        raise errors.FormatError(
            f"{name}: expected tensors and plain values, got a pickled {kind}, whose loading may run any code; pass "
            "weights_only=False if you trust whoever wrote it, or save a state_dict()"
        )
    import io

    data = tensors.get("pickle")
    if data is None or data.dtype != _neura.uint8:
        raise errors.FormatError(f"{name}: expected the pickle of a {kind}, got none")
    buffers = [tensors[f"bytes.{i}"].cpu().numpy() for i in range(len(tensors) - 1) if f"bytes.{i}" in tensors]
    place = _placing(location)
    try:
        return _Unpickler(io.BytesIO(data.cpu().numpy().tobytes()), buffers, lambda saved: place(saved) or saved).load()
    except (pickle.UnpicklingError, EOFError, IndexError) as e:
        raise errors.FormatError(f"{name}: the pickle of a {kind} is damaged: {e}") from e
