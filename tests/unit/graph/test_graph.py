"""The graph's laws, equality and printing."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from ago.errors import IRError
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph, Node, TensorType

F32 = TensorType((2, 3))


def relu(source: str, target: str, name: str = "") -> Node:
    return Node(name or target, "Relu", (source,), (target,), {}, (F32,))


def small_graph() -> Graph:
    nodes = [relu("x", "y"), Node("z", "Add", ("y", "w"), ("z",), {}, (F32,))]
    return Graph.make("net", {"x": F32}, nodes, ["z"], {"w": np.ones((2, 3), np.float32)})


def test_make_derives_every_type():
    graph = small_graph()
    assert dict(graph.types) == {"x": F32, "w": F32, "y": F32, "z": F32}
    assert graph.type_of("w") == F32


def test_producers_and_consumers():
    graph = small_graph()
    assert graph.producer("y") == graph.nodes[0]
    assert graph.producer("x") is None
    assert graph.producer("") is None
    assert graph.consumers("y") == (graph.nodes[1],)
    assert graph.consumers("z") == ()


def test_a_node_that_reads_a_value_twice_is_one_consumer():
    node = Node("y", "Add", ("x", "x"), ("y",), {}, (F32,))
    graph = Graph.make("net", {"x": F32}, [node], ["y"], {})
    assert graph.consumers("x") == (node,)


def make(nodes, outputs=("y",), params=None):
    return Graph.make("net", {"x": F32}, nodes, outputs, params or {})


BROKEN = {
    "two nodes of one name": ("duplicate-name", [relu("x", "y", "a"), relu("y", "z", "a")], "y"),
    "a value made twice": ("duplicate-name", [relu("x", "y", "a"), relu("x", "y", "b")], "y"),
    "an input made": ("duplicate-name", [relu("x", "x")], "x"),
    "an empty name": ("duplicate-name", [relu("x", "", "a")], "y"),
    "wrong order": ("undefined-value", [relu("y", "z"), relu("x", "y")], "z"),
    "a cycle": ("undefined-value", [relu("z", "y"), relu("y", "z")], "z"),
    "no such value": ("undefined-value", [relu("q", "y")], "y"),
    "no such output": ("output-not-made", [relu("x", "y")], "q"),
    "an output that is an input": ("output-not-made", [relu("x", "y")], "x"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_verify_refuses(case):
    code, nodes, output = BROKEN[case]
    with pytest.raises(IRError) as error:
        make(nodes, [output])
    assert error.value.code == code


def test_verify_refuses_the_same_output_twice():
    with pytest.raises(IRError, match="duplicate-name"):
        make([relu("x", "y")], ["y", "y"])


def test_verify_refuses_types_that_disagree():
    graph = small_graph()
    wrong = replace(graph, types={**graph.types, "y": TensorType((9,))})
    with pytest.raises(IRError, match="wrong-type"):
        wrong.verify()
    missing = {name: kind for name, kind in graph.types.items() if name != "w"}
    with pytest.raises(IRError, match="wrong-type"):
        replace(graph, types=missing).verify()


def test_with_nodes_drops_what_is_no_longer_read():
    graph = small_graph().with_nodes([relu("x", "z")])
    assert dict(graph.params) == {}
    assert graph.outputs == ("z",)
    assert set(graph.types) == {"x", "z"}


def test_params_and_attributes_cannot_be_changed():
    graph = small_graph()
    with pytest.raises(ValueError, match="read-only"):
        graph.params["w"][0, 0] = 2.0
    with pytest.raises(TypeError):
        graph.nodes[0].attrs["a"] = 1


def test_lists_in_attributes_become_tuples():
    node = Node("y", "Reshape", ("x",), ("y",), {"shape": [3, 2]}, (TensorType((3, 2)),))
    assert node.attrs["shape"] == (3, 2)


def test_equality_is_structural():
    assert small_graph() == small_graph()
    assert hash(small_graph()) == hash(small_graph())
    assert pickle.loads(pickle.dumps(small_graph())) == small_graph()
    other = small_graph().with_nodes(small_graph().nodes, {"w": np.full((2, 3), -1, np.float32)})
    assert other != small_graph()
    assert small_graph() != replace(small_graph(), name="other")
    assert small_graph() != "net"


def test_equality_compares_bits():
    zero, minus_zero, nan = (np.full((2, 3), v, np.float32) for v in (0.0, -0.0, np.nan))
    nodes = small_graph().nodes
    assert small_graph().with_nodes(nodes, {"w": zero}) != small_graph().with_nodes(
        nodes, {"w": minus_zero}
    )
    assert small_graph().with_nodes(nodes, {"w": nan}) == small_graph().with_nodes(
        nodes, {"w": nan}
    )


def test_networkx_view():
    view = small_graph().to_networkx()
    assert list(view.edges(data="value")) == [("y", "z", "y")]
    assert view.nodes["y"]["node"].op == "Relu"


def test_printing_is_short_and_stable():
    b = GraphBuilder("net")
    x = b.input("x", (1, 3, 8, 8))
    y = b.conv(x, np.zeros((4, 3, 3, 3)), strides=2, pads=1, name="c")
    graph = b.build(b.clip(y, 0, 6, name="y"))
    assert str(graph).splitlines() == [
        "graph net(x: f32[1,3,8,8]) -> y",
        "  c = Conv(x, c.weight) dilations=(1,1) group=1 pads=(1,1,1,1) strides=(2,2)"
        " -> f32[1,4,4,4]",
        "  y = Clip(c) max=6 min=0 -> f32[1,4,4,4]",
    ]
