"""Hypothesis strategies for graphs whose arithmetic is exact, so that passes can be compared."""

import numpy as np
from hypothesis import strategies as st

from ago.frontend import GraphBuilder, Value
from ago.ir.graph import Graph

Feeds = dict[str, np.ndarray]


@st.composite
def graphs(draw: st.DrawFn, max_layers: int = 8) -> tuple[Graph, Feeds]:
    """Draw a graph and feeds of small integers, now and then with NaN and infinities."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    maker = _Maker(draw, rng)
    for _ in range(draw(st.integers(1, max_layers))):
        maker.add_layer()
    return maker.finish()


class _Maker:
    def __init__(self, draw: st.DrawFn, rng: np.random.Generator) -> None:
        self.draw = draw
        self.rng = rng
        self.builder = GraphBuilder("random")
        shape = tuple(draw(st.sampled_from(c)) for c in ((1, 2), (1, 3, 4, 6), (1, 5, 7), (1, 6)))
        self.values = [self.builder.input("x", shape)]
        self.weights: list[Value] = []

    def add_layer(self) -> None:
        x = self.draw(st.sampled_from(self.values[-3:]))
        maps = [self._relu, self._clip, self._add, self._identity, self._mul]
        maps += [self._flatten, self._shuffle, self._slice]
        spatial = [self._conv, self._conv, self._norm, self._pad, self._pool, self._mean]
        matrix = [self._gemm, self._norm, self._matmul]
        rank = len(x.shape)
        layer = self.draw(st.sampled_from(maps + (spatial if rank == 4 else matrix)))
        self.values.append(layer(x))

    def finish(self) -> tuple[Graph, Feeds]:
        made = self.values[1:]
        extra = self.draw(st.lists(st.sampled_from(made), max_size=2, unique_by=lambda v: v.name))
        outputs = {value.name: value for value in [*extra, made[-1]]}
        x = self._integers(self.values[0].shape)
        if self.draw(st.integers(0, 4)) == 0:
            special = self.rng.choice([np.nan, np.inf, -np.inf], x.shape)
            x = np.where(self.rng.random(x.shape) < 0.1, special, x)
        return self.builder.build(*outputs.values()), {"x": x}

    def _integers(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.rng.integers(-2, 3, shape).astype(np.float64)

    def _conv(self, x: Value) -> Value:
        b, draw = self.builder, self.draw
        channels = x.shape[1]
        same = [w for w in self.weights if w.shape[1] == channels and max(w.shape[2:]) == 1]
        if same and draw(st.booleans()):
            return b.conv(x, same[-1])
        group = draw(st.sampled_from([g for g in (1, 2, 3, channels) if channels % g == 0]))
        filters = group * draw(st.integers(1, 3))
        kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
        pads = draw(st.tuples(*[st.integers(0, 2)] * 4)) if draw(st.booleans()) else (1, 1, 1, 1)
        kernel = tuple(min(k, x.shape[2 + a] + pads[a] + pads[a + 2]) for a, k in enumerate(kernel))
        weight = b.constant(self._integers((filters, channels // group, *kernel)))
        if group == 1:
            self.weights.append(weight)
        bias = self._integers((filters,)) if draw(st.booleans()) else None
        strides = draw(st.sampled_from([1, 2, (2, 1)]))
        return b.conv(x, weight, bias, strides=strides, pads=pads, group=group)

    def _norm(self, x: Value) -> Value:
        channels = x.shape[1]
        scale = self.rng.choice([-2.0, -0.5, 0.0, 1.0, 4.0], channels)
        bias, mean = self._integers((channels,)), self._integers((channels,))
        # With epsilon 1/4 the standard deviation is exactly 1 or 2.
        var = self.rng.choice([0.75, 3.75], channels)
        return self.builder.batch_norm(x, scale, bias, mean, var, epsilon=0.25)

    def _relu(self, x: Value) -> Value:
        return self.builder.relu(x)

    def _clip(self, x: Value) -> Value:
        bound = st.sampled_from([-np.inf, -6.0, -1.0, 0.0, 1.0, 6.0, np.inf])
        return self.builder.clip(x, self.draw(bound), self.draw(bound))

    def _add(self, x: Value) -> Value:
        alike = [value for value in self.values if value.shape == x.shape]
        return self.builder.add(x, self.draw(st.sampled_from(alike)))

    def _mul(self, x: Value) -> Value:
        shape = (1, x.shape[1], *[1] * (len(x.shape) - 2))
        constant = self.builder.constant(self._integers(shape))
        return self.builder.mul(x, self.builder.relu(constant))

    def _identity(self, x: Value) -> Value:
        return self.builder.identity(x)

    def _flatten(self, x: Value) -> Value:
        return self.builder.flatten(x)

    def _shuffle(self, x: Value) -> Value:
        """Channels of x, or of x and something of its shape, dealt out."""
        b, alike = self.builder, [v for v in self.values if v.shape == x.shape]
        whole = x
        if self.draw(st.booleans()):
            whole = b.concat([x, self.draw(st.sampled_from(alike))], 1)
        n, channels, *rest = whole.shape
        groups = self.draw(st.sampled_from([g for g in (1, 2, 3) if channels % g == 0]))
        split = b.reshape(whole, (n, groups, channels // groups, *rest))
        perm = (0, 2, 1, *range(3, len(split.shape)))
        return b.reshape(b.apply("Transpose", split, perm=perm), whole.shape)

    def _slice(self, x: Value) -> Value:
        """Some neighbouring channels."""
        channels = x.shape[1]
        start = self.draw(st.integers(0, channels - 1))
        count = self.draw(st.integers(1, channels - start))
        zeros = [0] * len(x.shape)
        return self.builder.apply(
            "Slice",
            x,
            starts=[0, start, *zeros[2:]],
            steps=[1] * len(x.shape),
            shape=[x.shape[0], count, *x.shape[2:]],
        )

    def _pad(self, x: Value) -> Value:
        amounts = self.draw(st.tuples(*[st.integers(-1, 2)] * 4))
        small = [0 if e < 3 else p for e, p in zip(x.shape[2:] * 2, amounts, strict=True)]
        value = self.draw(st.sampled_from([0.0, 1.0]))
        return self.builder.pad(x, (0, 0, *small[:2], 0, 0, *small[2:]), value)

    def _pool(self, x: Value) -> Value:
        kernel = tuple(min(2, extent) for extent in x.shape[2:])
        pads = tuple(k - 1 for k in kernel) * 2
        ceil = self.draw(st.booleans())
        if self.draw(st.booleans()):
            return self.builder.max_pool(x, kernel, strides=2, pads=pads, ceil_mode=ceil)
        counted = self.draw(st.booleans())
        return self.builder.average_pool(
            x, kernel, strides=2, pads=pads, ceil_mode=ceil, count_include_pad=counted
        )

    def _mean(self, x: Value) -> Value:
        if self.draw(st.booleans()):
            return self.builder.global_average_pool(x)
        return self.builder.reduce_mean(x, (2, 3), keepdims=self.draw(st.booleans()))

    def _gemm(self, x: Value) -> Value:
        columns = self.draw(st.integers(1, 4))
        transposed = self.draw(st.booleans())
        shape = (columns, x.shape[1]) if transposed else (x.shape[1], columns)
        bias = self._integers((columns,)) if self.draw(st.booleans()) else None
        alpha, beta = (self.draw(st.sampled_from([1.0, 0.5, -2.0])) for _ in range(2))
        return self.builder.gemm(
            x, self._integers(shape), bias, trans_b=transposed, alpha=alpha, beta=beta
        )

    def _matmul(self, x: Value) -> Value:
        return self.builder.matmul(x, self._integers((x.shape[1], self.draw(st.integers(1, 4)))))
