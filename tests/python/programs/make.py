#!/usr/bin/env python3
"""Stores what PyTorch 2.11 answers to the programs: one JSON file a topic. Names of topics may follow."""

import json
import sys
import traceback

import program_runner as run
import torch
import torch.nn.utils.prune  # torch does not import it by itself


def main():
    for topic in sys.argv[1:] or run.TOPICS:
        answers = {}
        for name in run.programs(topic):
            try:
                answers[name] = run.answer(torch, topic, name)
            except Exception:
                traceback.print_exc(limit=-1)
                print("FAILED", topic, name)
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in answers.items()]
        (run.FOLDER / f"{topic}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(topic, len(answers))


if __name__ == "__main__":
    main()
