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

from sklearn_talr import warm_up
from sklearn_talr.hashing import AdditiveHasher
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
        if name.partition(".")[0] in ("torch", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""  # what the image does not have
X = np.random.default_rng(0).normal(size=(N_ITEMS + 100, N_FEATURES)).astype(np.float32)


# Two workers import all that an image has and load all loops: half a minute.
starts_workers = pytest.mark.slow

PORT = re.compile(r"running on http://[\d.]+:(\d+)")
KEYS = ["year", "", "a.b", 'say "é"', "\\", "'; DROP TABLE items; --"]
VALUES = [2024, 2023.5, 2025.0, -1, "2024", "boat", "Boot 🚣", "", True, None, [2024], {}]


def dockerfile():
    """The file, with lines joined that a backslash continues."""
    text = (SERVING / "Dockerfile").read_text(encoding="utf-8")
    return re.sub(r"\\\n\s*", "", text)


def metadata(row):
    """Metadata of a row: its number, and other values under some keys."""
    return {"row": row, KEYS[row % 6]: VALUES[row % 11], "even": row % 2 == 0}


class Service:
    """The process that the last line of the Dockerfile starts, on a port of its own."""

    def __init__(self, folder, log, n_workers):
        log.write_text("")
        (log.parent / "sitecustomize.py").write_text(ABSENT)
        joined = dockerfile().replace("\\\n", "")
        command = json.loads(re.search(r"^CMD (.*)", joined, re.M)[1])
        command[command.index("--host") + 1] = "127.0.0.1"
        command[command.index("--port") + 1] = "0"
        assert command[command.index("--workers") + 1] == "2"
        command[command.index("--workers") + 1] = str(n_workers)
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
        self.log, self.folder, self.n_workers = log, folder, n_workers
        wait_until(self.has_started, self.process, log)
        self.port = int(PORT.search(log.read_text())[1])

    def has_started(self):
        """Whether all workers answer; a single one says its port last."""
        text = self.log.read_text()
        n_started = text.count("Application startup complete")
        return n_started == self.n_workers and PORT.search(text) is not None

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

    def search(self, vectors, n_neighbors=1, **more):
        """Answers of a search that must succeed."""
        body = {"vectors": np.asarray(vectors).tolist(), "n_neighbors": n_neighbors} | more
        status, answer = self.ask("POST", "/search", body)
        assert status == 200, answer
        return answer

    def add(self, rows):
        """Add rows of `X` by their numbers."""
        body = {
            "vectors": X[rows].tolist(),
            "ids": [f"photo {row}" for row in rows],
            "metadata": [metadata(row) for row in rows],
        }
        return self.ask("POST", "/items", body)

    def all_workers_have(self, n_items):
        """Wait until no worker answers from an older index."""

        def all_have():
            answers = [self.ask("GET", "/health")[1]["n_items"] for _ in range(20)]
            return set(answers) == {n_items}

        wait_until(all_have, self.process, self.log)

    def stop(self):
        """End the process and its workers."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(SECONDS_TO_WAIT)


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
    items = [{"id": f"photo {row}"} | metadata(row) for row in range(N_ITEMS)]
    build(X[:N_ITEMS], map(json.dumps, items), root / "data", n_bits=16)
    # Both workers do this when they start, and each would compile all that no test has
    # compiled yet.
    warm_up()
    running = []

    def start_one(n_workers):
        log = root / f"log-{len(running)}.txt"
        running.append(Service(root / "data", log, n_workers))
        return running[-1]

    yield start_one
    for service in running:
        if service.process.poll() is None:
            service.stop()


@pytest.fixture(scope="module")
def service(start):
    return start(n_workers=2)


@starts_workers
def test_ids_and_metadata_of_the_nearest_are_found(service):
    index = HashedNeighbors.load(service.folder / "index-1")
    distances, places = index.kneighbors(X[:3], 5)
    for row, found in enumerate(service.search(X[:3], 5)):
        assert [item["id"] for item in found] == places[row].tolist()
        rows = [item["metadata"]["row"] for item in found]
        assert [f"photo {i}" for i in rows] == places[row].tolist()
        np.testing.assert_allclose([item["distance"] for item in found], distances[row])
    assert service.ask("GET", "/health") == (200, {"version": 1, "n_items": N_ITEMS})


RANGES = [[2023, 2024.5], [-1, 2024], ["2", "bz"], ["", "2024"], [3, 2], [0, True]]
FILTERS = [{key: value} for key in KEYS for value in VALUES[:9] + RANGES]
FILTERS += [{}, {"even": True}, {"row": [17, 40]}, {"row": 17}, {"none": 1}]
FILTERS += [f | {"even": False} for f in FILTERS] + [{"row": [30, 300], "year": 2024}]


def passes(metadata, wanted):
    """Whether an item is to be found, by the definition."""
    for key, value in wanted.items():
        low, high = value if isinstance(value, list) else (value, value)
        try:
            if not low <= metadata[key] <= high:
                return False
        except (KeyError, TypeError):  # absent, or of another kind
            return False
    return True


@starts_workers
def test_filters_find_the_nearest_of_the_items_that_pass(service):
    index = HashedNeighbors.load(service.folder / "index-1")
    distances, ids = index.kneighbors(X[:3], N_ITEMS)
    places = np.array([[int(name.split()[1]) for name in row] for row in ids])
    n_passed = set()
    for wanted in FILTERS:
        for query, found in enumerate(service.search(X[:3], 7, filter=wanted)):
            known = map(metadata, places[query])
            kept = [i for i, of_row in enumerate(known) if passes(of_row, wanted)]
            n_passed.add(min(7, len(kept)))
            expected = places[query, kept[:7]].tolist()
            assert [item["metadata"]["row"] for item in found] == expected, wanted
            scores = [item["distance"] for item in found]
            np.testing.assert_allclose(scores, distances[query, kept[:7]], rtol=1e-6)
    assert n_passed >= {0, 1, 7}


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
    ("/search", {"vectors": [ROW], "filter": ["year"]}, 422, "a valid dictionary"),
    ("/search", {"vectors": [ROW], "n_neighbours": 3}, 422, "n_neighbours"),
    ("/search", {"vectors": [ROW], "filter": {"year": None}}, 422, "filter"),
    ("/search", {"vectors": [ROW], "filter": {"year": [1, 2, 3]}}, 422, "filter"),
    ("/search", {"vectors": [ROW], "filter": {"year": np.nan}}, 422, "filter"),
    ("/remove", {"ids": []}, 422, "at least 1 item"),
    ("/remove", {"ids": ["photo 3", "photo"]}, 409, "['photo'], which are not in"),
    ("/remove", {"ids": [f"photo {row}" for row in range(N_ITEMS)]}, 409, "leave no item"),
    ("/items", NEW | {"ids": []}, 422, "equal lengths"),
    ("/items", NEW | {"ids": [""]}, 422, "at least 1 character"),
    ("/items", NEW | {"ids": ["\ud800"]}, 422, "valid string"),
    ("/items", NEW | {"ids": ["a\0b"]}, 422, "match pattern"),
    ("/items", NEW | {"ids": ["photo 3"]}, 409, "'photo 3' does not"),
    ("/items", NEW | {"metadata": [{"price": np.nan}]}, 422, "metadata: Out of range"),
    ("/items", {name: 2 * values for name, values in NEW.items()}, 409, "'new' does not"),
]


@starts_workers
def test_bad_input_is_refused_with_a_reason(service):
    for path, body, expected, reason in BAD:
        status, answer = service.ask("POST", path, body)
        assert (status, reason in json.dumps(answer)) == (expected, True), (body, answer)
        assert len(json.dumps(answer)) < 2_000
    assert "Traceback" not in service.log.read_text()
    assert service.ask("GET", "/health")[1]["version"] == 1


IDS = ["a b", " ", "é 🚣", "\n", "x" * 200, "'; DROP TABLE items; --"]
IDS += ["a/b", "/", "//a//", "..", ".", "../x", "%", "%2F", "?a=b&c#d", '"', "\\"]


@starts_workers
def test_whatever_id_was_added_is_found_and_removed(service):
    n_items = service.ask("GET", "/health")[1]["n_items"]
    body = {"vectors": X[500 : 500 + len(IDS)].tolist(), "ids": IDS}
    body["metadata"] = [{} for _ in IDS]
    assert service.ask("POST", "/items", body) == (201, {"n_items": n_items + len(IDS)})
    service.all_workers_have(n_items + len(IDS))
    found = service.search(X[500 : 500 + len(IDS)], 20)
    assert all(name in [item["id"] for item in row] for name, row in zip(IDS, found))
    answer = service.ask("POST", "/remove", {"ids": IDS[:1] * 2})
    assert answer == (200, {"n_items": n_items + len(IDS) - 1})
    assert service.ask("POST", "/remove", {"ids": IDS[:2]})[0] == 409
    assert service.ask("POST", "/remove", {"ids": IDS[1:]}) == (200, {"n_items": n_items})
    service.all_workers_have(n_items)


@starts_workers
def test_rows_are_added_while_others_search_and_outlive_a_restart(service, start):
    done = Event()

    def search_on():
        n_found = 0
        while not done.is_set():
            for wanted in ({}, {"row": [0, 1_000]}):
                found = service.search(X[:20], filter=wanted)
                assert [item["metadata"]["row"] for [item] in found] == [*range(20)]
            n_found += 1
        return n_found

    blocks = [list(range(N_ITEMS + i, N_ITEMS + i + 10)) for i in range(0, 40, 10)]
    with ThreadPoolExecutor(5) as pool:
        searches = [pool.submit(search_on) for _ in range(3)]
        statuses = [pool.submit(service.add, rows) for rows in blocks]
        assert [future.result()[0] for future in statuses] == [201] * len(blocks)
        done.set()
        assert all(future.result() > 0 for future in searches)
    assert service.ask("POST", "/remove", {"ids": ["photo 501"]})[0] == 200
    assert service.ask("POST", "/remove", {"ids": ["photo 501"]})[0] == 409
    service.all_workers_have(N_ITEMS + 39)
    assert len(list(service.folder.glob("index-*"))) == 2
    service.stop()
    crashed = [service.folder / name for name in ("index-99", ".index-99.x.tmp")]
    for path in crashed:  # of writers that ended before their commit
        path.mkdir()
        (path / "words.npy").write_bytes(b"half a file")
    again = start(n_workers=1)
    rows = [*range(N_ITEMS, N_ITEMS + 40)]
    found = [item["metadata"]["row"] for [item] in again.search(X[rows])]
    assert found[:1] + found[2:] == rows[:1] + rows[2:]
    assert found[1] != 501
    assert again.add([N_ITEMS + 50, 501])[0] == 201
    assert not any(path.exists() for path in crashed)
    again.all_workers_have(N_ITEMS + 41)
    found = [item["id"] for [item] in again.search(X[[550, 501]])]
    assert found == ["photo 550", "photo 501"]
    assert "Traceback" not in service.log.read_text() + again.log.read_text()


class Built:
    """What ``python build.py`` does with some lines, here and now."""

    def __init__(self, folder, monkeypatch):
        self.folder, self._monkeypatch = folder, monkeypatch
        np.save(folder / "X.npy", X[:300])

    def __call__(self, lines):
        (self.folder / "items.jsonl").write_bytes("\n".join(lines).encode())
        names = [str(self.folder / name) for name in ("X.npy", "items.jsonl", "data")]
        self._monkeypatch.setattr(sys, "argv", ["build.py", *names])
        runpy.run_path(str(SERVING / "build.py"), run_name="__main__")


@pytest.fixture
def built(tmp_path, monkeypatch):
    return Built(tmp_path, monkeypatch)


LINES = [json.dumps({"id": f"photo {row}"}) for row in range(300)]
BAD_LINES = [
    (LINES[:299], ["299 items", "300 rows"]),
    ([*LINES, '{"id": "more"}'], ["301 items", "300 rows"]),
    ([], ["0 items", "300 rows"]),
    ([*LINES[:299], LINES[7]], ["line 300", "'photo 7'"]),
    ([*LINES[:4], "", *LINES[5:]], ["line 5"]),
    ([*LINES[:4], "{", *LINES[5:]], ["line 5"]),
    ([*LINES[:4], "[]", *LINES[5:]], ["line 5", '"id"']),
    ([*LINES[:4], "{}", *LINES[5:]], ["line 5", '"id"']),
    ([*LINES[:4], '{"id": 5}', *LINES[5:]], ["line 5", '"id"']),
    ([*LINES[:4], '{"id": "\\ud800"}', *LINES[5:]], ["line 5", "surrogates"]),
    ([*LINES[:4], '{"id": "a", "b": NaN}', *LINES[5:]], ["line 5", "Out of range"]),
]


@pytest.mark.parametrize(("lines", "words"), BAD_LINES)
def test_lines_that_do_not_fit_are_refused_before_the_fit(built, monkeypatch, lines, words):
    monkeypatch.setattr(AdditiveHasher, "fit", lambda *_: pytest.fail("fitted"))
    with pytest.raises(SystemExit) as refusal:
        built(lines)
    assert all(word in str(refusal.value) for word in words), refusal.value
    assert sorted(path.name for path in built.folder.iterdir()) == ["X.npy", "items.jsonl"]
