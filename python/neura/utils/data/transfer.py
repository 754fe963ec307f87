"""Batches from process to process: the bytes of tensors and arrays through shared memory, the rest pickled.

A worker fills blocks of shared memory. The loader's process makes tensors over them without copying, and sends a block
back when the last of these has gone, so that few blocks serve a whole epoch.
"""

import collections
import copyreg
import io
import pickle
import socket

from ... import _neura

Block = _neura._data.Block
_INLINE = 16 << 10  # bytes up to which a batch goes through the pipe
_DTYPES = {d: name for name, d in vars(_neura).items() if isinstance(d, _neura.dtype)}


def _take(index):
    raise pickle.UnpicklingError("DataLoader: expected to be read by the loader that this batch was made for")


def _pack(value):
    """The pickle of a batch without its tensors and the bytes of its arrays, and these."""
    tensors, buffers, body = [], [], io.BytesIO()

    def tensor(t):
        if t.requires_grad and not t.is_leaf:
            raise RuntimeError(
                "DataLoader: expected batches without history, got a tensor that other tensors lead to; "
                "its gradients cannot cross processes: call detach() on it"
            )
        tensors.append(t)
        return _take, (len(tensors) - 1,)

    def buffer(b):
        raw = b.raw()
        if raw.nbytes < 256:
            return True  # stays in the pickle
        buffers.append(_neura.tensor(raw, device="cpu") if raw.readonly else _neura.from_numpy(raw))
        return False

    pickler = pickle.Pickler(body, 5, buffer_callback=buffer)
    pickler.dispatch_table = collections.ChainMap({_neura.Tensor: tensor}, copyreg.dispatch_table)
    pickler.dump(value)
    return body.getvalue(), tensors, buffers


class _Unpickler(pickle.Unpickler):
    def __init__(self, body, tensors, buffers):
        super().__init__(io.BytesIO(body), buffers=buffers)
        self.take = tensors.__getitem__

    def find_class(self, module, name):
        return self.take if name == "_take" and module == __name__ else super().find_class(module, name)


def _aligned(n):
    return -(-n // 64) * 64


class Sender:
    """A worker's end of the pipe."""

    def __init__(self, pipe):
        self.pipe = pipe
        self.socket = socket.socket(fileno=socket.dup(pipe.fileno()))
        self.blocks, self.free, self.made = {}, [], 0

    def give_back(self, numbers):
        """Blocks that may be filled again."""
        self.free += [n for n in numbers if n in self.blocks]

    def forget(self, numbers):
        for n in numbers:
            self.blocks.pop(n, None)

    def _block(self, size):
        """The number of a free block of this size, whether it is new, and the numbers of those given up for it."""
        fits = [n for n in self.free if self.blocks[n].size >= size and self.blocks[n].idle]
        if fits:
            best = min(fits, key=lambda n: self.blocks[n].size)
            self.free.remove(best)
            return best, False, []
        given_up, self.free = self.free, []
        self.forget(given_up)
        self.made += 1
        slack = size >> 3  # the next batch may be a little larger
        self.blocks[self.made] = Block.create((size + slack + 0xFFFF) & ~0xFFFF)
        return self.made, True, given_up

    def send_file(self, header, block):
        self.pipe.send_bytes(pickle.dumps(header, 5))
        socket.send_fds(self.socket, [b"f"], [block.file])
        block.close_file()

    def send(self, epoch, task, kind, value):
        body, tensors, buffers = _pack(value)
        pieces, places, total = tensors + buffers, [], 0
        for t in pieces:
            name = _DTYPES[t.dtype]
            places.append((total, name, tuple(t.shape), t.requires_grad))
            total += _aligned(t.numel() * t.element_size())
        number, new, given_up = 0, False, []
        if total > _INLINE:
            number, new, given_up = self._block(total)
            block = self.blocks[number]
        elif total:
            block = Block.local(total)
        for t, place in zip(pieces, places):
            if total:
                block.put(place[0], t)
        header = (epoch, task, kind, body, places, len(tensors), total, number, new, given_up)
        if new:
            return self.send_file(header, block)
        self.pipe.send_bytes(pickle.dumps(header, 5))
        if total and not number:
            self.pipe.send_bytes(memoryview(block.tensor(0, _neura.uint8, (total,))))


class Receiver:
    """The loader's end of a worker's pipe."""

    def __init__(self, pipe):
        self.pipe = pipe
        self.socket = socket.socket(fileno=socket.dup(pipe.fileno()))
        self.blocks, self.returns = {}, _neura._data.Returns()
        self.unread = []

    def _open(self, number):
        _, files, _, _ = socket.recv_fds(self.socket, 1, 1)
        if not files:
            raise EOFError
        return Block.open(files[0], self.returns, number)

    def returned(self):
        """Numbers of the blocks that the worker may fill again, and of those it must forget."""
        again, never = self.unread, []
        self.unread = []
        for number, reusable in self.returns.take():
            if number not in self.blocks:
                continue
            if reusable:
                again.append(number)
            else:
                never.append(number)
                del self.blocks[number]
        return again, never

    def read(self, wanted):
        """(task, kind, value) of the next message; None where it is of another epoch than `wanted`."""
        header = pickle.loads(self.pipe.recv_bytes())
        if header[0] == "place":
            self.place_block = self._open(-1)
            return memoryview(self.place_block.tensor(0, _neura.uint8, (16,))).cast("q")
        epoch, task, kind, body, places, tensors, total, number, new, given_up = header
        for n in given_up:
            self.blocks.pop(n, None)
        if new:
            self.blocks[number] = self._open(number)
        if number:
            block = self.blocks[number]
        elif total:
            block = Block.local(total)
            self.pipe.recv_bytes_into(memoryview(block.tensor(0, _neura.uint8, (total,))))
        else:
            block = Block.local(0)
        if epoch != wanted:
            if number:
                self.unread.append(number)
            return None
        # While this lives, no tensor of the batch is the last one of the block.
        whole = block.tensor(0, _neura.uint8, (0,))
        pieces = []
        for offset, name, shape, requires_grad in places:
            t = block.tensor(offset, getattr(_neura, name), shape)
            pieces.append(t.requires_grad_() if requires_grad else t)
        value = _Unpickler(body, pieces[:tensors], pieces[tensors:]).load()
        del pieces, whole
        return task, kind, value

    def close(self):
        self.pipe.close()
        self.socket.close()
        self.blocks.clear()
