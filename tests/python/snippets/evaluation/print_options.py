"""Precision, threshold and notation of printing; restored afterwards."""


def run(torch):
    x = torch.tensor([3.14159265, 0.00001234, 1234.5])
    before = repr(x)
    torch.set_printoptions(precision=2, sci_mode=False)
    short = repr(x)
    torch.set_printoptions(threshold=5, edgeitems=1)
    cut = repr(torch.arange(10.0))
    torch.set_printoptions(profile="default")
    return {"before": before, "short": short, "cut": cut, "after": repr(x) == before}
