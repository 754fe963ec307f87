"""All the usual activations over one range, as modules; their text."""


def run(torch):
    nn = torch.nn
    x = torch.linspace(-4, 4, 9)
    made = [
        nn.ReLU(),
        nn.LeakyReLU(0.2),
        nn.ELU(),
        nn.SELU(),
        nn.GELU(),
        nn.GELU(approximate="tanh"),
        nn.SiLU(),
        nn.Mish(),
        nn.Softplus(beta=2),
        nn.Hardswish(),
        nn.Hardtanh(-2, 2),
        nn.Sigmoid(),
        nn.Tanh(),
        nn.Softsign(),
        nn.PReLU(init=0.1),
        nn.LogSigmoid(),
        nn.ReLU6(),
        nn.Softmax(dim=0),
        nn.Threshold(0.5, -1),
    ]
    return {"values": [m(x) for m in made], "texts": [repr(m) for m in made], "glu": nn.GLU()(x[:8])}
