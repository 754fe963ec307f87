"""neura.text against stored answers of PyPI's tokenizers."""

import json
import pathlib

import neura
import neura.text
import pytest

FILES = pathlib.Path(__file__).parents[1] / "text" / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED["tokenizers"])
def test_answers_are_those_of_tokenizers(name):
    t = neura.text.Tokenizer.from_file(str(FILES / f"{name}.json"))
    rows = EXPECTED["tokenizers"][name]["single"]
    for row, e in zip(rows, t.encode_batch([row["text"] for row in rows])):
        assert e.ids == row["ids"] and [k for o in e.offsets for k in o] == row["offsets"]
        assert t.decode(e.ids) == row["decoded"] and len(e.tokens) == len(e)
    pair = t.encode(EXPECTED["first"], EXPECTED["second"])
    assert pair.ids == EXPECTED["tokenizers"][name]["pair"]["ids"]
    assert t.encode_batch([(EXPECTED["first"], EXPECTED["second"])])[0].type_ids == pair.type_ids


def test_padding_and_truncation():
    t = neura.text.Tokenizer.from_file(str(FILES / "bert.json"))
    t.enable_padding(length=12, pad_id=3)
    t.enable_truncation(max_length=12)
    assert [len(e) for e in t.encode_batch(["a", EXPECTED["first"]])] == [12, 12]
    assert t.encode("a").tokens[-1] == "[PAD]" and t.encode("a").attention_mask[-1] == 0
    with pytest.raises(ValueError, match="direction to be left or right, got up"):
        t.enable_padding(direction="up")


def test_errors():
    with pytest.raises(neura.errors.FormatError, match="valid JSON"):
        neura.text.Tokenizer.from_str("{")
    with pytest.raises(neura.errors.IoError):
        neura.text.Tokenizer.from_file("no such file")
    t = neura.text.Tokenizer.from_file(str(FILES / "bert.json"))
    with pytest.raises(NotImplementedError, match="is_pretokenized"):
        t.encode("a", is_pretokenized=True)
