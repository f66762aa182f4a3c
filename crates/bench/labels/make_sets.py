"""Makes the twelve benchmark sets from the Debian packages r-cran-mlbench and r-cran-modeldata.

    python3 crates/bench/labels/make_sets.py FOLDER
    python3 crates/bench/labels/make_sets.py FOLDER --spambase spambase.csv

It needs Debian 12 (apt-get, dpkg-deb), Python 3.10 or later with pip, and a network. R is not needed.
The Python package `rdata` reads the R files. If it is not installed, a temporary copy is used.
"""

import argparse
import collections
import csv
import gzip
import lzma
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

PACKAGES = ("r-cran-mlbench", "r-cran-modeldata")
SAMPLE_SEED, SHUFFLE_SEED = 7, 11
Set = collections.namedtuple("Set", "package objects label drop sample numbers_only", defaults=((), None, False))
SETS = {
    "letter": Set("mlbench", ["LetterRecognition"], "lettr", sample=8000),
    "vowel": Set("mlbench", ["Vowel"], "Class", drop=["V1"]),  # V1 is the speaker
    "vehicle": Set("mlbench", ["Vehicle"], "Class"),
    "ionosphere": Set("mlbench", ["Ionosphere"], "Class", drop=["V2"]),  # V2 is constant
    "dna": Set("mlbench", ["DNA"], "Class"),
    "cells": Set("modeldata", ["cells"], "class", drop=["case"]),  # case tells training rows from test rows
    "churn": Set("modeldata", ["mlc_churn"], "churn"),
    "lending": Set("modeldata", ["lending_club"], "Class"),
    "hpc": Set("modeldata", ["hpc_data"], "class"),
    "food_reviews": Set("modeldata", ["training_data", "testing_data"], "score", drop=["product"]),
    "ames": Set("modeldata", ["ames"], "Sale_Price", numbers_only=True),
    "ridership": Set("modeldata", ["Chicago"], "ridership", drop=["date"], sample=3000),
}


def run_command(command, advice=None, **options):
    """Runs a command and tells whether it worked; if advice is given, stops the script if it failed."""
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        if advice:
            reason = (getattr(error, "stderr", "").strip() or str(error)).splitlines()[-1]
            sys.exit(f"`{' '.join(map(str, command))}` failed: {reason}\n{advice}")
        return False
    return True


def load_reader(folder):
    """Imports the package `rdata`; installs a copy in the folder if the import fails."""
    try:
        import rdata
    except ImportError:
        print("Installing the Python package rdata in a temporary folder.")
        advice = "Install pip (Debian: python3-pip), or run `pip install rdata`, and try again."
        run_command([sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "rdata>=1,<2"], advice)
        sys.path.insert(0, str(folder))
        import rdata
    return rdata


def fetch_packages(folder):
    """Downloads and unpacks the Debian packages; returns the folder of the R libraries."""
    folder.mkdir()
    download = ["apt-get", "download", *PACKAGES]
    if not run_command(download, cwd=folder):
        advice = "Use Debian 12. Check the network, run `apt-get update` as root, and try again."
        run_command(["apt-get", "update"], advice)
        run_command(download, advice, cwd=folder)
    for package in sorted(folder.glob("*.deb")):
        print(f"Unpacking {package.name}.")
        run_command(["dpkg-deb", "-x", package, folder], "Check the free space of the disk, and try again.")
    return folder / "usr/lib/R/site-library"


def read_frame(rdata, data, name):
    """Reads a data frame from NAME.rda or from the lazy-load database Rdata, without rows that miss a value."""
    if (data / f"{name}.rda").exists():
        return rdata.read_rda(data / f"{name}.rda")[name].dropna()
    offset, length = map(int, rdata.read_rds(data / "Rdata.rdx")["variables"].get(name, (0, 0)))
    block = (data / "Rdata.rdb").read_bytes()[offset : offset + length]
    if block[4:5] != b"Z":  # a block is its length (4 bytes), the letter Z, and a raw LZMA2 stream
        sys.exit(f"{data / 'Rdata.rdb'} has no object {name} packed with xz. Use r-cran-modeldata 1.1.0 (Debian 12).")
    plain = lzma.decompress(block[5:], format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}])
    return rdata.conversion.convert(rdata.parser.parse_data(plain)).dropna()


def draw_rows(seed, rows, count):
    """Draws `count` of the rows in random order, as R 3.6 or later does: set.seed(seed); sample(rows, count)."""
    words = []
    for _ in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        words.append(seed)
    chance = random.Random()
    chance.setstate((3, (*words[51:], 624), None))
    left, drawn = list(rows), []
    while len(drawn) < count:
        bits, value = (len(left) - 1).bit_length(), 0
        for _ in range(0, bits + 1, 16):
            value = value << 16 | chance.getrandbits(32) >> 16
        value &= (1 << bits) - 1
        if value < len(left):
            drawn.append(left[value])
            left[value] = left[-1]
            left.pop()
    return drawn


def take_sample(rows, count):
    """Takes a seeded sample of the rows and keeps their order."""
    return [rows[i] for i in sorted(draw_rows(SAMPLE_SEED, range(len(rows)), count))]


def convert_column(values):
    """Turns a column into numbers if all its values are numbers, else into text."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return [str(value) for value in values]


def format_cell(value):
    """Formats a number with 15 digits, and quotes text."""
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else f"{value + 0.0:.15g}"


def build_set(rdata, libraries, wanted):
    """Builds the header and the rows of a set: id first, label last."""
    rows = []
    for frame in (read_frame(rdata, libraries / wanted.package / "data", name) for name in wanted.objects):
        names = [name for name in frame.columns if name != wanted.label and name not in wanted.drop]
        if wanted.numbers_only:
            names = [name for name in names if frame[name].dtype.kind in "if"]
        columns = [convert_column(frame[name]) for name in names]
        label = convert_column(frame[wanted.label])
        columns.append([math.log10(price) for price in label] if wanted.label == "Sale_Price" else label)
        rows.extend(zip(*columns, strict=True))
    rows = take_sample(rows, wanted.sample) if wanted.sample else rows
    rows = draw_rows(SHUFFLE_SEED, rows, len(rows))
    return ["id", *map(str, names), "label"], [(f"r{at:05}", *row) for at, row in enumerate(rows, 1)]


def thin_spambase(path, percent):
    """Keeps all negative rows and a sample of the positive rows, so that `percent` of the rows are positive."""
    try:
        header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError) as error:
        sys.exit(f"{path} was not read: {error}. Give a CSV file with a header after --spambase.")
    positive, negative = ([row for row in rows if row[-1:] == [value]] for value in "10")
    count = round(len(negative) * percent / (100 - percent))
    if header[-1] != "label" or len(positive) + len(negative) != len(rows):
        sys.exit(f"{path}: the last column must be `label` with the values 0 and 1.")
    if not 0 < count <= len(positive):
        sys.exit(f"{path}: {percent:g} % needs {count} positive rows, it has {len(positive)}. Choose another --thin.")
    rows = draw_rows(SHUFFLE_SEED, negative + take_sample(positive, count), len(negative) + count)
    return header, [(row[0], *convert_column(row[1:-1]), row[-1]) for row in rows]


def write_set(path, header, rows):
    """Writes a gzip CSV file with a fixed time stamp, and prints its rows and classes."""
    text = "".join(",".join(map(format_cell, row)) + "\n" for row in [header, *rows])
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    labels = [row[-1] for row in rows]
    if isinstance(labels[0], str):
        counts = ", ".join(f"{label} {count}" for label, count in sorted(collections.Counter(labels).items()))
    else:
        counts = f"numbers from {min(labels):.6g} to {max(labels):.6g}, mean {math.fsum(labels) / len(labels):.6g}"
    print(f"{path.name}: {len(rows)} rows, {len(header) - 2} columns; {counts}")


def main():
    """Reads the arguments, makes the sets and reports them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="where the sets are written")
    parser.add_argument("--spambase", type=pathlib.Path, metavar="FILE", help="also thin this file (id first, label last)")
    parser.add_argument("--thin", type=float, default=2, metavar="PERCENT", help="positive rows of the thinned file (2)")
    arguments = parser.parse_args()
    if not 0 < arguments.thin < 100:
        parser.error(f"--thin {arguments.thin:g} is not a percentage. Give a number between 0 and 100.")
    thinned = thin_spambase(arguments.spambase, arguments.thin) if arguments.spambase else None
    arguments.folder.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", category=UserWarning)  # rdata warns of each text without a stated encoding
    with tempfile.TemporaryDirectory() as temporary:
        libraries = fetch_packages(pathlib.Path(temporary, "debian"))
        rdata = load_reader(pathlib.Path(temporary, "python"))
        for name, wanted in SETS.items():
            write_set(arguments.folder / f"{name}.csv.gz", *build_set(rdata, libraries, wanted))
    if thinned:
        write_set(arguments.folder / f"spambase_{arguments.thin:g}pct.csv.gz", *thinned)


if __name__ == "__main__":
    main()
