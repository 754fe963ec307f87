"""What registering a hook returns."""

import itertools
import weakref

_ids = itertools.count(1)


class RemovableHandle:
    """Removes a hook again: handle.remove(), or a with block that it lasts for."""

    def __init__(self, hooks_dict, *, extra_dict=None):
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]
        self.id = next(_ids)
        self._dicts = [weakref.ref(d) for d in (hooks_dict, *extra)]

    def remove(self):
        """Forgets the hook; a second time, does nothing."""
        for ref in self._dicts:
            d = ref()
            if d is not None:
                d.pop(self.id, None)

    def __getstate__(self):
        return self.id, [ref() for ref in self._dicts]

    def __setstate__(self, state):
        self.id, dicts = state
        self._dicts = [weakref.ref({} if d is None else d) for d in dicts if d is not None]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()
