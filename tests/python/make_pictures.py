"""What torchvision 0.26 makes of a small picture: python tests/python/make_pictures.py > tests/python/pictures.json"""

import json

import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

CASES = [
    ["adjust_brightness", 1.3],
    ["adjust_contrast", 0.6],
    ["adjust_contrast", 1.5],
    ["adjust_saturation", 1.7],
    ["adjust_hue", 0.2],
    ["adjust_hue", -0.4],
    ["adjust_gamma", 0.7],
    ["adjust_sharpness", 1.8],
    ["adjust_sharpness", 0.2],
    ["invert"],
    ["posterize", 3],
    ["solarize", 100],
    ["autocontrast"],
    ["rgb_to_grayscale", 3],
    ["gaussian_blur", [3, 5], [1.2, 2.0]],
    ["rotate", 33.0, "bilinear"],
    ["rotate", 33.0, "bilinear", True],
    ["rotate", -70.0, "bilinear", False, [2, 3]],
    ["affine", 20.0, [2, -1], 1.2, [10.0, 5.0], "bilinear"],
    ["affine", 0.0, [0, 0], 1.0, [20.0, 0.0], "bilinear", None, [0, 0]],
    ["pad", [1, 2, 3, 4], 0, "reflect"],
    ["pad", [2, 1], 0, "edge"],
    ["pad", 2, 9],
    ["center_crop", [5, 12]],
    ["crop", -2, 3, 6, 8],
    ["resize", [5, 6]],
    ["resize", [13, 4], "bicubic"],
    ["resize", [4]],
    ["resize", [9], "bilinear", 10],
    ["resize", [3, 14], "nearest"],
]


def picture():
    """uint8 [3, 8, 9], with every kind of colour."""
    return (
        torch.tensor([(37 * i * i + 91 * i + i // 7 * 11) % 256 for i in range(3 * 8 * 9)])
        .to(torch.uint8)
        .reshape(3, 8, 9)
    )


modes = {mode.value: mode for mode in InterpolationMode}
answers = []
for name, *arguments in CASES:
    given = [modes.get(a, a) if isinstance(a, str) else a for a in arguments]
    answer = getattr(F, name)(picture(), *given)
    answers.append(
        {"name": name, "arguments": arguments, "shape": list(answer.shape), "values": answer.flatten().tolist()}
    )
print(json.dumps({"picture": picture().flatten().tolist(), "answers": answers}).replace('{"name"', '\n{"name"'))
