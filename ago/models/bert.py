"""BERT (Devlin et al., arXiv 1810.04805) of the size "tiny" (Turc et al., arXiv 1908.08962).

Read `bert_tiny` first. Invariant: normalisation follows each sum, and masked tokens take no part in
anyone's attention.
"""

from __future__ import annotations

import numpy as np

from ago.errors import InputError
from ago.frontend.builder import Value
from ago.ir.graph import Graph
from ago.models.layers import Layers

_VOCABULARY = 30522
_POSITIONS = 512
_TYPES = 2
_FEATURES = 128
_HEADS = 2
_WIDE = 4 * _FEATURES
_LAYERS = 2
_EPSILON = 1e-12


def bert_tiny(seed: int = 0, batch: int = 1, tokens: int = 128) -> Graph:
    """Return BERT-tiny with random weights; all tokens are of the first type.

    Args:
        seed: Seed of the weights.
        batch: Texts at a time.
        tokens: Tokens per text, 1 to 512.

    Returns:
        A graph from `input_ids: i64[batch,tokens]`, numbers below 30522, and
        `attention_mask: i64[batch,tokens]`, 0 for tokens to leave out, to
        `last_hidden_state: f32[batch,tokens,128]` and `pooler_output: f32[batch,128]`.

    Raises:
        InputError: There are more tokens than positions.
    """
    if tokens > _POSITIONS:
        raise InputError(f"tokens={tokens}: bert_tiny has {_POSITIONS} positions")
    network = _Network("bert_tiny", seed)
    b = network.builder
    ids = b.input("input_ids", (batch, tokens), "i64")
    attention_mask = b.input("attention_mask", (batch, tokens), "i64")
    x = network.embed(ids)
    mask = network.mask(attention_mask)
    for layer in range(_LAYERS):
        name = "last_hidden_state" if layer == _LAYERS - 1 else f"layers.{layer}.output"
        x = network.layer(f"layers.{layer}", x, mask, name)
    return b.build(x, network.pool(x))


class _Network(Layers):
    """The parts of an encoder."""

    def embed(self, ids: Value) -> Value:
        """Sum of the embeddings of word, type and position, normalised."""
        b = self.builder
        tokens = ids.shape[1]
        words = self._table("embeddings.words", _VOCABULARY)
        types = self._table("embeddings.types", _TYPES)
        positions = self._table("embeddings.positions", _POSITIONS)
        x = b.apply("Gather", words, ids, name="embeddings.word", axis=0)
        kind = self._rows("embeddings.type", types, (1, _FEATURES))
        x = b.add(x, kind, name="embeddings.add1")
        place = self._rows("embeddings.position", positions, (tokens, _FEATURES))
        x = b.add(x, place, name="embeddings.add2")
        return self.layer_norm("embeddings.norm", x, _EPSILON)

    def mask(self, attention_mask: Value) -> Value:
        """What is added to the scores `[N,heads,queries,keys]`: 0, or the lowest number."""
        b = self.builder
        batch, tokens = attention_mask.shape
        x = b.apply("Cast", attention_mask, name="mask.cast", to="bool")
        x = b.reshape(x, (batch, 1, 1, tokens), name="mask.keys")
        x = b.apply("Expand", x, name="mask.expand", shape=(batch, 1, tokens, tokens))
        lowest = float(np.finfo(np.float32).min)
        return b.apply("Where", x, 0.0, lowest, name="mask.where")

    def layer(self, name: str, x: Value, mask: Value, output: str) -> Value:
        """Attention and a dense network of two layers, each added to its input and normalised."""
        b = self.builder
        y = self._attend(f"{name}.attention", x, mask)
        y = b.add(y, x, name=f"{name}.attention.residual")
        x = self.layer_norm(f"{name}.attention.norm", y, _EPSILON)
        y = self.dense(f"{name}.wide", x, _WIDE, activation="gelu")
        y = self.dense(f"{name}.narrow", y, _FEATURES)
        return self.layer_norm(output, b.add(y, x, name=f"{name}.residual"), _EPSILON)

    def pool(self, x: Value) -> Value:
        """A dense layer and tanh on the first token."""
        b, w = self.builder, self.weights
        batch = x.shape[0]
        first = self._rows("pooler.first", x, (batch, 1, _FEATURES))
        first = b.reshape(first, (batch, _FEATURES), name="pooler.flat")
        weight, bias = w.scaled(_FEATURES, _FEATURES), w.near(0.0, _FEATURES)
        x = b.gemm(first, weight, bias, trans_b=True, name="pooler.dense")
        return b.apply("Tanh", x, name="pooler_output")

    def _attend(self, name: str, x: Value, mask: Value) -> Value:
        """Self-attention of all heads, and the projection of their results."""
        b = self.builder
        batch, tokens, _ = x.shape
        query = self._heads(f"{name}.query", x, 0, 2, 1, 3)
        key = self._heads(f"{name}.key", x, 0, 2, 3, 1)
        value = self._heads(f"{name}.value", x, 0, 2, 1, 3)
        scores = b.matmul(query, key, name=f"{name}.scores")
        scores = b.mul(scores, (_FEATURES // _HEADS) ** -0.5, name=f"{name}.scaled")
        scores = b.add(scores, mask, name=f"{name}.masked")
        share = b.apply("Softmax", scores, name=f"{name}.softmax", axes=(3,))
        x = b.matmul(share, value, name=f"{name}.mixed")
        x = b.apply("Transpose", x, name=f"{name}.merge", perm=(0, 2, 1, 3))
        x = b.reshape(x, (batch, tokens, _FEATURES), name=f"{name}.merged")
        return self.dense(f"{name}.project", x, _FEATURES)

    def _heads(self, name: str, x: Value, *perm: int) -> Value:
        """A dense layer whose result `[N,tokens,heads,size]` is transposed."""
        b = self.builder
        shape = (*x.shape[:2], _HEADS, _FEATURES // _HEADS)
        x = b.reshape(self.dense(name, x, _FEATURES), shape, name=f"{name}.split")
        return b.apply("Transpose", x, name=f"{name}.heads", perm=perm)

    def _table(self, name: str, rows: int) -> Value:
        """A table of embeddings."""
        return self.builder.constant(self.weights.normal(rows, _FEATURES, spread=0.5), name)

    def _rows(self, name: str, x: Value, shape: tuple[int, ...]) -> Value:
        """Return the first elements of `x` along each axis, `shape` of them."""
        zeros, ones = (0,) * len(shape), (1,) * len(shape)
        return self.builder.apply("Slice", x, name=name, shape=shape, starts=zeros, steps=ones)
