"""A call sees one state of the database, and leaves it whole if it fails."""

import pickle
import sys
from itertools import count
from threading import Thread

import numpy as np
import pytest
from interruptions import interrupted_at_each_line, tracing
from joblib import parallel_config
from neighbor_cases import draw
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from sklearn_talr._loops._search import hamming_scan, weighted_scan
from sklearn_talr.codes import pack_codes
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors

ROOM = "sklearn_talr.neighbors"
MODULES = [module for name, module in sys.modules.items() if name.startswith(ROOM)]
FILES = {module.__file__ for module in MODULES}
QUERIES, CODES = draw("learned", 4, 30, 12)
LABELS = np.arange(30) % 3


def at_line(number, act):
    """Act before the n-th line of the room."""
    lines = count(1)

    def each_line(*_):
        if next(lines) == number:
            act()

    return tracing(each_line, FILES)


def n_lines(call):
    """How many lines of the room a call executes."""
    lines = []
    with tracing(lambda *place: lines.append(place), FILES):
        call()
    return len(lines)


def answers(neighbors):
    """All that a user can see, as nested lists."""
    queries = np.resize(QUERIES, (4, neighbors.n_features_in_))
    results = [
        neighbors.n_features_in_,
        neighbors.n_samples_fit_,
        neighbors.n_items_,
        neighbors.indices_.tolist(),
        np.asarray(neighbors.codes_).tolist(),
        getattr(neighbors, "feature_names_in_", np.zeros(0)).tolist(),
        type(neighbors.affinity_).__name__,
        [array.tolist() for array in neighbors.kneighbors(queries, 3)],
        [array.tolist() for array in neighbors.radius_neighbors(queries, 2)[1]],
    ]
    if neighbors.affinity_ is not None:
        results += [neighbors.predict(queries).tolist()]
        results += [neighbors.score(queries, [0, 1, 2, 0])]
    return results


def fitted():
    return HammingNeighbors(3).fit(CODES, LABELS)


def refit(neighbors):
    """Other codes, of another length, without targets."""
    neighbors.fit(np.eye(9))


CHANGES = {
    "fit": refit,
    "add": lambda neighbors: neighbors.add(CODES[:5], LABELS[:5]),
    "remove": lambda neighbors: neighbors.remove([2, 5, 29]),
}


def interrupted(make, change):
    """One estimator for each line of a change that is interrupted before it."""
    made = [make()]
    for _ in interrupted_at_each_line(lambda: change(made[-1]), MODULES):
        yield made[-1]
        made.append(make())


@pytest.mark.parametrize("name", CHANGES)
def test_an_interrupt_at_any_line_leaves_old_or_new(name):
    neighbors, change = fitted(), CHANGES[name]
    old = answers(neighbors)
    change(neighbors)
    *before, last = interrupted(fitted, change)
    assert len(before) >= 25
    for neighbors_before in before:
        assert answers(neighbors_before) == old
    # Only the last line, which returns the estimator, comes after the change.
    assert answers(last) == answers(neighbors) != old


def test_an_interrupt_of_the_first_fit_leaves_nothing():
    *before, _ = interrupted(HammingNeighbors, lambda n: n.fit(CODES, LABELS))
    assert len(before) >= 25
    for neighbors in before:
        with pytest.raises(NotFittedError):
            neighbors.kneighbors(QUERIES)
        assert vars(neighbors).keys() == neighbors.get_params().keys()
        assert not hasattr(neighbors, "n_features_in_")


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda n: n.fit(np.eye(16), LABELS[:10]), "same number of samples"),
        (lambda n: n.fit(pack_codes(1 - np.eye(16)).data), "look like packed codes"),
        (lambda n: n.fit(pack_codes(np.eye(16)), ["a"] * 3), "same number of samples"),
        (lambda n: n.fit([[0, np.nan]]), "contains NaN"),
        (lambda n: n.add(CODES[:2], [0]), "same number of samples"),
        (lambda n: n.add(np.eye(16), LABELS[:16]), "has 16 features"),
        (lambda n: n.set_params(radius=-1).fit(np.eye(16)), "'radius' parameter"),
        (lambda n: n.remove([len(CODES)]), "not in the database"),
    ],
)
def test_a_refused_call_changes_nothing(refused, message):
    neighbors = fitted()
    old = answers(neighbors)
    with pytest.raises(ValueError, match=message):
        refused(neighbors)
    assert answers(neighbors) == old
    neighbors.set_params(radius=2).add(CODES[:1], LABELS[:1])
    assert_array_equal(np.asarray(neighbors.codes_), np.r_[CODES, CODES[:1]])


QUESTIONS = {
    "kneighbors": lambda n: n.kneighbors(n_neighbors=2),
    "kneighbors_graph": lambda n: [n.kneighbors_graph(n_neighbors=2).toarray()],
    "radius_neighbors": lambda n: n.radius_neighbors(radius=3)[1],
    "rank": lambda n: n.rank(QUERIES),
    "predict": lambda n: [n.predict(QUERIES)],
    "score": lambda n: [n.score(QUERIES, [0, 1, 2, 0])],
    "codes_": lambda n: [np.asarray(n.codes_)],
    "indices_": lambda n: [n.indices_],
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_call_answers_from_the_state_that_it_found(name):
    """Another thread removes items before any line of the call."""
    ask, neighbors = QUESTIONS[name], fitted()
    old = [array.tolist() for array in map(np.asarray, ask(neighbors))]
    n = n_lines(lambda: ask(neighbors))
    new = [array.tolist() for array in map(np.asarray, ask(fitted().remove(np.arange(20))))]
    assert old != new
    is_new = []
    for number in range(1, n + 1, 1 + n // 60):
        neighbors = fitted()
        other = fitted().remove(np.arange(20))._fitted

        def swap(neighbors=neighbors, other=other):
            neighbors._fitted = other

        with at_line(number, swap):
            found = [array.tolist() for array in map(np.asarray, ask(neighbors))]
        assert found in (old, new)
        is_new.append(found == new)
    # The state is taken once: what is changed before any later line is not seen.
    assert is_new == sorted(is_new, reverse=True)
    assert not is_new[len(is_new) // 2]


def test_readers_see_whole_states_while_a_writer_works():
    """8 readers, 3 200 calls: each item comes once more, goes, and votes alike."""
    neighbors = HammingNeighbors(1).fit(CODES, LABELS)
    queries = pack_codes(np.unique(CODES, axis=0)[:2])
    votes = neighbors.predict(queries)
    before = neighbors.rank(queries).distances.tolist()
    more = fitted().add(CODES, LABELS)
    states = before, more.rank(queries).distances.tolist()
    written, wrong, done = [], [], []

    def read():
        for call in count():
            if call >= 400 and (len(written) > 50 or not writer.is_alive()):
                break
            if call % 10:
                consistent = neighbors.rank(queries).distances.tolist() in states
            else:
                consistent = (neighbors.predict(queries) == votes).all()
            if not consistent:
                wrong.append(call)
        done.append(True)

    def write():
        while any(reader.is_alive() for reader in readers):
            start = neighbors.n_samples_fit_
            neighbors.add(CODES, LABELS)
            neighbors.remove(np.arange(start, start + 30))
            written.append(start)

    readers, writer = [Thread(target=read) for _ in range(8)], Thread(target=write)
    for thread in (*readers, writer):
        thread.start()
    for thread in (*readers, writer):
        thread.join()
    assert len(done) == 8
    assert len(written) > 50
    assert not wrong
    assert neighbors.n_items_ == 30


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_any_backend_of_joblib_gives_what_a_serial_run_gives(backend):
    def search(neighbors):
        found = [*neighbors.kneighbors(QUERIES), neighbors.predict(QUERIES)]
        return [array.tolist() for array in [*found, *neighbors.radius_neighbors()[1]]]

    expected = search(fitted())
    with parallel_config(backend, n_jobs=2):
        assert search(fitted()) == expected
        assert search(fitted().set_params(n_jobs=2)) == expected


def test_an_unpickled_index_searches_with_the_loops_that_are_compiled():
    """Pickle makes writable arrays, for which numba would compile the loops anew."""
    bits = HammingNeighbors().fit(CODES)
    weights = WeightedHammingNeighbors().fit(CODES)
    signs = 2.0 * QUERIES - 1
    expected = bits.kneighbors(QUERIES), weights.kneighbors(signs)
    n_forms = len(hamming_scan.signatures), len(weighted_scan.signatures)
    unpickled_bits, unpickled_weights = pickle.loads(pickle.dumps((bits, weights)))
    found = unpickled_bits.kneighbors(QUERIES), unpickled_weights.kneighbors(signs)
    for ours, theirs in zip(found, expected):
        assert_array_equal(ours[0], theirs[0])
        assert_array_equal(ours[1], theirs[1])
    assert (len(hamming_scan.signatures), len(weighted_scan.signatures)) == n_forms
