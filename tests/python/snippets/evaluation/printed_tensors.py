"""How tensors print: numbers, wholes, small and large values, booleans, empty, long ones."""


def run(torch):
    shown = [
        torch.tensor([1.0, 2.5, -3.0]),
        torch.tensor([[1, 20], [300, 4]]),
        torch.tensor([1e-5, 1.0, 1e5]),
        torch.tensor([1.0, 2.0, 3.0]),
        torch.tensor([0.1234567, 12.5], dtype=torch.float64),
        torch.tensor([True, False]),
        torch.tensor(3.14159),
        torch.tensor(7),
        torch.tensor([float("nan"), float("inf"), -1.5]),
        torch.zeros(0, 3),
        torch.arange(2000),
        torch.linspace(0, 1, 1200).view(2, 600),
        torch.tensor([1 + 2j, -0.5j]),
        torch.tensor([0.5, 1.5], dtype=torch.bfloat16),
        torch.arange(8, dtype=torch.uint8).view(2, 2, 2),
        torch.tensor([[]]),
        torch.tensor([123456789.0, 0.001]),
    ]
    return {"texts": [repr(t) for t in shown], "format": f"{shown[6]:.2f} {shown[7]:5d}", "str": str(shown[0])}
