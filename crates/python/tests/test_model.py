"""`querist.load`: models of the command line predict in Python like `querist predict`, and convert to scikit-learn."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import querist

ROWS = 300


def table(kind: str) -> pd.DataFrame:
    """Numbers of different scales, one of them constant and one far from 0; labels of a kind; and a column of words."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, 3)) * [1, 10, 0.01] + [0, 1e6, 5]
    score = X[:, 0] + (X[:, 1] - 1e6) / 10 + 0.3 * rng.normal(size=ROWS)
    labels = {
        "two": np.where(score > 0, "no", "yes"),
        "three": np.digitize(score, [-0.7, 0.7]).astype("U1"),
        "number": score.round(4),
    }
    df = pd.DataFrame(X, columns=["a", "b", "c"])
    df.insert(0, "id", [f"row {i}" for i in range(ROWS)])
    return df.assign(same=7.0, label=labels[kind])


@pytest.fixture(scope="module")
def trained(program, tmp_path_factory):
    """Trains models with the command line, once for each kind of labels and options."""
    made: dict[tuple[str, ...], tuple[Path, pd.DataFrame, pd.DataFrame]] = {}

    def train(kind: str, *options: str) -> tuple[Path, pd.DataFrame, pd.DataFrame]:
        key = (kind, *options)
        if key not in made:
            folder = tmp_path_factory.mktemp("model")
            df = table(kind)
            df.to_csv(folder / "rows.csv", index=False)
            command = [program, "pool", "rows.csv", "--budget", "60", "--model", "m.querist", "--seed", "1", *options]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            predicted = subprocess.run(
                [program, "predict", "m.querist", "rows.csv"], cwd=folder, check=True, capture_output=True
            )
            made[key] = folder, df, pd.read_csv(io.BytesIO(predicted.stdout), dtype={"label": str})
        return made[key]

    return train


@pytest.mark.parametrize("kind", ["two", "three"])
def test_predictions_are_those_of_the_command_line(trained, kind):
    folder, df, expected = trained(kind)
    model = querist.load(folder / "m.querist")
    predicted = model.predict(df)
    assert predicted.tolist() == expected.label.tolist()
    assert model.predict_proba(df).max(axis=1) == pytest.approx(expected.probability, abs=1e-6)
    assert model.classes_.tolist() == sorted(set(df.label))
    assert model.columns == ["a", "b", "c", "same"]
    scores = model.decision_function(df)
    assert scores.shape == ((ROWS,) if kind == "two" else (ROWS, 3))
    for rows in (folder / "rows.csv", str(folder / "rows.csv"), pl.from_pandas(df), df.iloc[:, ::-1]):
        assert model.decision_function(rows).tolist() == scores.tolist()


@pytest.mark.parametrize("kind", ["two", "three"])
def test_a_pipeline_predicts_the_same(trained, kind):
    folder, df, _ = trained(kind)
    model = querist.load(folder / "m.querist")
    pipeline = model.to_sklearn()
    assert [type(step).__name__ for _, step in pipeline.steps] == ["StandardScaler", "LogisticRegression"]
    X = df[model.columns]
    assert pipeline.predict(X).tolist() == model.predict(df).tolist()
    np.testing.assert_allclose(pipeline.predict_proba(X), model.predict_proba(df), atol=1e-5)
    assert pipeline.classes_.tolist() == model.classes_.tolist()
    assert pipeline.feature_names_in_.tolist() == model.columns
    # It can be cloned and fitted again.
    from sklearn.base import clone

    assert clone(pipeline).fit(X, df.label).score(X, df.label) > 0.8


def test_a_regression_has_numbers_and_no_probabilities(trained):
    folder, df, expected = trained("number")
    model = querist.load(folder / "m.querist")
    assert model.classes_ is None
    assert model.predict(df) == pytest.approx(expected.label.astype(float), abs=1e-6)
    pipeline = model.to_sklearn()
    assert type(pipeline[-1]).__name__ == "LinearRegression"
    np.testing.assert_allclose(pipeline.predict(df[model.columns]), model.predict(df), atol=1e-4)
    with pytest.raises(ValueError, match="^predict_proba: the loss 'squared' defines no probabilities"):
        model.predict_proba(df)


def test_models_without_an_equal_in_scikit_learn_say_why(trained, program, tmp_path):
    folder, df, _ = trained("two", "--loss", "squared-hinge")
    model = querist.load(folder / "m.querist")
    assert set(model.predict(df)) == {"no", "yes"}
    with pytest.raises(ValueError, match="no equal in scikit-learn, because its loss is 'squared-hinge'"):
        model.to_sklearn()
    words = df.assign(text=["some words about " + label for label in df.label], kind=["x", "y"] * (ROWS // 2))
    words[["id", "a", "text", "kind", "label"]].to_csv(tmp_path / "rows.csv", index=False)
    command = [program, "pool", "rows.csv", "--budget", "40", "--model", "m.querist"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    texts = querist.load(tmp_path / "m.querist")
    assert (texts.predict(words) == words.label).mean() > 0.9
    with pytest.raises(ValueError, match="not all its columns are numbers: 'kind', 'text'"):
        texts.to_sklearn()
    for kind, name in [("kernel", "kernel:landmarks=20"), ("forest", "forest:trees=30")]:
        command = [program, "pool", str(folder / "rows.csv"), "--budget", "40", "--model", name, "--model", f"{kind}.querist"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        curved = querist.load(tmp_path / f"{kind}.querist")
        assert curved.kind == kind
        assert (curved.predict(df) == df.label).mean() > 0.7
        with pytest.raises(ValueError, match=f"it is a {kind} model"):
            curved.to_sklearn()


def test_models_of_a_classifier_load_as_well(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.integers(0, 3, size=90)
    clf = querist.ActiveClassifier(l2=1.0).fit(X, y)
    clf.save(tmp_path / "m.querist")
    model = querist.load(tmp_path / "m.querist")
    assert model.predict(X).tolist() == clf.predict(X).tolist()
    assert model.predict_proba(X).tolist() == clf.predict_proba(X).tolist()
    np.testing.assert_allclose(model.to_sklearn().predict_proba(X), clf.predict_proba(X), atol=1e-6)
    named = querist.ActiveClassifier(l2=1.0).fit(pd.DataFrame(X, columns=["u", "v"]), y)
    named.save(tmp_path / "named.querist")
    df = pd.DataFrame(X, columns=["u", "v"]).assign(other="text")[["other", "v", "u"]]
    assert querist.load(tmp_path / "named.querist").predict(df).tolist() == named.predict(df[["u", "v"]]).tolist()


def test_misuse_names_what_is_missing(trained, tmp_path):
    folder, df, _ = trained("two")
    model = querist.load(folder / "m.querist")
    (tmp_path / "not.querist").write_text("hello")
    for call, message in [
        (lambda: querist.load(tmp_path / "none"), "^path: there is no file"),
        (lambda: querist.load(tmp_path / "not.querist"), "not a Querist model file"),
        (lambda: model.predict(tmp_path / "none.csv"), "^X: there is no file or folder"),
        (lambda: model.predict(np.zeros((2, 4))), "^X: need a file or a table with the columns a, b, c, same, not ndarray"),
        (lambda: model.predict(df.drop(columns="b")), "no column `b` among id, a, c"),
        (lambda: model.predict(df.assign(a=np.nan)), "row 1, column `a`: a missing value"),
    ]:
        with pytest.raises((TypeError, OSError, querist.QueristError), match=message):
            call()
