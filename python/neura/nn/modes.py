"""The mode of a model's modules: training or evaluation."""

import contextlib


@contextlib.contextmanager
def in_mode(model, training):
    """Every module is in this mode; afterwards each is in the one in which it was."""
    before = [(m, m.training) for m in model.modules()]
    model.train() if training else model.eval()
    try:
        yield
    finally:
        for module, was in before:
            module.training = was
