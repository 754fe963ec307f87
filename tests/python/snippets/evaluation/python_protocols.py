"""Tensors in Python's own protocols: numbers, iteration, comparison, hashing, formatting, sorting."""


def run(torch):
    x = torch.tensor([3.0, 1.0, 2.0])
    one = torch.tensor(2)
    letters = ["a", "b", "c", "d"]
    return {
        "numbers": [float(x[0]), int(x[1]), bool(x[2] > 1), complex(x[0]).real],
        "index": letters[one],
        "range": list(range(one)),
        "sorted": [float(v) for v in sorted(x)],
        "max": float(max(x)),
        "sum": sum(x),
        "unpack": [v.item() for v in x],
        "list": x.tolist(),
        "hash": len({x, x.clone(), x}),
        "identity": x in [x],
        "power": 2**one + one**2,
        "divmod": [7 // one, 7 % one, -7 // one],
        "abs": abs(-x),
        "chained": bool(0 < x[1] < 2),
        "enumerate": [i for i, v in enumerate(x) if v > 1],
        "zip": [float(a * b) for a, b in zip(x, x.flip(0))],
        "round": round(float(x.mean()), 3),
        "reversed": [v.item() for v in reversed(x)],
        "matmul": x @ x,
    }
