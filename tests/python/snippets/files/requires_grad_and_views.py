"""What a file keeps: parameters, flags, shapes of views."""

import io

from fixed import noise


def run(torch):
    base = noise(torch, 4, 6)
    parameter = torch.nn.Parameter(base[:2].clone())
    data = {"view": base[1:3, ::2], "transposed": base.t(), "parameter": parameter, "scalar": torch.tensor(2.5)}
    buffer = io.BytesIO()
    torch.save(data, buffer)
    buffer.seek(0)
    again = torch.load(buffer)
    return {
        "view": again["view"],
        "transposed": again["transposed"],
        "scalar": again["scalar"],
        "shape": again["scalar"].shape,
        "parameter": again["parameter"].detach(),
        "grad": again["parameter"].requires_grad,
    }
