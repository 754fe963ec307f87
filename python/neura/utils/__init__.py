"""Utilities around training: loading data, checkpoints."""

from .. import _lazy

__getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "_pytree": "",
        "benchmark": "",
        "checkpoint": "",
        "data": "",
        "dlpack": "",
        "flow": "gradient_flow",
        "hooks": "",
        "model_summary": "summary",
        "model_zoo": "",
        "tensor_numbers": "tensor_summary",
        "tensorboard": "",
    },
)
