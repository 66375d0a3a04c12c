"""PyTorch modules, compared with torch itself; skipped where torch is not installed."""

import numpy as np
import pytest

import ago
from ago.errors import InputError, UnsupportedError
from ago.ir.evaluate import evaluate

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")


class InvertedResidual(nn.Module):
    """MobileNet-V2's block."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(8, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU6(inplace=True),
            nn.Conv2d(24, 24, 3, padding=1, groups=24, bias=False), nn.BatchNorm2d(24),
            nn.ReLU6(), nn.Conv2d(24, 8, 1, bias=False), nn.BatchNorm2d(8),
        )  # fmt: skip
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(8, 5))

    def forward(self, x):
        x = x + self.layers(x)
        return self.classifier(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Fire(nn.Module):
    """SqueezeNet's block."""

    def __init__(self):
        super().__init__()
        self.squeeze = nn.Conv2d(8, 4, 1)
        self.left, self.right = nn.Conv2d(4, 8, 1), nn.Conv2d(4, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)

    def forward(self, x):
        x = torch.relu(self.squeeze(self.pool(x)))
        return torch.cat([torch.relu(self.left(x)), torch.relu(self.right(x))], 1)


class Shuffle(nn.Module):
    """ShuffleNet-V2's unit."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1, groups=4)

    def forward(self, x):
        left, right = x.chunk(2, dim=1)
        x = torch.cat((left, self.conv(right)), dim=1)
        batch, channels, height, width = x.shape
        x = x.view(batch, 2, channels // 2, height, width).transpose(1, 2).contiguous()
        return x.view(batch, channels, height, width).mean([2, 3])


class Mixed(nn.Module):
    """MobileViT's: SiLU, patches unfolded and folded, resizing, squeeze and excite."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)
        self.gate = nn.Conv2d(8, 8, 1)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x):
        x = functional.silu(self.norm(self.up(x)))
        scale = functional.hardsigmoid(self.gate(x.mean((2, 3), keepdim=True)))
        x = functional.hardswish(x * scale)
        patches = x.reshape(1, 8, 6, 2, 6, 2).permute(0, 3, 5, 2, 4, 1).reshape(4, 36, 8)
        patches = patches.softmax(-1).reshape(1, 2, 2, 6, 6, 8).permute(0, 5, 3, 1, 4, 2)
        x = functional.interpolate(patches.reshape(1, 8, 12, 12), scale_factor=2, mode="bilinear")
        return functional.avg_pool2d(functional.pad(x, (1, 0, 2, 1), value=0.5), 3, 2, 1)


class Encoder(nn.Module):
    """BERT's layer on tokens."""

    def __init__(self, causal=False):
        super().__init__()
        self.causal = causal
        self.words, self.places = nn.Embedding(50, 32), nn.Embedding(10, 32)
        self.inputs, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.norm, self.wide, self.narrow = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        q, k, v = self.inputs(x).view(*x.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = self.norm(x + self.out(y.transpose(1, 2).reshape(x.shape)))
        x = x + self.narrow(functional.gelu(self.wide(x)))
        return torch.tanh(x[:, 0])


IMAGE, TOKENS = (1, 8, 6, 6), (2, 6)


def seeded(make):
    torch.manual_seed(0)
    module = make().eval()
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.running_mean)
            nn.init.uniform_(layer.running_var, 0.5, 2)
    return module


def example(shape):
    if len(shape) == 2:
        return torch.randint(0, 50, shape)
    return torch.randn(shape)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (InvertedResidual, IMAGE), (Fire, IMAGE), (Shuffle, IMAGE), (Mixed, IMAGE),
        (Encoder, TOKENS), (lambda: Encoder(causal=True), TOKENS),
    ],
)  # fmt: skip
def test_modules_agree_with_torch(make, shape):
    module, x = seeded(make), example(shape)
    graph = ago.from_torch(module, [x])
    (result,) = evaluate(graph, {graph.inputs[0]: x.numpy()}).values()
    with torch.no_grad():
        wanted = module(x).numpy()
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ago.optimize(graph)(x.numpy()), wanted, rtol=1e-4, atol=1e-5)


def test_nodes_are_named_after_submodules():
    graph = ago.from_torch(seeded(InvertedResidual), [example(IMAGE)])
    names = [node.name for node in graph.nodes]
    assert names[0] == "layers.0.conv2d"
    assert "layers.0.weight" in graph.params
    assert "classifier.1.linear" in names


def test_the_module_is_not_changed():
    module = Fire().train()
    ago.from_torch(module, [example(IMAGE)])
    assert module.training


def test_all_operators_that_are_not_supported_are_reported():
    class Odd(nn.Module):
        def forward(self, x):
            return torch.linalg.det(x) + torch.special.i0(x).sum()

    with pytest.raises(UnsupportedError) as error:
        ago.from_torch(Odd(), [torch.eye(3)])
    assert [problem.split("aten.")[1].split(")")[0] for problem in error.value.problems] == [
        "linalg_det", "special_i0",
    ]  # fmt: skip


def test_what_torch_cannot_export():
    class Branching(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(InputError, match="torch cannot export the module"):
        ago.from_torch(Branching(), [torch.ones(3)])
    with pytest.raises(InputError, match="a torch Module is expected"):
        ago.from_torch(abs, [torch.ones(3)])
