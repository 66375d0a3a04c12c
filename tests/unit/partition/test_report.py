"""Figures of partitions, partitioners by name, the summary and the drawing."""

import xml.etree.ElementTree as ET

import pytest

import ago
from ago.errors import InputError
from ago.ir.graph import Graph
from ago.models import MODELS
from ago.partition import (
    DEFAULT_THRESHOLD,
    PARTITIONERS,
    Partition,
    dependency_graph,
    find_partitioner,
    one_by_one,
    relay_style,
    summarise,
)
from ago.partition.drawing import draw_partition
from ago.partition.report import compare, report, table
from ago.pipeline import run_passes
from ago.target import TARGETS
from tests.support.dags import chain, dag

TARGET = TARGETS["cortex-a76"]


@pytest.fixture(scope="module")
def mobilenet() -> Graph:
    return run_passes(MODELS["mobilenet_v2"](), TARGET)


def test_figures_by_hand():
    graph = dag([(0, 1), (1, 2), (2, 3)], [4, 4, 0, 8], nbytes={(0, 1): 100, (2, 3): 100})
    found = report(graph, [0, 1, 2, 3], 8, 64, "apart")
    assert found.weights == (4, 4, 0, 8)
    assert found.jain == pytest.approx(16**2 / (4 * 96))
    assert found.trivial == 1
    assert found.complex_operators == (1, 1, 0, 1)
    assert found.large_cuts == ("v000>v001", "v002>v003")
    assert report(graph, [0, 1, 2, 3], 7, 64, "apart").large_cuts == ()
    assert report(graph, [0, 0, 1, 1], 8, 64, "pairs").large_cuts == ()


def test_no_weight_at_all_is_fair():
    assert report(chain(3, 0), [0, 0, 0], 1, 1, "one").jain == 1.0


def test_tables_stand_in_columns():
    assert table([("a", "bb"), ("ccc", "d")]) == "a    bb\nccc   d"


def test_blocks_of_mobilenet_are_the_subgraphs(mobilenet):
    affix, exact, relay = compare(dependency_graph(mobilenet), DEFAULT_THRESHOLD, TARGET.l2_bytes)
    assert affix.complex_operators == (3,) * 17 + (2,)
    assert affix.weights == exact.weights
    assert len(affix.weights) < len(relay.weights)
    assert affix.jain > relay.jain
    assert affix.trivial == 0 < relay.trivial


def test_the_summary_prints_and_serialises(mobilenet):
    summary = summarise(mobilenet, find_partitioner("affix")(mobilenet), TARGET.l2_bytes)
    text = str(summary)
    assert text.startswith("18 subgraphs")
    assert "threshold of affix and exact: 40" in text
    assert [line.split()[0] for line in text.splitlines() if "(" in line] == [
        "this",
        *PARTITIONERS,
    ]
    data = summary.to_dict()
    assert len(data["subgraphs"]) == 18
    assert sum(len(s["nodes"]) for s in data["subgraphs"]) == len(mobilenet.nodes)
    assert set(data["partitioners"]) == {"this", *PARTITIONERS}


def test_cut_tensors_are_named(mobilenet):
    summary = summarise(mobilenet, one_by_one(mobilenet), l2_bytes=1)
    assert f"cut though larger than L2: {summary.chosen.large_cuts[0]}" in str(summary)


def test_partitioners_by_name(mobilenet):
    assert find_partitioner("relay")(mobilenet) == relay_style(mobilenet)
    assert find_partitioner(one_by_one) is one_by_one
    few = find_partitioner("affix", 1e9)(mobilenet)
    assert len(few.subgraphs) == 1
    assert few.threshold == 1e9
    assert len(find_partitioner("exact", 0)(mobilenet).subgraphs) > 100


@pytest.mark.parametrize(
    ("partitioner", "threshold", "message"),
    [
        ("afix", None, "there are affix, exact, relay"),
        ("relay", 3.0, "weight_threshold goes with"),
        (one_by_one, 3.0, "weight_threshold goes with"),
        ("affix", -1.0, "expected a number from 0"),
        ("affix", float("nan"), "expected a number from 0"),
        ("affix", "4", "expected a number from 0"),
        (3, None, "no partitioner is called 3"),
    ],
)
def test_wrong_choices_are_refused(partitioner, threshold, message):
    with pytest.raises(InputError, match=message):
        find_partitioner(partitioner, threshold)


def test_the_drawing_has_a_box_for_each_operator(mobilenet):
    plain = dependency_graph(mobilenet)
    text = draw_partition(plain, [n // 5 for n in range(len(plain.vertices))], "a <title>")
    root = ET.fromstring(text)
    spaces = {"s": "http://www.w3.org/2000/svg"}
    titles = [t.text for t in root.findall("s:g/s:title", spaces)]
    assert len(titles) == len(plain.vertices)
    assert titles[0].startswith(f"{plain.vertices[0].name}: weight")
    boxes = root.findall("s:g/s:rect", spaces)
    corners = {(box.get("x"), box.get("y")) for box in boxes}
    assert len(corners) == len(boxes)
    assert len({box.get("fill") for box in boxes}) == -(-len(boxes) // 5)
    thick = [box for box in boxes if box.get("stroke-width") == "2.5"]
    assert len(thick) == sum(v.kind == "complex" for v in plain.vertices)


def test_a_net_shows_its_partition():
    b = ago.GraphBuilder("small")
    x = b.relu(b.input("x", (1, 8)))
    net = ago.optimize(b.build(b.add(x, x)), partitioner="exact", weight_threshold=5)
    assert str(net.partition).startswith("1 subgraph: weight")
    assert isinstance(net.partition.partition, Partition)
