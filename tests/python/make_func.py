"""Writes func.json: what the programs of func_snippets.py give on PyTorch. Needs torch 2.11."""

import json
import pathlib

import torch
import torch.autograd.forward_ad
from func_snippets import plain, programs

made = {name: plain(f()) for name, f in programs(torch, torch.func, torch.autograd.forward_ad).items()}
path = pathlib.Path(__file__).with_name("func.json")
path.write_text(json.dumps({"torch": torch.__version__, "results": made}) + "\n")
