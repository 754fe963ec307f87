"""Weights and inputs that follow from names alone, so that programs of several languages fill networks alike.

`tests/models/models_test.cpp` has the same formulas.
"""

import math

import numpy

# One of each kind: what it is called, its arguments, what goes in. features: of the network, that part alone, where the
# linear layers behind it have more numbers than a test should fill.
CASES = {
    "resnet18": ({"num_classes": 8}, [2, 3, 64, 64]),
    "resnet50": ({"num_classes": 8}, [1, 3, 64, 64]),
    "resnext50_32x4d": ({"num_classes": 8}, [1, 3, 64, 64]),
    "wide_resnet50_2": ({"num_classes": 8}, [1, 3, 32, 32]),
    "vgg11": ({"num_classes": 8}, [1, 3, 32, 32]),
    "vgg16_bn": ({"num_classes": 8}, [1, 3, 32, 32]),
    "alexnet": ({"num_classes": 8}, [1, 3, 64, 64]),
    "mobilenet_v2": ({"num_classes": 8}, [2, 3, 64, 64]),
    "vit_b_32": ({"num_classes": 8, "image_size": 64}, [1, 3, 64, 64]),
    "cifar_resnet8": ({"num_classes": 4}, [2, 3, 20, 24]),
    "vit_tiny": ({"image_size": 16, "patch_size": 4, "num_classes": 4}, [2, 3, 16, 16]),
    "gpt2": ({"vocab_size": 40, "n_positions": 12, "n_embd": 16, "n_layer": 2, "n_head": 4}, [2, 9]),
    "lenet": ({"num_classes": 8, "in_channels": 1, "image_size": 28}, [2, 1, 28, 28]),
    "unet": ({"in_channels": 2, "out_channels": 3, "init_features": 4}, [1, 2, 32, 48]),
    "mlp": ({"inputs": 12, "outputs": 3, "hidden": 8, "layers": 2}, [4, 12]),
    "fashion_cnn": ({}, [2, 1, 28, 28]),
    "fashion_mlp": ({}, [2, 1, 28, 28]),
    "lstm_language": ({"vocab_size": 40, "width": 8, "num_layers": 2}, [2, 9]),
}
FEATURES = ("vgg11", "vgg16_bn", "alexnet")
TOKENS, BYTES = ("gpt2", "lstm_language"), ("fashion_cnn", "fashion_mlp")


def uniform(name, count):
    """Numbers of [0, 1) that look random: a hash of the place and the name."""
    salt = 2166136261
    for byte in name.encode():
        salt = (salt ^ byte) * 16777619 % 2**32
    x = (numpy.arange(count, dtype=numpy.uint64) * 2654435761 + salt) % 2**32
    x ^= x >> 15
    x = x * 2246822519 % 2**32
    x ^= x >> 13
    return (x >> 8).astype(numpy.float64) / 2**24


def values(name, shape):
    """A tensor of a state, as float32."""
    u = uniform(name, math.prod(shape))
    if name.endswith("running_var") or len(shape) == 1 and name.endswith("weight"):
        u = 0.5 + u
    elif len(shape) < 2:
        u = 0.2 * (u - 0.5)
    else:
        u = (u - 0.5) * math.sqrt(12 / math.prod(shape[1:]))
    return u.astype(numpy.float32).reshape(shape)


def filled(state):
    """Arrays for a state of names and shapes; the counters of batches stay 0."""
    return {
        name: numpy.zeros(shape, numpy.int64) if name.endswith("num_batches_tracked") else values(name, shape)
        for name, shape in state.items()
    }


def inputs(model):
    """What goes into a model of CASES."""
    shape = CASES[model][1]
    u = uniform("input", math.prod(shape)).reshape(shape)
    if model in TOKENS:
        return (u * 40).astype(numpy.int64)
    return (u * 256).astype(numpy.uint8) if model in BYTES else (2 * u - 1).astype(numpy.float32)


def sampled(output):
    """Sixteen numbers of an output at most, evenly spread."""
    flat = output.reshape(-1)
    return flat[:: -(-flat.size // 16)]
