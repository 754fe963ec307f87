"""What comes out when dtypes meet: numbers are weak, tensors without dimensions too."""


def run(torch):
    i, f, h = torch.arange(3), torch.ones(3), torch.ones(3, dtype=torch.float16)
    b, u = torch.tensor([True, False, True]), torch.tensor([1, 2, 3], dtype=torch.uint8)
    d = torch.tensor(2.0, dtype=torch.float64)
    pairs = {
        "int + float number": i + 1.5,
        "int / int": i / i.clamp(min=1),
        "int // 2": i // 2,
        "half * number": h * 2.5,
        "half + float": h + f,
        "float * 0-d double": f * d,
        "int * 0-d double": i * d,
        "bool + bool": b + b,
        "bool * int": b * 3,
        "uint8 + int": u + i,
        "uint8 - 1": u - 1,
        "compare": i > 1,
        "sum of bool": b.sum(),
        "mean of half": h.mean(),
        "complex": f + 1j,
    }
    names = {key: str(value.dtype) for key, value in pairs.items()}
    names["result_type"] = str(torch.result_type(i, 1.0))
    names["promote_types"] = str(torch.promote_types(torch.int32, torch.bfloat16))
    names["can_cast"] = torch.can_cast(torch.float64, torch.int64)
    return {**names, "values": pairs["uint8 - 1"], "halves": pairs["half * number"]}
