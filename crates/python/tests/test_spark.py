"""`querist.spark` on a standalone cluster of one master and two workers gives the local result, even if a worker dies."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import querist
import querist.spark

pyspark = pytest.importorskip("pyspark")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

ROWS, FEATURES = 1_200_000, 8
HOME = Path(pyspark.__file__).parent


class Cluster:
    """A master and workers, each in its own process on loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(folder / "work"),
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        self.processes: list[subprocess.Popen] = []
        master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        self.start("master", *master)
        self.url = self.wait_for_log("master", r"(spark://127\.0\.0\.1:\d+)")
        for name in ("first", "second"):
            worker = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", self.url]
            self.start(name, "org.apache.spark.deploy.worker.Worker", *worker)
            self.wait_for_log(name, "(Successfully registered)")

    def start(self, name: str, *arguments: str) -> None:
        log = open(self.folder / f"{name}.log", "wb")  # noqa: SIM115
        command = [str(HOME / "bin" / "spark-class"), *arguments]
        # A new process group, so that children are killed with it.
        self.processes.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True))

    def wait_for_log(self, name: str, pattern: str) -> str:
        """Waits until a process logs this pattern, and returns the match."""
        for _ in range(1200):
            found = re.search(pattern, (self.folder / f"{name}.log").read_text(errors="replace"))
            if found:
                return found.group(1)
            time.sleep(0.1)
        raise AssertionError(f"{name}: {(self.folder / f'{name}.log').read_text(errors='replace')}")

    def kill_worker(self) -> None:
        """Kills the last worker with its executors immediately."""
        os.killpg(self.processes[-1].pid, signal.SIGKILL)

    def stop(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def spark(cluster) -> Iterator[pyspark.sql.SparkSession]:
    os.environ.update({name: cluster.environment[name] for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")})
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.sql.files.maxPartitionBytes": "4m",
        "spark.local.dir": str(cluster.folder / "driver"),
    }
    builder = pyspark.sql.SparkSession.builder.master(cluster.url).appName("querist")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def pool(tmp_path_factory) -> tuple[Path, querist.ActiveClassifier]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((ROWS, FEATURES), dtype=np.float32)
    vectors = pyarrow.ListArray.from_arrays(np.arange(0, X.size + 1, FEATURES, dtype=np.int32), X.ravel())
    path = tmp_path_factory.mktemp("pool") / "pool.parquet"
    parquet.write_table(pyarrow.table({"id": np.arange(ROWS), "embedding": vectors}), path, row_group_size=100_000)
    labels = X[:400] @ np.linspace(-1, 1, FEATURES) + rng.normal(size=400) > 0
    return path, querist.ActiveClassifier(rule="entropy", l2=1.0).fit(X[:400], labels)


def same(one: querist.Selection, other: querist.Selection) -> None:
    for name in ("id", "uncertainty", "key", "probability", "inclusion"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert (one.rows, one.sum_u, one.threshold) == (other.rows, other.sum_u, other.threshold)


def test_a_cluster_draws_the_same_rows_as_one_machine(spark, pool):
    path, model = pool
    df = spark.read.parquet(f"file://{path}")
    arguments = dict(k=1000, id="id", features="embedding", seed=7)
    local = querist.select(path, model, **arguments)
    assert local.rows == ROWS
    assert len(local) == 1000
    same(querist.spark.select(df, model, **arguments), local)
    # Other partitions, another order and ids as strings; and a rule that reads the pool twice.
    other = df.selectExpr("cast(id as string) as name", "embedding").repartition(7, "name")
    same(querist.spark.select(other, model, k=1000, id="name", features="embedding", seed=7), local)
    small = df.where("id < 20000")
    twice = dict(k=50, id="id", features="embedding", rule="margin")
    table = parquet.read_table(path).slice(0, 20000)
    same(querist.spark.select(small, model, **twice), querist.select(table, model, **twice))


def test_probabilities_and_exclusions_match_those_of_one_machine(spark, pool, tmp_path):
    P = np.random.default_rng(2).dirichlet([0.4] * 3, size=20_000).astype(np.float32)
    table = pyarrow.table({"id": np.arange(len(P)), "p": P.tolist(), "q": P[:, 0]})
    parquet.write_table(table, tmp_path / "scored.parquet", row_group_size=6000)
    df = spark.read.parquet(f"file://{tmp_path}/scored.parquet").repartition(5)
    for column, rule in (("p", None), ("q", "entropy")):
        arguments = dict(k=60, id="id", probabilities=column, rule=rule, seed=4)
        local = querist.select(table, **arguments)
        same(querist.spark.select(df, **arguments), local)
        expected = querist.select(table, exclude=local, **arguments)
        same(querist.spark.select(df, exclude=df.where(df.id.isin(local.id.tolist())), **arguments), expected)
    with pytest.raises(ValueError, match="^probabilities: no column 'x'"):
        querist.spark.select(df, k=1, id="id", probabilities="x")


def test_scores_and_asks_match_those_of_one_machine(spark, pool):
    path, model = pool
    df = spark.read.parquet(f"file://{path}").where("id < 5000")
    table = parquet.read_table(path).slice(0, 5000)
    X = table["embedding"].combine_chunks().flatten().to_numpy().reshape(-1, FEATURES)
    scored = querist.spark.score(df, model, features="embedding").orderBy("id").toArrow()
    assert scored.column_names == ["id", "embedding", "probability"]
    np.testing.assert_allclose(scored["probability"].to_numpy(), model.predict_proba(X)[:, 1], rtol=1e-14)
    asked = querist.spark.ask(df, model, id="id", features="embedding", rule="margin:mu=1", seed=3).toArrow()
    u = asked["asked_with"].to_numpy()
    expected = 1 / (1 + np.abs(model.decision_function(X)))
    np.testing.assert_allclose(u, expected[asked["id"].to_numpy()], rtol=1e-12)
    # A sum of 5000 Bernoulli draws, within 6 standard deviations.
    assert abs(len(u) - expected.sum()) < 6 * np.sqrt((expected * (1 - expected)).sum())
    again = querist.spark.ask(df.repartition(3), model, id="id", features="embedding", rule="margin:mu=1", seed=3)
    assert sorted(again.toArrow()["id"].to_pylist()) == sorted(asked["id"].to_pylist())


def test_executors_decide_queries_of_a_stream_and_the_driver_learns(spark, pool, tmp_path):
    path, first = pool
    source = parquet.read_table(path).slice(0, 6000)
    (tmp_path / "in").mkdir()
    for part in range(3):
        parquet.write_table(source.slice(2000 * part, 2000), tmp_path / "in" / f"{part}.parquet")
    truth = np.linspace(-1, 1, FEATURES)
    learner = {"model": first, "asked": [], "labels": 0}

    def learn(batch, number):
        asked = querist.spark.ask(batch, learner["model"], id="id", features="embedding", rule="margin:mu=1", seed=1).toArrow()
        X = np.array(asked["embedding"].to_pylist(), dtype=np.float32)
        learner["asked"].extend(asked["id"].to_pylist())
        learner["labels"] += len(X)
        clf = querist.ActiveClassifier(rule="entropy", l2=1.0)
        learner["model"] = clf.fit(X, X @ truth > 0)

    stream = spark.readStream.schema("id long, embedding array<float>").option("maxFilesPerTrigger", 1)
    query = stream.parquet(f"file://{tmp_path / 'in'}").writeStream.foreachBatch(learn)
    query.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start().awaitTermination(120)
    assert 0 < learner["labels"] < 6000
    assert len(set(learner["asked"])) == learner["labels"]
    X = source["embedding"].combine_chunks().flatten().to_numpy().reshape(-1, FEATURES)
    assert (learner["model"].predict(X) == (X @ truth > 0)).mean() > 0.97


def test_misuse_is_reported_before_anything_runs(spark, pool):
    path, model = pool
    df = spark.read.parquet(f"file://{path}").limit(10)
    with pytest.raises(ValueError, match="df: no column 'key' among id, embedding"):
        querist.spark.select(df, model, 5, id="key", features="embedding")
    with pytest.raises(TypeError, match="id: need the name of a column"):
        querist.spark.select(df, model, 5, id=None, features="embedding")
    with pytest.raises(ValueError, match="features: the model file has no encoder"):
        querist.spark.select(df, model, 5, id="id")
    with pytest.raises(ValueError, match="column: the DataFrame has a column 'id' already"):
        querist.spark.score(df, model, features="embedding", column="id")
    with pytest.raises(ValueError, match="rule: .*in units of a pool"):
        querist.spark.ask(df, model, id="id", features="embedding", rule="margin")
    with pytest.raises(querist.QueristError, match="there are no rows"):
        querist.spark.select(df.where("id < 0"), model, 5, id="id", features="embedding")
    ragged = df.selectExpr("id", "slice(embedding, 1, 5) as embedding")
    with pytest.raises(Exception, match="a list of 5 numbers; expected 8"):
        querist.spark.select(ragged, model, 5, id="id", features="embedding")


def test_a_worker_killed_during_the_work_changes_nothing(spark, cluster, pool):
    """Must be the last test, because a worker is gone after it."""
    path, model = pool
    df = spark.read.parquet(f"file://{path}").repartition(40, "id")
    arguments = dict(k=1000, id="id", features="embedding", seed=11)
    local = querist.select(path, model, **arguments)
    done: list[querist.Selection] = []
    work = threading.Thread(target=lambda: done.append(querist.spark.select(df, model, **arguments)))
    work.start()
    status = spark.sparkContext.statusTracker()
    finished = 0
    # Some parts are finished and others are not.
    while finished < 5 and work.is_alive():
        stages = [status.getStageInfo(stage) for stage in status.getActiveStageIds()]
        finished = max((stage.numCompletedTasks for stage in stages if stage and stage.numTasks == 40), default=0)
        time.sleep(0.02)
    assert work.is_alive(), "the work was done before a worker could be killed"
    cluster.kill_worker()
    work.join(240)
    assert done, "the work has not ended"
    same(done[0], local)
