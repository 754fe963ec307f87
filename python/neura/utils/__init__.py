"""What goes around training: loading data, checkpoints."""


def __getattr__(name):
    if name in ("checkpoint", "data", "dlpack"):  # loaded when first needed
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
