"""WAV files: RIFF, RF64 and BW64 of integers of 8 to 32 bits, floating numbers, A-law and mu-law."""

import os
from collections import namedtuple

from .. import _neura

_data = _neura._data

AudioMetaData = namedtuple("AudioMetaData", "sample_rate num_frames num_channels bits_per_sample encoding")
AudioMetaData.__doc__ = """What info tells of a file. ``encoding``: "PCM_U", "PCM_S", "PCM_F", "ALAW" or "ULAW"."""


def _source(op, uri):
    """The path, or the bytes of an open file from its beginning."""
    if hasattr(uri, "read"):
        if hasattr(uri, "seek"):
            uri.seek(0)
        uri = uri.read()
    if isinstance(uri, (bytes, bytearray, memoryview)):
        return bytes(uri)
    if not isinstance(uri, (str, os.PathLike)):
        raise TypeError(f"{op}: expected a path, bytes or an open file, got {type(uri).__name__}")
    return os.fsdecode(uri)


def info(uri):
    """The rate, sizes and encoding of a WAV file: a path, its bytes, or a file open for reading bytes.

    IoError, an OSError, where it cannot be read; FormatError, a ValueError, where it is damaged or no WAV.

    >>> import io, neura
    >>> file = io.BytesIO()
    >>> neura.audio.save(file, neura.zeros(2, 5, dtype=neura.int16), 16000)
    >>> neura.audio.info(file)
    AudioMetaData(sample_rate=16000, num_frames=5, num_channels=2, bits_per_sample=16, encoding='PCM_S')
    """
    return AudioMetaData(*_data.wav_info(_source("info", uri)))


def load(uri, frame_offset=0, num_frames=-1, normalize=True, channels_first=True):
    """(waveform, sample_rate) of a WAV file, as info takes it: [channels, frames], or the other way round.

    ``frame_offset``, ``num_frames``: which part; -1 is the rest. ``normalize``: float32 in [-1, 1); False gives the
    file's own numbers: uint8, int16 (also of A-law and mu-law), int32 (24 bits in the upper three bytes), float32 or
    float64. IoError, FormatError, and ValueError for a negative part.
    """
    waveform, rate = _data.read_wav(_source("load", uri), frame_offset, num_frames, normalize)
    return (waveform if channels_first else waveform.mT), rate


def save(uri, src, sample_rate, channels_first=True, *, encoding=None, bits_per_sample=None):
    """Writes a WAV file of [channels, frames] or [frames], to a path or to a file open for writing bytes.

    ``src``: uint8, int16, int32, float32 or float64, as load gives it. ``encoding``, ``bits_per_sample``: "PCM_U" of 8
    bits, "PCM_S" of 16, 24 or 32, "PCM_F" of 32 or 64, "ALAW" or "ULAW"; without them, what ``src`` is. What is beyond
    the encoding's range becomes its end. DTypeError, ShapeError, ValueError; IoError.

    >>> import io, neura
    >>> file, wave = io.BytesIO(), neura.tensor([[0.5, -0.25]])
    >>> neura.audio.save(file, wave, 8000, encoding="PCM_S", bits_per_sample=24)
    >>> neura.audio.load(file)
    (tensor([[ 0.5000, -0.2500]]), 8000)
    """
    if not channels_first and src.dim() == 2:
        src = src.mT
    if hasattr(uri, "write"):
        uri.write(_data.encode_wav(src, sample_rate, encoding, bits_per_sample))
    else:
        _data.write_wav(os.fsdecode(uri), src, sample_rate, encoding, bits_per_sample)
