"""Tensors made like others, from numbers, from ranges: values, dtypes and flags."""


def run(torch):
    x = torch.ones(2, 3, dtype=torch.float64)
    made = {
        "zeros_like": torch.zeros_like(x),
        "full_like": torch.full_like(x, 2.5),
        "ones_like_int": torch.ones_like(x, dtype=torch.int32),
        "new_zeros": x.new_zeros(2),
        "new_full": x.new_full((2,), 3),
        "new_tensor": x.new_tensor([1, 2]),
        "full_int": torch.full((2,), 7),
        "full_bool": torch.full((2,), True),
        "arange_float": torch.arange(0, 1, 0.25),
        "arange_back": torch.arange(5, 0, -2),
        "logspace": torch.logspace(0, 2, 3),
        "eye": torch.eye(2, 3),
        "nested": torch.tensor([[1, 2.5], [3, 4]]),
        "as_tensor": torch.as_tensor([True, False]),
        "diag": torch.diag(torch.tensor([1, 2])),
    }
    return {**made, "dtypes": {k: str(v.dtype) for k, v in made.items()}, "empty": torch.empty(0, 3).shape}
