"""What the examples share: options of the command line. Not part of the package; a program of your own needs none of
it."""

import argparse

import neura


def options(text, **more):
    """Reads --device, --quick and `more`: further options by name, with their defaults. `text` is a module's docstring,
    which --help prints."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", type=neura.device, help="cpu; cuda or cuda:1 in builds with CUDA")
    parser.add_argument("--quick", action="store_true", help="less of everything: a few seconds, for tests")
    for name, default in more.items():
        parser.add_argument("--" + name.replace("_", "-"), default=default, type=type(default))
    return parser.parse_args()


def memory(device):
    """The functions that tell how much memory of a device is in use: neura.cpu or neura.cuda."""
    return neura.cpu if device.type == "cpu" else neura.cuda
