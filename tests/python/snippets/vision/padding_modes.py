"""Every way to pad, in one, two and three dimensions."""

from fixed import noise


def run(torch):
    F, nn = torch.nn.functional, torch.nn
    x = noise(torch, 1, 2, 4, 5)
    return {
        "constant": F.pad(x, (1, 2, 0, 1), value=0.5),
        "negative": F.pad(x, (-1, 0, 1, -2)),
        "reflect": F.pad(x, (2, 1, 1, 3), mode="reflect"),
        "replicate": F.pad(x, (1, 1, 2, 0), mode="replicate"),
        "circular": F.pad(x, (2, 2, 1, 1), mode="circular"),
        "layer": nn.ReflectionPad2d(1)(x).sum(),
        "zero": nn.ZeroPad2d((1, 0, 0, 2))(x).shape,
        "1d": nn.ReplicationPad1d(2)(x[0])[0],
        "same": F.conv2d(x, noise(torch, 1, 2, 3, 3), padding="same").shape,
    }
