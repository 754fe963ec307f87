"""Python methods for classes that C++ makes."""

_OWN = {"__module__", "__dict__", "__weakref__", "__doc__", "__qualname__"}


def extend(cls, *sources):
    """Gives `cls` everything that the classes `sources` define."""
    for source in sources:
        for name, value in vars(source).items():
            if name not in _OWN:
                setattr(cls, name, value)
