"""Tensors to NumPy and back: sharing, dtypes, strides, functions of NumPy on tensors."""

import numpy


def run(torch):
    a = numpy.arange(6, dtype=numpy.float64).reshape(2, 3)
    t = torch.from_numpy(a)
    t.mul_(2)
    view = t.t().numpy()
    view[0, 1] = -1
    parameter = torch.ones(2, requires_grad=True)
    try:
        parameter.numpy()
        refused = False
    except RuntimeError:
        refused = True
    array = numpy.asarray(torch.arange(3))
    return {
        "shared": t,
        "array": a,
        "strides": list(view.strides),
        "detached": parameter.detach().numpy(),
        "refused": refused,
        "dtype": str(array.dtype),
        "numpy_mean": float(numpy.mean(t.numpy())),
        "dtypes": [
            str(torch.from_numpy(numpy.zeros(1, d)).dtype) for d in ("int8", "uint8", "float16", "bool", "complex64")
        ],
        "scalar": torch.tensor(numpy.float32(1.5)),
        "list": torch.tensor([numpy.int64(3), 4]).tolist(),
        "back": numpy.array_equal(torch.tensor(a).numpy(), a),
    }
