"""What goes around training: loading data."""


def __getattr__(name):
    if name == "data":  # loaded when first needed
        from importlib import import_module

        return import_module(__name__ + ".data")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
