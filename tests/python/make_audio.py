"""Writes audio.json: answers of torchaudio 2.11 to the calls of audio_cases.py, every so many numbers, and of librosa
0.11. python tests/python/make_audio.py"""

import json
import pathlib

import audio_cases
import librosa
import numpy as np
import torch
import torchaudio

KEPT = 80  # numbers of an answer


def tensor(x):
    return torch.as_tensor(np.asarray(x))


def stored(y):
    y = np.asarray(y)
    flat = y.ravel()
    step = max(1, flat.size // KEPT)
    values = [float(f"{v:.9g}") for v in flat[::step]]
    return {"shape": list(y.shape), "step": step, "values": values, "largest": float(abs(flat).max())}


def of_librosa():
    y, rate = audio_cases.signal(), audio_cases.RATE
    framed = {"n_fft": 256, "hop_length": 100, "n_mels": 20, "pad_mode": "reflect"}
    for name, scale in (("slaney", {}), ("htk", {"htk": True, "norm": None})):
        mel = librosa.feature.melspectrogram(y=y, sr=rate, **framed, **scale)
        yield f"mel_{name}", mel
        yield f"mfcc_{name}", librosa.feature.mfcc(S=librosa.power_to_db(mel), n_mfcc=13)


answers = {name: stored(case(torchaudio, tensor)) for name, case in audio_cases.CASES.items()}
answers = {"torchaudio": answers, "librosa": {name: stored(y) for name, y in of_librosa()}}
path = pathlib.Path(__file__).with_name("audio.json")
path.write_text(json.dumps(answers).replace('}, "', '},\n"') + "\n")
