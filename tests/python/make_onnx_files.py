"""Makes the files of tests/python/data/onnx with the `onnx` package. Run by hand; the tests read what is stored."""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent / "data" / "onnx"


def save(name, nodes, inputs, outputs, initializers=(), version=17):
    def infos(values):
        return [helper.make_tensor_value_info(n, t, s) for n, t, s in values]

    graph = helper.make_graph(nodes, name, infos(inputs), infos(outputs), list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, FOLDER / f"{name}.onnx")


def main():
    FOLDER.mkdir(exist_ok=True)
    f, i, b = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
    weight = numpy_helper.from_array(np.arange(24, dtype=np.float32).reshape(4, 6) / 8, "fc.weight")
    bias = numpy_helper.from_array(np.array([-3, 0, 1, 2], dtype=np.float32), "fc.bias")
    gemm = helper.make_node("Gemm", ["x", "fc.weight", "fc.bias"], ["h"], transB=1)
    relu = helper.make_node("Relu", ["h"], ["y"])
    save("linear", [gemm, relu], [("x", f, ["N", 6])], [("y", f, ["N", 4])], [weight, bias])

    def branch(name, op):
        node = helper.make_node(op, ["x"], [name])
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, f, ["K"])])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("a", "Neg"), else_branch=branch("b", "Abs"))
    save("branch", [node], [("c", b, []), ("x", f, ["N"])], [("y", f, ["M"])])
    nodes = [helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=0)]
    two = numpy_helper.from_array(np.array([2], dtype=np.int64), "k")
    save("top", nodes, [("x", f, ["N"])], [("values", f, [2]), ("places", i, [2])], [two])
    # Rows flattened by their sizes, the first of each row twice, plus a small constant.
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], end=1),
        helper.make_node("Concat", ["s", "rest"], ["sizes"], axis=0),
        helper.make_node("Reshape", ["x", "sizes"], ["flat"]),
        helper.make_node("Gather", ["flat", "places"], ["g"], axis=1),
        helper.make_node("Add", ["g", "half"], ["y"]),
    ]
    numbers = {"rest": np.array([-1], np.int64), "places": np.array([0, 0, -1], np.int64), "half": np.float32([0.5])}
    constants = [numpy_helper.from_array(v, n) for n, v in numbers.items()]
    save("sizes", nodes, [("x", f, ["N", 2, 3])], [("y", f, ["N", 3])], constants)
    nodes = [helper.make_node("Frobnicate", ["x"], ["y"], name="odd", domain="test")]
    graph = helper.make_graph(nodes, "unknown", [helper.make_tensor_value_info("x", f, [1])], [])
    ids = [helper.make_opsetid("", 17), helper.make_opsetid("test", 1)]
    onnx.save(helper.make_model(graph, opset_imports=ids, ir_version=8), FOLDER / "unknown.onnx")


if __name__ == "__main__":
    main()
