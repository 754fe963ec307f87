"""A subclass of Tensor: results keep the class, attributes travel by __torch_function__."""


def run(torch):
    class Unit(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs or {})
            units = [a.unit for a in args if isinstance(a, Unit) and hasattr(a, "unit")]
            if isinstance(result, Unit) and units:
                result.unit = units[0]
            return result

    length = torch.arange(4.0).as_subclass(Unit)
    length.unit = "m"
    plain = torch.ones(4)
    return {
        "class": type(length + 1).__name__,
        "reflected": type(plain * length).__name__,
        "unit": (2 * length[1:]).unit,
        "reduced": type(length.sum()).__name__,
        "pair": type(length.max(0).values).__name__,
        "value": (length * 2).sum().item(),
        "stack": type(torch.stack([plain, length])).__name__,
        "list": length.tolist(),
        "text": repr(length.exp()[:2]),
        "parameter": type(torch.nn.Parameter(plain) + 1).__name__,
        "plain": type(length.as_subclass(torch.Tensor)).__name__,
    }
