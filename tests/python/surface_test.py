"""Whatever C++ offers is in Python: each function and row of the headers, found by reading them."""

import pathlib
import re

import neura

ROOT = pathlib.Path(__file__).resolve().parents[2] / "neura"
# A declaration begins its line: a type, the name, a parenthesis.
DECLARED = re.compile(r"^(?:inline |constexpr |template <[^>]*> )*[\w:]+(?:<[^()]*>)?[&*]? (\w+)\(", re.MULTILINE)
ROW = re.compile(r"^(?:[A-Z_]*(?:UNARY|BINARY|TERNARY|COMPARE|LOGICAL)\w*|FUNCTION|OPERATION)\s*\((\w+),", re.MULTILINE)
PLACES = (neura, neura.Tensor, neura.nn.functional, neura.fft, neura.linalg, neura.special, neura.signal.windows)
PLACES += (neura.audio.functional, neura.sparse)
OTHERWISE = {  # what Python says in another way
    "amax_out": "amax(out=)",
    "amin_out": "amin(out=)",
    "enter_autocast": "autocast_increment_nesting()",
    "index": "x[...]",
    "leave_autocast": "autocast_decrement_nesting()",
    "matmul_out": "matmul(out=)",
    "mean_out": "mean(out=)",
    "nonzero_as_tuple": "nonzero(as_tuple=True)",
    "slice": "x[a:b]",
    "sum_out": "sum(out=)",
}
OF_CPP = {  # for programs in C++, and for operations themselves
    "all_operations",
    "copy_of",
    "embedding_dense_backward",
    "fit_gradient",
    "infer_size",
    "is_of_the_library",
    "lazy_clone",
    "literals",
    "log_softmax_backward",
    "may_overlap",
    "modes",
    "number_of",
    "policy_of",
    "register_operation",
    "set_modes",
    "softmax_backward",
    "sparsely_learned_embedding",
    "tensor_of",
    "to_reduction",
    "view_strides",
    "zero_gradient",
}
METHODS_OF_CPP = {  # handles, raw memory, and what attributes and print say in Python
    "Tensor",
    "const_raw_data",
    "debug_str",
    "defined",
    "impl",
    "is_same",
    "raw_data",
    "set_grad",
    "slice",
    "spec",
    "str",
    "strides",
    "version",
}


def functions():
    found = set()
    for name in re.findall(r'#include "neura/(ops?/[\w/]+\.h)"', (ROOT / "neura.h").read_text()):
        if "rows" in name or "pointwise" in name:  # made from the tables, or over them
            continue
        text = re.sub(r"//.*", "", (ROOT / name).read_text())
        found |= set(DECLARED.findall(re.sub(r"namespace detail \{.*?\n\}", "", text, flags=re.DOTALL)))
    for table in (ROOT / "tables").rglob("*.def"):
        found |= set(ROW.findall(table.read_text()))
    return {name for name in found if not name.startswith("_")}


def test_each_function_of_cpp_is_here():
    found = functions()
    assert len(found) > 440 and {"tanh", "eq", "scatter_reduce_", "conv2d", "where", "logical_and"} <= found
    names = {name for place in PLACES for name in dir(place)}
    missing = found - names
    assert missing - OTHERWISE.keys() - OF_CPP == set()
    assert OF_CPP | OTHERWISE.keys() <= missing  # the lists name nothing that is there


def test_each_method_of_cpp_is_here():
    text = re.sub(r"//.*", "", (ROOT / "core/tensor.h").read_text())
    public = text[text.index("\nclass Tensor") :].split("\n private:")[0]
    methods = set(re.findall(r"^  (?:const )?[\w:]+(?:<[^()]*>)?[&*]? (\w+)\(", public, re.MULTILINE))
    missing = methods - set(dir(neura.Tensor))
    assert {"view", "matmul", "backward"} <= methods and missing == METHODS_OF_CPP
