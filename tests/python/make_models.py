"""Writes tests/golden/models.json: names, shapes and answers of networks.

    make_models.py           with torch, torchvision and transformers: those that these libraries have
    make_models.py --own     with Neura: the others, so that both languages' are compared

An entry that is there already is replaced; the others stay.
"""

import json
import pathlib
import sys

from model_values import CASES, FEATURES, filled, inputs, sampled

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "models.json"
OWN = ("cifar_resnet8", "vit_tiny", "lenet", "unet", "mlp", "fashion_cnn", "fashion_mlp", "lstm_language")


def of_torch(name, arguments):
    import torch

    if name == "gpt2":
        import transformers

        config = transformers.GPT2Config(**arguments, bos_token_id=0, eos_token_id=0)
        return torch, transformers.GPT2LMHeadModel(config), f"transformers {transformers.__version__}"
    import torchvision

    return torch, torchvision.models.get_model(name, **arguments), f"torchvision {torchvision.__version__}"


def of_neura(name, arguments):
    import neura

    return neura, neura.models.get_model(name, **arguments), "neura"


def entry(name, library, model, source):
    model.eval()
    state = {key: list(value.shape) for key, value in model.state_dict().items()}
    given = {key: library.from_numpy(value) for key, value in filled(state).items()}
    if "lm_head.weight" in given and name == "gpt2":
        given["lm_head.weight"] = given["transformer.wte.weight"]
    model.load_state_dict(given)
    with library.no_grad():
        output = (model.features if name in FEATURES else model)(library.from_numpy(inputs(name)))
    output = getattr(output, "logits", output)
    numbers = [float(f"{x:.7g}") for x in sampled(output.numpy()).tolist()]
    return {
        "source": source.partition("+")[0],
        "arguments": CASES[name][0],
        "features": name in FEATURES,
        "input": CASES[name][1],
        "state": state,
        "shape": list(output.shape),
        "largest": float(f"{output.abs().max().item():.4g}"),
        "output": numbers,
    }


def main():
    own = "--own" in sys.argv
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    for name, (arguments, _) in CASES.items():
        if (name in OWN) == own:
            golden[name] = entry(name, *(of_neura if own else of_torch)(name, arguments))
            print(name, golden[name]["shape"], golden[name]["largest"], golden[name]["output"][:3])
    lines = []
    for name in CASES:
        if name in golden:
            parts = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in golden[name].items()]
            lines.append(f"{json.dumps(name)}: {{\n" + ",\n".join(parts) + "\n}")
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
