"""Samples as dictionaries and nested containers; how they are put together."""


def run(torch):
    DataLoader = torch.utils.data.DataLoader
    default_collate = torch.utils.data.default_collate

    samples = [
        {"image": torch.full((2, 2), float(i)), "label": i, "meta": {"name": f"n{i}", "weight": i / 2}, "pair": (i, -i)}
        for i in range(4)
    ]
    loader = DataLoader(samples, batch_size=2)
    batches = list(loader)
    second = batches[1]
    return {
        "image": second["image"],
        "label": second["label"],
        "names": second["meta"]["name"],
        "weights": second["meta"]["weight"],
        "weight_dtype": str(second["meta"]["weight"].dtype),
        "pair": second["pair"],
        "kinds": [type(second).__name__, type(second["pair"]).__name__],
        "numbers": default_collate([1, 2, 3]),
        "floats": default_collate([0.5, 1.5]),
        "tuples": default_collate([(1, 2.0), (3, 4.0)]),
    }
