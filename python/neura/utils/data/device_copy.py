"""Asynchronous copies of batches to a device."""

from ... import _neura
from .collate import walk


class Placed:
    """A batch whose tensors are on their way. ``take()`` gives it: what is done with it from now on waits for them."""

    def __init__(self, batch, arrival):
        self.batch, self.arrival = batch, arrival

    def take(self):
        self.arrival.take()
        return self.batch


class DeviceCopy:
    """Where a loader's batches go: to a device, from pinned memory on a stream of their own, or to pinned memory."""

    def __init__(self, device, pin_memory):
        self.there = _neura._data.DeviceCopy(device, pin_memory)

    def send(self, batch):
        arrival = _neura._data.CopyEvent()

        def leaf(value):
            return self.there.send(value, arrival) if isinstance(value, _neura.Tensor) else value

        batch = walk(batch, leaf)
        self.there.finish(arrival)
        return Placed(batch, arrival)


def placed(make, device_copy):
    """``make``, whose batches are put together in pinned memory and sent on their way."""
    if device_copy is None:
        return make

    def make_and_send(*task):
        before = _neura._data.set_pinned_batches(device_copy.there.pinned)
        try:
            batch = make(*task)
        finally:
            _neura._data.set_pinned_batches(before)
        return device_copy.send(batch)

    return make_and_send
