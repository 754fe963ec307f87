"""Fake quantisation: modules that quantise and dequantise, and pass gradients.

>>> import neura
>>> fake = neura.quantization.FakeQuantize(quant_min=0, quant_max=15)
>>> fake(neura.tensor([0.0, 0.4, 7.5, 15.0]))
tensor([ 0.,  0.,  8., 15.])
"""

from .. import _neura
from ..nn import Module
from .observer import MovingAverageMinMaxObserver, _Made

__all__ = [
    "FakeQuantize",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
]


class FakeQuantize(Module):
    """Observes x and rounds it to the grid that the observer chooses: float in, float out.

    Args:
        observer (type): of neura.quantization's observers, or one .with_args(...).
        **observer_kwargs: the observer's arguments, such as quant_min and quant_max.

    Both halves can be switched off: enable_observer(False) freezes the grid, enable_fake_quant(False) lets x pass. The
    gradient is that of neura.fake_quantize_per_tensor_affine or ..._per_channel_affine.
    """

    def __init__(self, observer=MovingAverageMinMaxObserver, **observer_kwargs):
        super().__init__()
        self.activation_post_process = observer(**observer_kwargs)
        self.register_buffer("scale", _neura.ones(1))
        self.register_buffer("zero_point", _neura.zeros(1, dtype=_neura.int32))
        self.register_buffer("fake_quant_enabled", _neura.ones(1, dtype=_neura.uint8))
        self.register_buffer("observer_enabled", _neura.ones(1, dtype=_neura.uint8))
        self._fakes = self._observes = True

    @classmethod
    def with_args(cls, **arguments):
        """The class with these arguments: call it to make one."""
        return _Made(cls, **arguments)

    @property
    def quant_min(self):
        """The least integer."""
        return self.activation_post_process.quant_min

    @property
    def quant_max(self):
        """The largest integer."""
        return self.activation_post_process.quant_max

    def enable_fake_quant(self, enabled=True):
        """Turns rounding on (or off). Returns the module."""
        self._fakes = bool(enabled)
        self.fake_quant_enabled.fill_(self._fakes)
        return self

    def disable_fake_quant(self):
        """Turns rounding off. Returns the module."""
        return self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        """Turns observing on (or off). Returns the module."""
        self._observes = bool(enabled)
        self.observer_enabled.fill_(self._observes)
        return self

    def disable_observer(self):
        """Freezes scale and zero point. Returns the module."""
        return self.enable_observer(False)

    def calculate_qparams(self):
        """(scale, zero_point) of what was observed."""
        return self.activation_post_process.calculate_qparams()

    def refresh(self):
        """Takes scale and zero point from the observer."""
        self.scale, self.zero_point = self.calculate_qparams()

    def forward(self, x):
        """x as the integers would have it."""
        if self._observes and x.numel():
            self.activation_post_process(x)
            if self._fakes:
                self.refresh()
        if not self._fakes:
            return x
        axis = self.activation_post_process.ch_axis
        if axis is None:
            return _neura.fake_quantize_per_tensor_affine(
                x, self.scale, self.zero_point, self.quant_min, self.quant_max
            )
        return _neura.fake_quantize_per_channel_affine(
            x, self.scale, self.zero_point, axis, self.quant_min, self.quant_max
        )

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        for name in ("scale", "zero_point"):  # as many channels as the file has
            if prefix + name in state_dict:
                setattr(self, name, _neura.empty_like(state_dict[prefix + name], device=self.scale.device))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        self._fakes, self._observes = bool(self.fake_quant_enabled), bool(self.observer_enabled)

    def extra_repr(self):
        """The range and what is switched on."""
        return (
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, fake_quant={self._fakes}, "
            f"observer={self._observes}"
        )


def _switch(method):
    def switch(module):
        if isinstance(module, FakeQuantize):
            getattr(module, method)()

    switch.__name__ = method
    switch.__doc__ = f"For model.apply(): {method}() of every FakeQuantize."
    return switch


enable_observer, disable_observer = _switch("enable_observer"), _switch("disable_observer")
enable_fake_quant, disable_fake_quant = _switch("enable_fake_quant"), _switch("disable_fake_quant")
