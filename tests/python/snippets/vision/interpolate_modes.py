"""Images made larger and smaller in every mode."""

from fixed import noise


def run(torch):
    x = noise(torch, 1, 2, 5, 7)
    f = torch.nn.functional.interpolate
    return {
        "nearest": f(x, scale_factor=2, mode="nearest"),
        "bilinear": f(x, size=(8, 9), mode="bilinear", align_corners=False),
        "corners": f(x, size=(8, 9), mode="bilinear", align_corners=True),
        "bicubic": f(x, scale_factor=1.5, mode="bicubic"),
        "area": f(x, size=3, mode="area"),
        "antialias": f(x, size=(3, 4), mode="bilinear", antialias=True),
        "exact": f(x, size=(3, 3), mode="nearest-exact"),
        "linear": f(x[:, :, 0], size=11, mode="linear"),
        "upsample": torch.nn.Upsample(scale_factor=2)(x).shape,
    }
