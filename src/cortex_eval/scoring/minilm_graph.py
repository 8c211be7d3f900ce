"""The ONNX graph of MiniLM-L6 (BERT, 6 layers), put together from its published weights."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

GRAPH_VERSION = 2
"""Changed whenever the graph below changes: cached graphs carry it in their name."""
LAYERS = 6
HEADS = 12
HIDDEN = 384
EPSILON = 1e-12
OPSET = 20


def build_graph(weights: Path) -> bytes:
    """A model that takes `ids` and `mask` (texts × tokens): `vectors`, one of length one per text, and `tokens_out`."""
    from onnx import TensorProto, helper

    graph = _Graph(_read(weights))
    graph.embeddings()
    for layer in range(LAYERS):
        graph.layer(layer)
    graph.pooling()
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [
                helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"]),
                helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["texts", "tokens"]),
            ],
            [
                helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", HIDDEN]),
                helper.make_tensor_value_info("tokens_out", TensorProto.FLOAT, ["texts", "tokens", HIDDEN]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=9,
    )
    content: bytes = model.SerializeToString()
    return content


def _read(weights: Path) -> dict[str, Any]:  # Any: numpy arrays, whose kinds safetensors does not say
    from safetensors.numpy import load_file

    tensors: dict[str, Any] = load_file(weights)
    return tensors


class _Graph:
    """Nodes in the order in which they are computed; `state` names the newest activation."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []  # Any: onnx is untyped
        self.constants: list[Any] = []  # Any: onnx is untyped
        self.state = ""

    def add(
        self, op: str, *inputs: str, output: str = "", **attributes: Any
    ) -> str:  # Any: numbers and lists, as each op has them
        from onnx import helper

        output = output or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        return output

    def constant(self, name: str, value: Any) -> str:  # Any: anything numpy makes an array of
        import numpy as np
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def dense(self, name: str, inputs: str) -> str:
        product = self.add("MatMul", inputs, self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T))
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def norm(self, name: str, inputs: str) -> str:
        return self.add(
            "LayerNormalization",
            inputs,
            self.weight(f"{name}.weight"),
            self.weight(f"{name}.bias"),
            axis=-1,
            epsilon=EPSILON,
        )

    def embeddings(self) -> None:
        """Words, places and the one kind of token that single texts have, summed and normalised; and the mask."""
        import numpy as np

        words = self.add("Gather", self.weight("embeddings.word_embeddings.weight"), "ids")
        kind = self.weights["embeddings.token_type_embeddings.weight"][0]
        # Every token is of kind 0, so that its vector can be added to the places once and for all.
        places = self.constant("places", self.weights["embeddings.position_embeddings.weight"] + kind)
        tokens = self.add("Shape", "ids", start=1, end=2)
        zero, first = self.constant("zero", np.array([0])), self.constant("first_axis", np.array([0]))
        here = self.add("Slice", places, zero, tokens, first)
        self.state = self.norm("embeddings.LayerNorm", self.add("Add", words, here))
        # 0 for a word, far below zero for padding; texts × 1 × 1 × tokens.
        one, far = self.constant("one", np.float32(1)), self.constant("far", np.float32(-1e9))
        padding = self.add("Mul", self.add("Sub", one, "mask"), far)
        self.add("Unsqueeze", padding, self.constant("head_axes", np.array([1, 2])), output="padding")
        self.constant("split_heads", np.array([0, 0, HEADS, HIDDEN // HEADS]))
        self.constant("join_heads", np.array([0, 0, HIDDEN]))
        self.constant("scale", np.float32(1 / math.sqrt(HIDDEN // HEADS)))

    def layer(self, number: int) -> None:
        """Attention and feed-forward, each added to what came in and normalised."""
        name = f"encoder.layer.{number}"
        query, key, value = (
            self.add("Reshape", self.dense(f"{name}.attention.self.{part}", self.state), "split_heads")
            for part in ("query", "key", "value")
        )
        query = self.add("Transpose", query, perm=[0, 2, 1, 3])
        key = self.add("Transpose", key, perm=[0, 2, 3, 1])
        value = self.add("Transpose", value, perm=[0, 2, 1, 3])
        scores = self.add("Mul", self.add("MatMul", query, key), "scale")
        weights = self.add("Softmax", self.add("Add", scores, "padding"), axis=-1)
        seen = self.add("Transpose", self.add("MatMul", weights, value), perm=[0, 2, 1, 3])
        seen = self.dense(f"{name}.attention.output.dense", self.add("Reshape", seen, "join_heads"))
        self.state = self.norm(f"{name}.attention.output.LayerNorm", self.add("Add", seen, self.state))
        inner = self.add("Gelu", self.dense(f"{name}.intermediate.dense", self.state))
        outer = self.dense(f"{name}.output.dense", inner)
        self.state = self.norm(f"{name}.output.LayerNorm", self.add("Add", outer, self.state))

    def pooling(self) -> None:
        """The mean over the words of a text, scaled to length one."""
        import numpy as np

        self.add("Identity", self.state, output="tokens_out")
        last, tokens = self.constant("last_axis", np.array([-1])), self.constant("token_axis", np.array([1]))
        mask = self.add("Unsqueeze", "mask", last)
        total = self.add("ReduceSum", self.add("Mul", self.state, mask), tokens, keepdims=0)
        mean = self.add("Div", total, self.add("ReduceSum", "mask", tokens, keepdims=1))
        length = self.add("ReduceL2", mean, last, keepdims=1)
        tiny = self.constant("tiny", np.float32(1e-12))
        self.add("Div", mean, self.add("Max", length, tiny), output="vectors")
