"""The next 1000 rows of 10^7 x 50 in Parquet: querist select, and the same by polars, duckdb, datafusion and pandas.

    python crates/bench/select/run.py --querist target/release/querist --folder FOLDER [--rounds 5] [--rows 1e7]

Makes the pool and a model in FOLDER once, then runs everyone in turn, each in a process of its own, and prints medians of
wall time, of CPU time and of peak memory. Lines that say `again` are the second call within a process, without its start,
imports and first touch of memory; querist is always a whole process. Everyone computes the score (the model's weights with
its scaling folded in), the entropy of the score, a key -log(u)/U with u at random by id, the 1000 smallest keys, and, all but
datafusion, the sum of U.
Needs numpy, pyarrow, polars, duckdb, datafusion, pandas.
"""

import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
COLUMNS, K = 50, 1000


def weights(model):
    """The model's weights for raw numbers: (x - mean)/deviation is folded in."""
    data = pathlib.Path(model).read_bytes()
    (length,) = struct.unpack_from("<Q", data, 24)
    header = json.loads(data[40 : 40 + length])
    place = 40 + length
    arrays = {}
    while len(arrays) < 2:
        (k,) = struct.unpack_from("<Q", data, place)
        name, (m,) = data[place + 8 : place + 8 + k].decode(), struct.unpack_from("<Q", data, place + 8 + k)
        arrays[name] = struct.unpack_from(f"<{m}d", data, place + 16 + k)
        place += 16 + k + 8 * m
    *given, intercept = arrays["mean"]
    raw = []
    for field, weight in zip(header["encoder"]["fields"], given, strict=False):
        scale = field["coding"]["number"]
        raw.append((field["column"], weight / scale["deviation"]))
        intercept -= weight * scale["mean"] / scale["deviation"]
    return raw, intercept


def by_polars(path, terms, intercept):
    import polars

    score = polars.sum_horizontal([polars.col(name) * weight for name, weight in terms]) + intercept
    p = 1 / (1 + (-score.abs()).exp())
    rows = polars.scan_parquet(path).select("id", u=-(p * p.log() + (1 - p) * (1 - p).log()))
    unit = (polars.col("id").hash(7).cast(polars.Float64) + 0.5) * 2.0**-64
    keyed = rows.with_columns(key=-unit.log() / polars.col("u"))
    # One pass for both: the sum must not read the pool again.
    drawn, total = polars.collect_all([keyed.bottom_k(K, by="key"), keyed.select(polars.col("u").sum())], engine="streaming")
    return drawn.height, total.item()


def by_duckdb(path, terms, intercept):
    import duckdb

    score = " + ".join(f"{name} * {weight!r}" for name, weight in terms) + f" + {intercept!r}"
    query = f"""
        with scored as (select id, 1 / (1 + exp(-abs({score}))) as p from read_parquet('{path}')),
             uncertain as (select id, -(p * ln(p) + (1 - p) * ln(1 - p)) as u from scored),
             keyed as (select id, u, -ln((hash(id)::double + 0.5) / 18446744073709551616.0) / u as key from uncertain)
        select min({{'key': key, 'id': id, 'u': u}}, {K}) as drawn, sum(u) as total from keyed
    """
    drawn, total = duckdb.sql(query).fetchall()[0]
    return len(drawn), total


def by_datafusion(path, terms, intercept):
    import datafusion

    context = datafusion.SessionContext()
    context.register_parquet("pool", str(path))
    score = " + ".join(f"{name} * {weight!r}" for name, weight in terms) + f" + {intercept!r}"
    query = f"""
        with scored as (select id, 1 / (1 + exp(-abs({score}))) as p from pool),
             uncertain as (select id, -(p * ln(p) + (1 - p) * ln(1 - p)) as u from scored)
        select id, u, -ln(random()) / u as key from uncertain order by key limit {K}
    """
    # The sum beside the k smallest would hold all rows in a window; it is left out, which is to its advantage.
    drawn = context.sql(query).to_arrow_table()
    return drawn.num_rows, None


def by_pandas(path, terms, intercept):
    import numpy
    import pandas

    table = pandas.read_parquet(path)
    score = table[[name for name, _ in terms]].to_numpy() @ numpy.array([w for _, w in terms], numpy.float32) + intercept
    p = 1 / (1 + numpy.exp(-numpy.abs(score.astype(numpy.float64))))
    u = -(p * numpy.log(p) + (1 - p) * numpy.log1p(-p))
    key = numpy.random.default_rng(7).exponential(size=len(u)) / u
    drawn = numpy.argpartition(key, K)[:K]
    return len(table["id"].to_numpy()[drawn]), u.sum()


PEERS = {"polars": by_polars, "duckdb": by_duckdb, "datafusion": by_datafusion, "pandas": by_pandas}


def measured(command):
    """Wall time, CPU time and peak memory of a process; those of its second call where it tells them."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    if status != 0:
        raise SystemExit(f"{command}: ended with {status}")
    if "--again" in command:
        wall, cpu = json.loads(said)
    return wall, cpu, usage.ru_maxrss / 1024


def again(work):
    """Wall time and CPU time of the second call."""
    work()
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def prepare(folder, querist, rows):
    folder.mkdir(parents=True, exist_ok=True)
    pool, model = folder / "pool.parquet", folder / "model.querist"
    if not pool.exists():
        subprocess.run([sys.executable, HERE / "make.py", folder, str(rows)], check=True)
    if not model.exists():
        learn = [querist, "pool", folder / "labelled.csv", "--label", "label", "--budget", "200", "--rule", "entropy"]
        subprocess.run([*learn, "--model", model, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return pool, model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--querist", default="target/release/querist")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", default="1e7")
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    pool, model = prepare(arguments.folder, arguments.querist, arguments.rows)
    if arguments.peer:
        terms = weights(model)
        found = (again if arguments.again else lambda work: work())(lambda: PEERS[arguments.peer](pool, *terms))
        print(json.dumps(found))
        return
    commands = {"querist": [arguments.querist, "select", pool, "--model", model, "-k", str(K), "--json", "--quiet"]}
    for peer in PEERS:
        commands[peer] = [sys.executable, __file__, "--folder", arguments.folder, "--peer", peer]
        if peer != "pandas":
            commands[f"{peer}, again"] = [*commands[peer], "--again"]
    figures = {name: [] for name in commands}
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            figures[name].append(measured(command))
    print(f"{'':19}{'wall s':>8}{'CPU s':>8}{'MB':>8}   wall and CPU as multiples of querist's")
    median = {name: [statistics.median(part) for part in zip(*runs, strict=False)] for name, runs in figures.items()}
    ours = median["querist"]
    for name, (wall, cpu, memory) in median.items():
        print(f"{name:19}{wall:8.2f}{cpu:8.2f}{memory:8.0f}   {wall / ours[0]:.2f}  {cpu / ours[1]:.2f}")


if __name__ == "__main__":
    main()
