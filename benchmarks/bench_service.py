"""The service of the guide: requests a second, latency, memory, and adding rows.

    python benchmarks/bench_service.py --csv benchmarks/results/service.csv
    python benchmarks/bench_service.py --sizes 20000 --seconds 2
    python benchmarks/bench_service.py --python image/bin/python  # what the image has

A folder is built as ``examples/serving/build.py`` does, of random embeddings, with codes of
256 single bits. Larger ones hold its codes again and again, with an eighth of their bits
flipped. Two workers of one thread answer searches for the ten nearest of one vector, JSON
in and out. Clients are threads of another process on the same machine, so that they take
processors away from the workers. Each has one connection.

"cpu_ms" is the CPU time of the workers for a request, which other work on the machine
hardly changes. "p50_ms" and "p99_ms" are percentiles of what one client waits for, and
"requests" what eight are answered in a second. "private_mib" is the memory of a worker that
it has to itself, and "shared_mib" what it maps together with the others. "add_s" is the
time of one request that adds a hundred rows.
"""

import argparse
import csv
import json
import os
import re
import runpy
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
from bench_embeddings import enlarged

from sklearn_talr.codes import PackedCodes
from sklearn_talr.codes._scores import columns_of
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HashedNeighbors

SERVING = Path(__file__).parents[1] / "examples" / "serving"
N_FITTED, N_FEATURES, N_BITS, N_ADDED = 5_000, 384, 256, 100
CLIENTS = 8


def build(folder, n_items):
    """A folder to serve; returns embeddings to ask with."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_FITTED, 96)) @ rng.standard_normal((96, N_FEATURES))
    X = X.astype(np.float32)
    make = runpy.run_path(str(SERVING / "build.py"))["build"]
    make.__globals__["AdditiveHasher"] = partial(AdditiveHasher, word_size=1)
    items = [(row, f"item {row}", f"Title {row}") for row in range(n_items)]
    lines = (json.dumps({"id": i, "title": title}) for _, i, title in items[:N_FITTED])
    make(X, lines, folder)
    if n_items > N_FITTED:
        with closing(sqlite3.connect(folder / "catalog.db")) as catalog, catalog:
            insert = "INSERT INTO items VALUES (?, ?, json_object('title', ?))"
            catalog.executemany(insert, items[N_FITTED:])
        index = HashedNeighbors.load(folder / "index-1")
        codes = enlarged(PackedCodes(index.codes_.data, N_BITS), n_items)
        rows = np.arange(n_items) % N_FITTED
        index._fitted = replace(
            index._fitted,
            words=columns_of(codes.data),
            terms=index._fitted.terms.rows(rows),
            n_indices=n_items,
        )
        index.save(folder / "index-1")
    return X[:200]


class Service:
    """The service in processes of its own; a context manager."""

    def __init__(self, folder, python):
        self.folder, self.python = folder, python

    def __enter__(self):
        self.log = self.folder / "log.txt"
        command = ["serve.py", "app:app", "--port", "0", "--workers", "2"]
        environment = os.environ | {"SEARCH_FOLDER": str(self.folder)}
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [self.python, *command, "--no-access-log"],
                cwd=SERVING,
                env=environment | threads,
                stdout=output,
                stderr=output,
            )
        while self.log.read_text().count("startup complete") < 2:
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text())
            time.sleep(0.1)
        text = self.log.read_text()
        self.port = int(re.search(r"running on http://[\d.]+:(\d+)", text)[1])
        self.workers = [int(n) for n in re.findall(r"server process \[(\d+)\]", text)]
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def cpu_seconds(self):
        """CPU time of both workers so far."""
        ticks = 0
        for worker in self.workers:
            fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """MiB of a worker, in the mean: private, and shared."""
        kib = np.zeros(2)
        for worker in self.workers:
            text = Path(f"/proc/{worker}/smaps_rollup").read_text()
            sizes = {k: int(v) for k, v in re.findall(r"^(\w+): +(\d+) kB", text, re.M)}
            private = sizes["Private_Clean"] + sizes["Private_Dirty"]
            kib += private, sizes["Rss"] - private
        return kib / 1024 / len(self.workers)


def ask(port, bodies, seconds, waits):
    """Search over and over by one connection; append the milliseconds of each request."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.connect()  # and send the body at once, not when the header has arrived
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    until, n = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        start = time.perf_counter()
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/search", bodies[n % len(bodies)], headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(answer)
        waits.append(1e3 * (time.perf_counter() - start))
        n += 1
    connection.close()


def crowd(port, bodies, seconds, n_clients):
    """Milliseconds of all requests of so many clients."""
    waits = []
    rows = (port, bodies, seconds, waits)
    threads = [threading.Thread(target=ask, args=rows) for _ in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return waits


def add_rows(port, X):
    """Seconds of a request that adds rows."""
    names = [f"new {time.time_ns()} {row}" for row in range(N_ADDED)]
    body = {"vectors": X[:N_ADDED].tolist(), "ids": names, "metadata": [{}] * N_ADDED}
    connection, start = HTTPConnection("127.0.0.1", port), time.perf_counter()
    connection.request(
        "POST", "/items", json.dumps(body), {"Content-Type": "application/json"}
    )
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    if response.status != 201:
        raise RuntimeError(answer)
    return time.perf_counter() - start


def size_of(folder):
    """Bytes of all files in a folder."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def measure(n_items, seconds, python):
    """A row of the table."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "data"
        X = build(folder, n_items)
        path = folder / "index-1"
        bodies = [json.dumps({"vectors": [row]}) for row in X.tolist()]
        start = time.process_time()
        HashedNeighbors.load(path, mmap=True)
        loaded, size = time.process_time() - start, size_of(path)
        with closing(sqlite3.connect(folder / "catalog.db")) as catalog:
            assert catalog.execute("SELECT count(*) FROM items").fetchone() == (n_items,)
        with Service(folder, python) as service:
            crowd(service.port, bodies, 3.0, CLIENTS)  # both workers have answered
            before = service.cpu_seconds()
            alone = crowd(service.port, bodies, seconds, 1)
            cpu = (service.cpu_seconds() - before) / len(alone)
            together = crowd(service.port, bodies, seconds, CLIENTS)
            private, shared = service.memory()
            before = service.cpu_seconds()
            waited = add_rows(service.port, X)
            added = service.cpu_seconds() - before
    return {
        "n_items": n_items,
        "file_mb": round(size / 1e6, 1),
        "load_cpu_s": round(loaded, 2),
        "cpu_ms": round(1e3 * cpu, 2),
        "p50_ms": round(float(np.percentile(alone, 50)), 2),
        "p99_ms": round(float(np.percentile(alone, 99)), 2),
        "requests": round(len(together) / seconds),
        "private_mib": round(private),
        "shared_mib": round(shared),
        "add_cpu_s": round(added, 2),
        "add_s": round(waited, 2),
        "load_average": round(os.getloadavg()[0], 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000]
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    rows = []
    for n_items in arguments.sizes:
        rows.append(measure(n_items, arguments.seconds, arguments.python))
        print(rows[-1], flush=True)
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
