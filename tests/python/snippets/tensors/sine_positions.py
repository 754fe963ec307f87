"""The sine and cosine table of positions of a transformer."""

import math


def run(torch):
    length, width = 10, 8
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    similarity = table @ table.t()
    return {"table": table, "rate": rate, "similarity": similarity, "norm": table.norm(dim=1)}
