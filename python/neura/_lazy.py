"""Names of a package that load their module when they are first used."""

import sys


def names(package, homes):
    """__getattr__ and __dir__ of a package.

    homes (dict): modules by their name below the package, each with the names, in one text, that the package takes from
    it. A module right below is a name itself. `from package import *` gives all of them, unless the package says other.
    """
    space = vars(sys.modules[package])
    home_of = {home: home for home in homes if "." not in home}
    home_of.update((name, home) for home, given in homes.items() for name in given.split())

    def load(name):
        if name == "__all__":
            return [known for known in listed() if known[0] != "_"]
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        full = f"{package}.{home}"
        __import__(full)
        module = sys.modules[full]
        for given in homes[home].split():
            space[given] = getattr(module, given)
        return space.get(name, module)  # not there yet while the module itself is asking

    def listed():
        return sorted({*space, *home_of})

    return load, listed


def files(package, names, look_up):
    """Modules below a package under the names of PyTorch's files, whose names look_up(name) gives, or raises KeyError.

    They are found by import alone: where the package has an attribute of the same name, that stays what it is.
    """

    def get(name):
        try:
            return look_up(name)
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    for name in names.split():
        module = type(sys)(f"{package}.{name}", f"{package} under the name of PyTorch's file {name}.")
        module.__getattr__ = get
        sys.modules[module.__name__] = module
