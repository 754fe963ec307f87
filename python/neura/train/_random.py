"""Where all random numbers of a run come from, as values that can be saved."""

import random
import sys

from .. import _neura


def generators(loader):
    """The generators that a loader's order comes from besides the default one, each once."""
    holders = (loader, getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None))
    found = {id(g): g for holder in holders if (g := getattr(holder, "generator", None)) is not None}
    return [g for g in found.values() if g is not _neura.default_generator]


def state(loader=None):
    """Of the default generator, of Python's and NumPy's, and of the loader's own."""
    held = {"neura": _neura.get_rng_state(), "python": random.getstate()}
    if "numpy.random" in sys.modules:
        name, words, *rest = sys.modules["numpy.random"].get_state()
        held["numpy"] = (name, [int(word) for word in words], *rest)
    if loader is not None:
        held["loader"] = [g.get_state() for g in generators(loader)]
    return held


def restore(held, loader=None):
    """Takes over what `state` gave."""
    _neura.set_rng_state(held["neura"])
    random.setstate(held["python"])
    if "numpy" in held:
        import numpy

        numpy.random.set_state(held["numpy"])
    if loader is not None:
        for generator, saved in zip(generators(loader), held.get("loader", ())):
            generator.set_state(saved)
