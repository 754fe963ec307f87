"""Division, remainders and rounding of negative numbers."""


def run(torch):
    a = torch.tensor([7, -7, 7, -7, 0])
    b = torch.tensor([3, 3, -3, -3, 5])
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 2.345])
    return {
        "floor": a // b,
        "remainder": a % b,
        "fmod": torch.fmod(a, b),
        "trunc": torch.div(a, b, rounding_mode="trunc"),
        "true": a / b,
        "round": x.round(),
        "two_digits": x.round(decimals=2),
        "floor_ceil": torch.stack([x.floor(), x.ceil(), x.trunc(), x.frac()]),
        "to_int": x.to(torch.int64),
        "power": torch.tensor(2) ** torch.arange(5),
        "reflected": 10 - a,
        "wrapped": (torch.tensor([250], dtype=torch.uint8) + 10).item(),
    }
