"""The service of the guide, as its Dockerfile starts it: two processes, and no PyTorch."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from sklearn_talr.neighbors import HashedNeighbors

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("skops")

ROOT = Path(__file__).parents[2]
SERVING = ROOT / "examples" / "serving"
N_ITEMS, N_FEATURES = 500, 16
SECONDS_TO_WAIT = 300
ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "numba", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""  # what the image does not have
X = np.random.default_rng(0).normal(size=(N_ITEMS + 100, N_FEATURES)).astype(np.float32)


class Service:
    """The process that the last line of the Dockerfile starts, on a port of its own."""

    def __init__(self, folder, log):
        log.write_text("")
        (log.parent / "sitecustomize.py").write_text(ABSENT)
        joined = dockerfile().replace("\\\n", "")
        command = json.loads(re.search(r"^CMD (.*)", joined, re.M)[1])
        command[command.index("--host") + 1] = "127.0.0.1"
        command[command.index("--port") + 1] = "0"
        paths = os.pathsep.join([str(log.parent), str(ROOT)])
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, *command[1:]],
                cwd=SERVING,
                env=os.environ
                | {"SEARCH_FOLDER": str(folder), "PYTHONPATH": paths}
                | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                stdout=output,
                stderr=output,
            )
        self.log, self.folder = log, folder
        started = "Application startup complete"
        wait_until(lambda: log.read_text().count(started) == 2, self.process, log)
        self.port = int(re.search(r"running on http://[\d.]+:(\d+)", log.read_text())[1])

    def ask(self, method, path, body=None, headers=()):
        """Status and answer of one request, by a connection of its own."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_TO_WAIT)
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        try:
            headers = {"Content-Type": "application/json"} | dict(headers)
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def search(self, vectors, n_neighbors=1):
        """Answers of a search that must succeed."""
        body = {"vectors": np.asarray(vectors).tolist(), "n_neighbors": n_neighbors}
        status, answer = self.ask("POST", "/search", body)
        assert status == 200, answer
        return answer

    def add(self, rows):
        """Add rows of `X` by their numbers."""
        body = {
            "vectors": X[rows].tolist(),
            "ids": [f"photo {row}" for row in rows],
            "metadata": [{"row": row} for row in rows],
        }
        return self.ask("POST", "/items", body)

    def both_workers_have(self, n_items):
        """Wait until no worker answers from an older index."""

        def all_have():
            answers = [self.ask("GET", "/health")[1]["n_items"] for _ in range(20)]
            return set(answers) == {n_items}

        wait_until(all_have, self.process, self.log)

    def stop(self):
        """End the process and its workers."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(SECONDS_TO_WAIT)


def dockerfile():
    """The file, with lines joined that a backslash continues."""
    text = (SERVING / "Dockerfile").read_text(encoding="utf-8")
    return re.sub(r"\\\n\s*", "", text)


def wait_until(condition, process, log):
    """Wait for a condition, as long as the service runs."""
    until = time.monotonic() + SECONDS_TO_WAIT
    while not condition():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start the service, as often as asked, on one folder; what runs is ended."""
    root = tmp_path_factory.mktemp("service")
    build = runpy.run_path(str(SERVING / "build.py"))["build"]
    items = [{"id": f"photo {row}", "row": row} for row in range(N_ITEMS)]
    build(X[:N_ITEMS], items, root / "data", n_bits=16)
    running = []

    def start_one():
        running.append(Service(root / "data", root / f"log-{len(running)}.txt"))
        return running[-1]

    yield start_one
    for service in running:
        if service.process.poll() is None:
            service.stop()


@pytest.fixture(scope="module")
def service(start):
    return start()


def test_ids_and_metadata_of_the_nearest_are_found(service):
    index = HashedNeighbors.load(service.folder / "index-1.npz")
    distances, places = index.kneighbors(X[:3], 5)
    for row, found in enumerate(service.search(X[:3], 5)):
        assert [item["metadata"]["row"] for item in found] == places[row].tolist()
        assert [item["id"] for item in found] == [f"photo {i}" for i in places[row]]
        np.testing.assert_allclose([item["distance"] for item in found], distances[row])
    assert service.ask("GET", "/health") == (200, {"version": 1, "n_items": N_ITEMS})


ROW = [1.0] * N_FEATURES
NEW = {"vectors": [ROW], "ids": ["new"], "metadata": [{}]}
BAD = [
    ("/search", "", 422, "Field required"),
    ("/search", "{", 422, "JSON decode error"),
    ("/search", "[" * 100_000, 400, "parsing the body"),
    ("/search", {"vectors": []}, 422, "at least 1 item"),
    ("/search", {"vectors": [ROW] * 101}, 422, "at most 100 items"),
    ("/search", {"vectors": [[1.0, 2.0]]}, 422, "must have 16 numbers"),
    ("/search", {"vectors": [["a"] * N_FEATURES]}, 422, "a valid number"),
    ("/search", {"vectors": [[np.nan] * N_FEATURES]}, 422, "less than or equal to 1"),
    ("/search", {"vectors": [[np.inf] * N_FEATURES]}, 422, "less than or equal to 1"),
    ("/search", {"vectors": [[1e300] * N_FEATURES]}, 422, "less than or equal to 1"),
    ("/search", {"vectors": [[10**400] * N_FEATURES]}, 422, "a valid number"),
    ("/search", {"vectors": [ROW], "n_neighbors": 0}, 422, "greater than or equal to 1"),
    ("/search", {"vectors": [ROW], "n_neighbors": 101}, 422, "less than or equal to 100"),
    ("/items", NEW | {"ids": []}, 422, "equally many"),
    ("/items", NEW | {"ids": [""]}, 422, "at least 1 character"),
    ("/items", NEW | {"ids": ["\ud800"]}, 422, "valid string"),
    ("/items", NEW | {"ids": ["photo 3"]}, 409, "there already"),
    ("/items", NEW | {"metadata": [{"price": np.nan}]}, 422, "metadata: Out of range"),
    ("/items", {name: 2 * values for name, values in NEW.items()}, 409, "comes twice"),
]


def test_bad_input_is_refused_with_a_reason(service):
    for path, body, expected, reason in BAD:
        status, answer = service.ask("POST", path, body)
        assert (status, reason in json.dumps(answer)) == (expected, True), (body, answer)
        assert len(json.dumps(answer)) < 2_000
    assert "Traceback" not in service.log.read_text()
    assert service.ask("GET", "/health")[1]["version"] == 1


def test_long_bodies_and_those_of_unknown_length_are_refused(service):
    long = {"Content-Length": "3000000"}
    assert service.ask("POST", "/search", "{}", long)[0] == 413
    chunked = {"Transfer-Encoding": "chunked"}
    assert service.ask("POST", "/search", "0\r\n\r\n", chunked)[0] == 411


def test_rows_are_added_while_others_search_and_outlive_a_restart(service, start):
    done = Event()

    def search_on():
        n_found = 0
        while not done.is_set():
            found = [item["metadata"]["row"] for [item] in service.search(X[:20])]
            assert found == list(range(20))
            n_found += 1
        return n_found

    blocks = [list(range(N_ITEMS + i, N_ITEMS + i + 5)) for i in range(0, 40, 5)]
    with ThreadPoolExecutor(5) as pool:
        searches = [pool.submit(search_on) for _ in range(3)]
        statuses = [pool.submit(service.add, rows) for rows in blocks]
        assert [future.result()[0] for future in statuses] == [201] * len(blocks)
        done.set()
        assert all(future.result() > 0 for future in searches)
    assert service.ask("DELETE", "/items/photo%20501")[0] == 200
    assert service.ask("DELETE", "/items/photo%20501")[0] == 404
    service.both_workers_have(N_ITEMS + 39)
    assert len(list(service.folder.glob("index-*.npz"))) == 2
    service.stop()
    crashed = service.folder / "index-11.npz"  # of a writer that ended before its commit
    crashed.write_bytes(b"half a file")
    again = start()
    rows = [*range(N_ITEMS, N_ITEMS + 40)]
    found = [item["metadata"]["row"] for [item] in again.search(X[rows])]
    assert found[:1] + found[2:] == rows[:1] + rows[2:]
    assert found[1] != 501
    assert again.add([N_ITEMS + 50])[0] == 201
    again.both_workers_have(N_ITEMS + 40)
    assert [item["id"] for [item] in again.search(X[[550]])] == ["photo 550"]
    assert "Traceback" not in service.log.read_text() + again.log.read_text()


def test_the_image_has_what_the_service_imports():
    installed = set(
        re.search(r"pip install --no-cache-dir (\w.*?) &&", dockerfile())[1].split()
    )
    imported = set(
        re.findall(r"^(?:from|import) (\w+)", (SERVING / "app.py").read_text(), re.M)
    )
    foreign = imported - set(sys.stdlib_module_names) - {"sklearn_talr", "pydantic"}
    of_the_package = {"numpy", "scipy", "scikit-learn", "skops"}
    assert installed == of_the_package | foreign | {"uvicorn"}
    assert "--no-deps sklearn-talr" in dockerfile()
    assert "torch" not in installed
