"""Hash lookup: buckets, nearest first, and what they cost."""

import numpy as np
import pytest
from neighbor_cases import ALGORITHMS, draw, fit, random_codes, ranking
from numpy.testing import assert_array_equal

from sklearn_talr.metrics import lookup_cost
from sklearn_talr.neighbors import _cost


class TestLookup:
    """Bucket search of the paper: section 2.2 and Figure 1."""

    database = [[0, 0, 1, 1]] * 3 + [[0, 0, 1, 0]] * 2 + [[1, 1, 0, 0]]
    query = [[0, 0, 1, 1]]

    @pytest.mark.parametrize(
        ("n_neighbors", "radius", "n_found"),
        [(1, 0, 3), (3, 0, 3), (4, 1, 5), (5, 1, 5), (6, 4, 6)],
    )
    def test_whole_buckets_until_enough_candidates(
        self, n_neighbors, radius, n_found, eager
    ):
        neighbors = fit(self.database, "lookup")
        found = neighbors.lookup(self.query, n_neighbors)
        assert_array_equal(found.radius, radius)
        assert_array_equal(found.indices[0], np.arange(n_found))
        assert_array_equal(found.distances[0], [0, 0, 0, 1, 1, 4][:n_found])
        # Looked up are all buckets of the ball, compared the codes in them.
        assert_array_equal(found.n_buckets, lookup_cost(4)[radius])
        assert_array_equal(found.n_candidates, len(set(found.distances[0])))

    @pytest.mark.parametrize("radius", range(5))
    def test_all_buckets_of_a_radius(self, radius, eager):
        found = fit(self.database, "lookup").lookup(self.query, radius=radius)
        assert_array_equal(found.radius, radius)
        assert_array_equal(found.n_buckets, lookup_cost(4)[radius])
        assert_array_equal(
            found.distances[0], [d for d in [0, 0, 0, 1, 1, 4] if d <= radius]
        )

    def test_comparing_with_everything_when_that_is_cheaper(self):
        """Six codes are not worth more than 41 449 buckets of radius 4."""
        queries, database = draw("random", 5, 6, 32)
        found = fit(database, "lookup").lookup(queries, radius=4)
        assert_array_equal(found.n_buckets, 0)
        assert_array_equal(found.n_candidates, 6)

    def test_crossover_follows_the_number_of_distinct_codes(self):
        """The same radius is probed in a varied database and scanned in a uniform one."""
        rng = np.random.default_rng(0)
        varied = random_codes(rng, 20_000, 32)
        uniform = np.repeat(varied[:20], 1_000, axis=0)
        for database, probes in ((varied, 529), (uniform, 0)):
            found = fit(database, "lookup").lookup(varied[:3], radius=2)
            assert_array_equal(found.n_buckets, probes)

    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_every_algorithm_finds_whole_shells(self, algorithm, eager):
        queries, database = draw("learned", 8, 60, 11)
        for k in (1, 10, 60):
            found = fit(database, algorithm).lookup(queries, k)
            for row, radius, items in zip(
                ranking(queries, database), found.radius, found.indices
            ):
                assert radius == row[k - 1][0]
                assert_array_equal(items, [i for d, i in row if d <= radius])

    def test_several_tables_look_up_fewer_buckets(self, eager):
        queries, database = draw("random", 4, 200, 24)
        one = fit(database, "lookup").lookup(queries, radius=5)
        several = fit(database, "multi_index").lookup(queries, radius=5)
        assert_array_equal(one.n_buckets, lookup_cost(24)[5])
        assert np.all(several.n_buckets < 100)
        for ours, theirs in zip(one.indices, several.indices):
            assert_array_equal(ours, theirs)

    def test_crowded_buckets_are_not_looked_up(self):
        """Codes that agree in the bits of some table would all be candidates."""
        queries, database = draw("crowded", 5, 3_000, 64)
        found = fit(database, "multi_index").lookup(queries, radius=2)
        assert_array_equal(found.n_buckets, 0)
        even = draw("random", 5, 3_000, 64)[1]
        assert np.all(fit(even, "multi_index").lookup(queries, radius=2).n_buckets > 0)

    def test_number_and_radius_exclude_each_other(self):
        with pytest.raises(ValueError, match="n_neighbors and radius exclude each other"):
            fit(self.database).lookup(self.query, 2, radius=1)


def test_no_code_of_a_ball_escapes_all_tables():
    """To exceed every table's radius a code must differ in more than `radius` bits."""
    for n_tables in range(1, 8):
        for radius in range(12):
            radii = _cost.radii_of_tables(radius, n_tables)
            assert sum(r + 1 for r in radii) == radius + 1
            assert min(radii) >= -1
