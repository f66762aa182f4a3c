"""`querist.torch`: gradients of the equivalent loss, the coin of the engine, and batches with recorded probabilities."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import querist

torch = pytest.importorskip("torch", reason="PyTorch is missing; crates/python/check --torch installs it")
import querist.torch as qt  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PAIRS = [
    ("logistic", "entropy"),
    ("logistic", "boundary:reach=0.5"),
    ("squared-hinge", "margin:mu=1"),
    ("hinge", "margin:mu=2"),
    ("exponential", "exponential:mu=0.5"),
    ("cross-entropy", "constant:p=0.3"),
]


@pytest.mark.parametrize(("loss", "rule"), PAIRS)
def test_value_and_gradients_are_those_of_the_equivalent_loss(loss, rule):
    module = qt.EquivalentLoss(loss, rule, reduction="none")
    torch.manual_seed(0)
    z = (2 * torch.randn(9, dtype=torch.float64)).requires_grad_()
    y = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1])
    margins = torch.where(y == 1, z, -z).detach().numpy()
    table = querist.tabulate(loss, rule, margins)
    values = module(z, y)
    assert values.tolist() == table["equivalent"].tolist()
    (gradient,) = torch.autograd.grad(values.sum(), z)
    assert gradient.tolist() == (table["equivalent_slope"] * np.where(y.numpy() == 1, 1, -1)).tolist()
    assert torch.autograd.gradcheck(lambda z: module(z, y), (z,))
    assert torch.autograd.gradgradcheck(lambda z: module(z, y), (z,))


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_every_precision_keeps_its_type_and_agrees_to_its_rounding(kind):
    module = qt.EquivalentLoss("logistic", "entropy")
    z = torch.linspace(-3, 3, 12).to(kind).requires_grad_()
    y = (torch.arange(12) % 2).to(kind)
    loss = module(z, y)
    loss.backward()
    assert loss.dtype == z.grad.dtype == kind
    exact = z.detach().double().requires_grad_()
    module(exact, y).backward()
    assert torch.allclose(z.grad.double(), exact.grad, rtol=4 * torch.finfo(kind).eps, atol=0)


def test_shapes_of_targets_and_reductions():
    z = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    y = torch.tensor([[0, 1, 1]] * 4)
    parts = qt.EquivalentLoss("logistic", "entropy", reduction="none")(z, y)
    assert parts.shape == (4, 3)
    assert qt.EquivalentLoss("logistic", "entropy")(z, y).item() == pytest.approx(parts.mean().item())
    assert qt.EquivalentLoss("logistic", "entropy", reduction="sum")(z, y).item() == pytest.approx(parts.sum().item())
    column, pair = z[:, :1], torch.stack([torch.zeros(4), z[:, 0]], 1)
    one = qt.EquivalentLoss("logistic", "entropy")(z[:, 0], y[:, 0]).item()
    for other in (column, pair):
        assert qt.EquivalentLoss("logistic", "entropy")(other, y[:, 0]).item() == pytest.approx(one)
    empty = torch.empty(0, requires_grad=True)
    total = qt.EquivalentLoss("logistic", "entropy", reduction="sum")(empty, torch.empty(0))
    total.backward()
    assert total.item() == 0
    assert empty.grad.shape == (0,)


def test_nan_and_infinity_stay_visible_as_in_other_losses():
    z = torch.tensor([float("nan"), 1.0], requires_grad=True)
    loss = qt.EquivalentLoss("logistic", "entropy", reduction="sum")(z, torch.tensor([1, 1]))
    loss.backward()
    assert loss.isnan()
    assert z.grad.isnan().tolist() == [True, False]


def test_more_than_two_classes_have_an_equivalent_loss_for_a_constant_rule_alone():
    z, y = torch.randn(5, 3, generator=torch.Generator().manual_seed(2)), torch.tensor([0, 1, 2, 2, 1])
    loss = qt.EquivalentLoss("cross-entropy", "constant:p=0.25")(z, y)
    assert loss.item() == pytest.approx(0.25 * torch.nn.functional.cross_entropy(z, y).item())
    with pytest.raises(ValueError, match="no equivalent loss of 'entropy' exists for 3 classes"):
        qt.EquivalentLoss("logistic", "entropy")(z, y)
    with pytest.raises(ValueError, match="^target: need classes from 0 to 2"):
        qt.EquivalentLoss("logistic", "constant:p=0.25")(z, y + 1)
    with pytest.raises(ValueError, match="3 classes need the loss 'cross-entropy', not 'hinge'"):
        qt.EquivalentLoss("hinge", "constant:p=0.25")(z, y)


def test_a_module_is_copied_pickled_and_shown():
    module = qt.EquivalentLoss("logistic", "entropy")
    assert repr(copy.deepcopy(module)) == "EquivalentLoss('logistic', 'entropy', reduction='mean')"
    assert pickle.loads(pickle.dumps(module)).rule == "entropy"
    assert list(module.parameters()) == []


def test_misuse_of_the_loss_names_the_argument():
    module = qt.EquivalentLoss("logistic", "entropy")
    z, y = torch.zeros(3), torch.zeros(3)
    for call, message in [
        (lambda: qt.EquivalentLoss("logistic", "entropi"), "^rule: .*entropi"),
        (lambda: qt.EquivalentLoss("nothing", "entropy"), "^loss: .*nothing"),
        (lambda: qt.EquivalentLoss("squared", "constant:p=0.5"), "^loss: 'squared' is for regression"),
        (lambda: qt.EquivalentLoss("logistic", "entropy", reduction="max"), "^reduction: 'max'"),
        (lambda: module(z, y - 1), "^target: need classes 0 and 1"),
        (lambda: module(z, y + 0.5), "^target: need classes 0 and 1"),
        (lambda: module(z, torch.zeros(4)), r"^target: has shape \(4,\), but the logits have \(3,\)"),
        (lambda: module(z[:, None].expand(3, 3), y[:, None]), "^target: has shape"),
        (lambda: module([0.0], y), "^logits: need a tensor, not list"),
        (lambda: module(z.long(), y), "^logits: need floating-point numbers"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            call()


@pytest.mark.parametrize("rule", ["entropy", "least-confidence", "boundary:reach=0.5", "constant:p=0.2"])
@pytest.mark.parametrize("classes", [2, 5])
def test_coins_are_those_of_the_executors_id_for_id(rule, classes):
    pyarrow = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    y = rng.integers(0, classes, size=200)
    model = querist.ActiveClassifier(l2=1.0).fit(X[:200], y)
    logits = torch.from_numpy(model.decision_function(X))
    for ids in (rng.permutation(10**9 + np.arange(3000)), np.array([f"mail-{i}" for i in range(3000)])):
        # The selector decides for the executors of Spark.
        vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.ravel()), 4)
        decided = querist._querist.Selector(model.to_bytes(), 0, 11, rule, "id", "x", [])
        u, asks = decided.decide(pyarrow.table({"id": ids, "x": vectors}).to_reader())
        mask, p = qt.ask(logits, rule, ids, seed=11)
        assert mask.tolist() == asks.tolist()
        assert 0 < mask.sum() < 3000
        assert p.tolist() == u.tolist()
    order = torch.from_numpy(rng.permutation(3000))
    numbers = torch.arange(3000)
    mask, _ = qt.ask(logits, rule, numbers, seed=11)
    shuffled, _ = qt.ask(logits[order], rule, [str(i) for i in order.tolist()], seed=11)
    assert shuffled.tolist() == mask[order].tolist()


def test_asks_of_tensors_of_any_kind():
    z = torch.randn(50, 1, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(4)).requires_grad_()
    mask, p = qt.ask(z, "entropy", range(50), seed=1)
    again, q = querist.ask(z.detach().float().numpy(), "entropy", range(50), seed=1)
    assert mask.dtype == torch.bool
    assert p.dtype == torch.float32
    assert not p.requires_grad
    assert mask.tolist() == again.tolist()
    assert torch.equal(p, torch.from_numpy(q).float())
    mask, p = qt.ask(torch.empty(0, 4), "entropy", [], seed=1)
    assert mask.shape == p.shape == (0,)


def test_misuse_of_ask_names_the_argument():
    z = torch.zeros(3)
    for call, message in [
        (
            lambda: qt.ask(torch.tensor([0.0, float("nan"), 1.0]), "entropy", range(3)),
            "^logits: contains NaN or infinity in row 1",
        ),
        (lambda: qt.ask(z, "entropy", range(4)), "^ids: 4 ids for 3 rows"),
        (lambda: qt.ask(z, "entropy", [0.5, 1, 2]), "^ids: need integers or strings"),
        (lambda: qt.ask(z, "boundary", range(3)), "^rule: .*units of a pool.*boundary:reach=NUMBER"),
        (lambda: qt.ask(z, "conditional-loss", range(3)), "^rule: .*conditional-loss"),
        (lambda: qt.ask(z, "entropi", range(3)), "^rule: .*entropi"),
        (lambda: qt.ask(z, "entropy", range(3), seed=-1), "^seed: -1"),
        (lambda: qt.ask(z.reshape(1, 1, 3), "entropy", range(1)), "^logits: need a table of numbers"),
        (lambda: qt.ask([0.0], "entropy", range(1)), "^logits: need a tensor"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            call()


def test_a_sampler_draws_like_query_and_records_exact_probabilities():
    z = torch.randn(200, generator=torch.Generator().manual_seed(5))
    sampler = qt.Sampler(z, "entropy", batch_size=32, seed=3, exclude=[0, 1])
    rows = [row for batch in sampler for row in batch]
    assert len(sampler) == 7
    assert sorted(rows) == list(range(2, 200))
    assert rows == sampler.rows.tolist()
    u = querist.uncertainty("entropy", z.double().numpy())
    left = u[2:].sum()
    for row, p in zip(sampler.rows, sampler.probabilities, strict=True):
        assert p == pytest.approx(u[row] / left)
        left -= u[row]
    assert [row for batch in sampler for row in batch] != rows
    again = qt.Sampler(z, "entropy", batch_size=66, seed=3, exclude=[0, 1])
    assert [row for batch in again for row in batch] == rows


def test_new_logits_count_from_the_next_batch_on():
    sampler = qt.Sampler(torch.zeros(40), "margin:mu=1", batch_size=5, n_batches=4, seed=0)
    batches = iter(sampler)
    first = next(batches)
    z = torch.full((40,), 1e6)
    z[7 if 7 not in first else 8] = 0
    sampler.update(z)
    second = next(batches)
    assert second[0] == (7 if 7 not in first else 8)
    assert not set(first) & set(second)
    assert sampler.batches[0].probabilities.tolist() == pytest.approx([1 / n for n in (40, 39, 38, 37, 36)])
    assert sampler.batches[1].probabilities[0] > 0.999
    with pytest.raises(ValueError, match=r"^logits: have shape \(3, 1\)"):
        sampler.update(torch.zeros(3))


def test_a_data_loader_uses_the_sampler_for_batches():
    from torch.utils.data import DataLoader, TensorDataset

    z = torch.randn(30, 3, generator=torch.Generator().manual_seed(6))
    sampler = qt.Sampler(z, batch_size=8, n_batches=2, seed=0)
    loader = DataLoader(TensorDataset(torch.arange(30)), batch_sampler=sampler)
    seen = torch.cat([rows for (rows,) in loader])
    assert len(loader) == 2
    assert seen.tolist() == sampler.rows.tolist()
    for call, message in [
        (lambda: qt.Sampler(torch.empty(0), batch_size=1), "^logits: has no rows"),
        (lambda: qt.Sampler(z, batch_size=8, seed=-1), "^seed: -1"),
        (lambda: querist.ask([[1.0, 2.0], [3.0]], "entropy", [1, 2]), "^logits: "),
        (lambda: qt.Sampler(z, batch_size=31), "^batch_size: 31, need 1 <= batch_size <= 30"),
        (lambda: qt.Sampler(z, batch_size=8, n_batches=5), "^n_batches: 5, need 1 <= n_batches <= 4"),
        (lambda: qt.Sampler(z, batch_size=8, exclude=range(30)), "^exclude: excludes every row"),
        (lambda: list(qt.Sampler(z, "entropi", batch_size=8)), "^rule: .*entropi"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_estimates_from_a_sampler_cover_the_accuracy():
    rng = np.random.default_rng(8)
    z = rng.normal(scale=2, size=2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-z))
    right = (z > 0) == y
    sampler = qt.Sampler(z, "boundary", batch_size=50, n_batches=8, seed=0)
    list(sampler)
    found = querist.estimate(right[sampler.rows], sampler.probabilities, pool=2000)
    assert found.low < right.mean() < found.high


def test_querist_does_not_import_torch():
    code = "import sys, querist; assert 'torch' not in sys.modules; querist.torch.ask; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("part", ["PyTorch", "JAX"])
def test_the_guide_runs(part, capsys):
    if part == "JAX":
        pytest.importorskip("jax")
    page = (Path(__file__).resolve().parents[3] / "docs/how-to/train-networks.md").read_text()
    before, after = page.split("## JAX")
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", before if part == "PyTorch" else after, flags=re.M | re.S)
    for block in blocks:
        exec(compile(block, "train-networks.md", "exec"), names)
    assert len(blocks) >= 2
    if part == "PyTorch":
        assert 0 < names["labels"] < 4000
        assert "95% confidence" in capsys.readouterr().out
    else:
        slopes = querist.tabulate("logistic", "entropy", np.where(names["y"] == 1, 1, -1) * np.asarray(names["x"] @ names["w"]))
        signed = slopes["equivalent_slope"] * np.where(names["y"] == 1, 1, -1)
        expected = (signed[:, None] * np.asarray(names["x"])).mean(axis=0)
        np.testing.assert_allclose(names["gradient"], expected, atol=1e-5)


def test_a_network_on_queried_labels_ends_where_the_equivalent_loss_ends():
    specification = importlib.util.spec_from_file_location("torch_network", EXAMPLES / "torch_network.py")
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)
    for seed in range(3):
        runs = {run: example.train(run, seed)[0][-1] for run in example.RUNS}
        queried = example.distance(runs["queried"], runs["equivalent"])
        original = example.distance(runs["original"], runs["equivalent"])
        assert queried < 0.03
        assert original > 4 * queried
