"""Files in TREC's formats: what is read, and what is wrong with a file."""

import bz2
import gzip
import json
import lzma
import math
import re
from random import Random

import pandas as pd
import pytest
import run_cases
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_talr.runs import (
    Qrels,
    Run,
    evaluate_run,
    read_mteb_results,
    read_qrels,
    read_run,
)

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 -2\n"
RUN = "q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 1.5 mine\nq2 Q0 d1 1 -1e-3 mine\n"


def as_float(text):
    try:
        return float(text) if "_" not in text else math.nan
    except ValueError:
        return math.nan


@settings(deadline=None)
@given(
    documents=st.lists(
        st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).filter(
            lambda text: text.encode().split() == [text.encode()]
        ),
        min_size=1,
        unique=True,
    )
)
def test_identifiers_survive_and_tie_in_the_order_of_trec_eval(documents, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    run_cases.write_run(path, {"q": dict.fromkeys(documents, 1.0)})
    assert list(read_run(path).to_dict()["q"]) == sorted(documents, reverse=True)


def test_a_file_has_what_was_written(tmp_path):
    qrels, run = run_cases.random_run(0, n_queries=20, n_scores=9)
    run_cases.write_run(tmp_path / "run", run)
    run_cases.write_qrels(tmp_path / "qrels", qrels)
    read = read_run(tmp_path / "run")
    assert read.to_dict() == run
    assert read.name == "mine"
    assert read.queries == list(run)
    assert read_qrels(str(tmp_path / "qrels")).to_dict() == qrels


FORMS = {
    "crlf": lambda path, text: path.write_text(text.replace("\n", "\r\n"), newline=""),
    "tabs": lambda path, text: path.write_text(text.replace(" ", "\t")),
    "many blanks": lambda path, text: path.write_text(text.replace(" ", " \t  ")),
    "blank lines": lambda path, text: path.write_text("\n" + text.replace("\n", " \n\n")),
    "no last newline": lambda path, text: path.write_text(text.rstrip("\n")),
    "gzip": lambda path, text: path.write_bytes(gzip.compress(text.encode())),
    "byte-order mark": lambda path, text: path.write_text(text, encoding="utf-8-sig"),
    "byte-order mark in gzip": lambda path, text: path.write_bytes(
        gzip.compress(text.encode("utf-8-sig"))
    ),
    "two files put together": lambda path, text: path.write_text(
        text.replace("\nq2", "\n\ufeffq2")
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_files(form, tmp_path):
    FORMS[form](tmp_path / "run", RUN)
    FORMS[form](tmp_path / "qrels", QRELS)
    run = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": -1e-3}}
    assert read_run(tmp_path / "run").to_dict() == run
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": -2}}
    assert read_qrels(tmp_path / "qrels").to_dict() == qrels


def test_comments_and_words_after_the_tag_are_left_out(tmp_path):
    """A comment may have as many words as a line, and words as many as another line."""
    run = "#q Q0 d9 1 9.5 mine\n" + RUN.replace("mine", "mine and more of it", 2)
    (tmp_path / "run").write_text(run + "# the end\n#\n")
    read = read_run(tmp_path / "run")
    assert read.to_dict() == {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": -1e-3}}
    assert read.name == "mine"
    qrels = "#qid 0 doc 1\n" + QRELS.replace("\nq2", "\n# q9 0 d1\nq2").replace("d2", "#2")
    (tmp_path / "qrels").write_text(qrels)
    wanted = {"q1": {"d1": 1, "#2": 0}, "q2": {"d1": -2}}
    assert read_qrels(tmp_path / "qrels").to_dict() == wanted
    (tmp_path / "qrels").write_text("# nothing but this\n")
    with pytest.raises(ValueError, match="is empty"):
        read_qrels(tmp_path / "qrels")


def read_slowly(content):
    """A run by its definition, and the lines that are none of it."""
    run, wrong = {}, set()
    for number, line in enumerate(content.split(b"\n"), 1):
        fields = line.removeprefix(b"\xef\xbb\xbf").split()
        is_comment = line.removeprefix(b"\xef\xbb\xbf").startswith(b"#")
        if not fields or (is_comment and b"\0" not in line):
            continue
        has_lines = len(fields) > 6 and b"\r" in line.rstrip()
        is_whole = len(fields) >= 6 and not has_lines
        words = [field.decode("latin-1") for field in fields[3:6]]
        rank, score, tag = map(as_float, words) if is_whole else [math.nan] * 3
        if len(fields) > 6 and "".join(words[:2]).isdecimal() and math.isfinite(tag):
            rank = math.nan  # a blank in an identifier
        if b"\0" in line or not (math.isfinite(score) and rank == rank // 1):
            wrong.add(number)
            continue
        query, document = (fields[i].decode("utf-8", "surrogateescape") for i in (0, 2))
        if document in run.setdefault(query, {}):
            wrong.add(number)
        run[query][document] = score
    return run, wrong


BLANKS = b" ", b" ", b" ", b"\t", b"  ", b"\r", b"\v"
PARTS = b"#", b"q", b"d", b"1", b"\xe9", "é".encode(), b"\x01", b"\x1f", b"\x85", b"\xa0"
NUMBERS = b"1", b"-2.5", b"1e3", b"0x10", b"1_000", "１".encode(), b"nan", b"2.0\x01"  # noqa: RUF001

ENDS = [b"\n"] * 40 + [b"\r\n", b" \n", b"\n\xef\xbb\xbf", b"\0\n"]


def random_line(rng):
    def word():
        return b"".join(rng.choices(PARTS, k=rng.randint(1, 3)))

    fields = [word() for _ in range(rng.choice([6] * 20 + [5, 7, 0]))]
    if len(fields) > 4:
        fields[3] = rng.choice([b"1", b"02", b"3.0", b"-1"] * 40 + [b"2.5", word()])
        fields[4] = rng.choice(NUMBERS[:3] * 40 + NUMBERS)
    line = b"".join(rng.choice(BLANKS) + field for field in fields)
    return line[1:] + rng.choice(ENDS)


@pytest.mark.parametrize("n_lines", [0, 1, 4, 12])
def test_any_bytes_are_read_by_the_definition_or_refused_with_their_line(n_lines, tmp_path):
    path, n_read = tmp_path / "run", 0
    rng = Random(n_lines)
    for _ in range(200):
        path.write_bytes(b"".join(random_line(rng) for _ in range(n_lines)))
        run, wrong = read_slowly(path.read_bytes())
        if run and not wrong:
            assert read_run(path).to_dict() == run
            n_read += 1
            continue
        message = re.escape(str(path)) + r"(, line (\d+)| is empty)"
        with pytest.raises(ValueError, match=message) as error:
            read_run(path)
        line = re.match(message, str(error.value))[2]
        assert int(line) in wrong if wrong else line is None
    assert 20 < n_read < 200 or not n_lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: a line must have query, Q0, document, rank, score, tag"),
        ("\n \n", "is empty"),
        (RUN + "q2 Q0 d2 3\n", "line 4 has 4 fields instead of 6"),
        ("# a b c d e\n" + RUN + "q2 Q0 d2 3 1.0\n", "line 5 has 5 fields instead of 6"),
        (QRELS, "line 1 has 4 fields instead of 6"),
        (RUN + "q2 Q0 my d 3 2.5 mine\n", "line 4: rank 'd' is not an integer.*a blank"),
        (RUN + "q2 Q0 d 3 1 2.5 mine\n", "line 4: the sixth of more .* a blank"),
        (RUN + "q 2 Q0 d 3 2.5 mine\n", "line 4: rank 'd' is not an integer"),
        (RUN + "q2 Q0 d2 2.5 3 mine\n", "line 4: rank '2.5' is not an integer.*before the"),
        (RUN + "q2 Q0 d2 3 nan mine\n", "line 4: score 'nan' is not a finite number"),
        (RUN + "\nq2 Q0 d2 3 high mine\n", "line 5: score 'high' is not a finite number"),
        (RUN + "q2 Q0 d2 3 -inf mine\n", "line 4: score '-inf' is not a finite number"),
        (RUN + "q2 Q0 d2 3 1e400 mine\n", "line 4: score '1e400' is not a finite number"),
        (RUN + "q1 Q0 d2 3 7.0 mine\n", "line 4: query 'q1' has document 'd2' twice"),
        ("q Q0 d\0 1 1.0 mine\n", "line 1 has a NUL byte"),
        ("q1 Q0 d1 1 2.0\x01t\n", "line 1 has 5 fields instead of 6"),
        (RUN + "q1 Q0 d\x01 1 2.0\x01 t\n", r"line 4: score '2.0\\x01' is not a finite"),
        (RUN.replace("\n", "\r"), "line 1 has 18 fields instead of 6"),
        (RUN + "q2 Q0 d2 3 １ mine\n", "line 4: score '１' is not a finite"),  # noqa: RUF001
        (RUN + "q2 Q0 d2 3 1_000 mine\n", "line 4: score '1_000' is not a finite number"),
        (RUN + "q2 Q0 d2 3 0x10 mine\n", "line 4: score '0x10' is not a finite number"),
        (RUN + f"q2 Q0 {'d' * 1_025} 3 1.0 mine\n", "line 4 has an .* of 1025 bytes"),
        (RUN + f"q2 Q0 {'d' * 10**7} 3 1.0 mine\n", "line 4 has more than 65536 bytes"),
        (RUN + "q" * 10**7, "line 4 has more than 65536 bytes"),
    ],
)
def test_bad_runs_are_refused_with_their_line(text, message, tmp_path):
    (tmp_path / "bad.run").write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ValueError, match=rf"bad\.run(, | is){message.removeprefix('is')}"):
        read_run(tmp_path / "bad.run")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: a line must have query, iteration, document, relevance"),
        (RUN, "line 1 has 6 fields instead of 4"),
        (QRELS + "q2 0 d2 1.5\n", "line 4: relevance '1.5' is not an integer"),
        (QRELS + "q2 0 d2 good\n", "line 4: relevance 'good' is not an integer"),
        (QRELS + "q2 0 d2 1 more\n", "line 4 has 5 fields instead of 4"),
        ("# made by hand\n" + QRELS + "q2 0 d2\n", "line 5 has 3 fields instead of 4"),
        (QRELS + "q1 0 d1 1\n", "line 4: query 'q1' has document 'd1' twice"),
    ],
)
def test_bad_qrels_are_refused_with_their_line(text, message, tmp_path):
    (tmp_path / "bad").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_qrels(tmp_path / "bad")


@pytest.mark.parametrize("first", [0, 1])
def test_scores_that_count_lines_are_ranks(first, tmp_path):
    """Rank 30 and score 1: read as they stand, the worst document would be the best."""
    path, places = tmp_path / "run", [(30, 0), (20, 1), (10, 2)]

    def write(lines, last=""):
        lines = [f"{q} Q0 d{n} {a} {b} t\n" for q in "ab" for n, (a, b) in enumerate(lines)]
        path.write_text("".join([lines[0], *lines[3:], *lines[1:3], last]))

    write([(score, place + first) for score, place in places])
    with pytest.raises(ValueError, match=r"line 1: scores count .* before the rank"):
        read_run(path)
    write([(3 - place, place + first) for _, place in places])  # the best lines are last
    assert list(read_run(path).to_dict()["b"]) == ["d2", "d1", "d0"]
    write([(place, score) for score, place in places])
    assert list(read_run(path).to_dict()["b"]) == ["d0", "d1", "d2"]
    write([(score, place + first) for score, place in places], "c Q0 d 1 7 t\nc Q0 e 2 6 t")
    assert len(read_run(path).queries) == 3  # of other queries scores are no ranks


def test_lines_are_counted_over_all_parts(tmp_path):
    lines = [f"q Q0 d{i} 1 1.0 mine\n" for i in range(100_000)]
    lines[70_000] = "q Q0 d 1 1.0\n"
    (tmp_path / "bad").write_text("".join(lines))
    with pytest.raises(ValueError, match="line 70001 has 5 fields"):
        read_run(tmp_path / "bad")
    lines[70_000] = "q Q0 d3 1 1.0 mine\n"
    (tmp_path / "bad").write_text("".join(lines))
    with pytest.raises(ValueError, match="line 70001: query 'q' has document 'd3' twice"):
        read_run(tmp_path / "bad")


def test_damaged_gzip_is_refused(tmp_path):
    whole = gzip.compress(RUN.encode() * 1)
    for damaged in (whole[:-9], whole[:15] + b"\0\0\0\0" + whole[19:], b"\x1f\x8b"):
        (tmp_path / "bad.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"bad\.gz is damaged: "):
            read_run(tmp_path / "bad.gz")


def test_files_that_are_not_there():
    with pytest.raises(FileNotFoundError):
        read_run("nowhere/to/be.found")
    with pytest.raises(ValueError, match="'path' parameter of read_qrels"):
        read_qrels(3)


FOUND = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"é": -1e-3}}
ROWS = [{"q_id": q, "doc_id": d, "score": v} for q in FOUND for d, v in FOUND[q].items()]
BY_QUERY = [
    {
        "query_id": query,
        "query": "its text",
        "results": [{"corpus_id": d, "score": value} for d, value in FOUND[query].items()],
    }
    for query in FOUND
]
META = {"mteb_model_meta": {"model_name": "org/model", "revision": None}}


def lines(rows):
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n\n"


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("a.run.json", json.dumps(FOUND), "a.run"),
        ("a.json", json.dumps(ROWS), "a"),
        ("a.json", json.dumps({**META, "default": {"test": FOUND}}), "org/model"),
        ("a.jsonl", lines(ROWS), "a"),
        ("a.jsonl", lines(BY_QUERY), "a"),
        ("a.jsonl", lines([*BY_QUERY, {"query_id": "q3", "results": []}]), "a"),
    ],
)
def test_runs_in_json(file, text, name, tmp_path):
    (tmp_path / file).write_text(text, encoding="utf-8")
    (tmp_path / f"{file}.gz").write_bytes(gzip.compress(text.encode()))
    for path in (tmp_path / file, str(tmp_path / f"{file}.gz")):
        run = read_run(path)
        found = run.to_dict()
        assert found.pop("q3", {}) == {}
        assert found == FOUND
        assert ("q3" in run.queries) == ("q3" in text)  # it was asked, and found nothing
        assert run.name == name


def test_tables_in_parquet_and_judgments_in_json(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame(ROWS).to_parquet(tmp_path / "run.parquet")
    assert read_run(tmp_path / "run.parquet").to_dict() == FOUND
    pd.DataFrame(ROWS).assign(score=2).to_parquet(tmp_path / "qrels.parquet")
    judged = {query: dict.fromkeys(FOUND[query], 2) for query in FOUND}
    (tmp_path / "qrels.json").write_text(json.dumps(judged))
    for name in ("qrels.parquet", "qrels.json"):
        assert read_qrels(tmp_path / name).to_dict() == judged


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"{", "cannot be read: Expecting"),
        ("a.json", b"3", "cannot be read: "),
        ("a.json.gz", gzip.compress(b"{}", mtime=0)[:-9], "is damaged: "),
        ("a.jsonl", b'{"query_id": 1}\n', "cannot be read: a column 'doc_id' or"),
        ("a.jsonl", b'{"query_id": 1, "results": [{}]}\n', "a column 'doc_id' or"),
        ("a.parquet", b"PAR1", "cannot be read: "),
        ("a.json", b'{"q1": {"d": 1}, "q2": {}, "q1": {}}', "'q1' is repeated"),
        ("a.json", b'{"q1": {"d": 1, "e": 2, "e": 1}}', "'e' is repeated"),
        ("a.jsonl", b'{"qid": 1, "docno": "d", "score": 1, "qid": 2}', "'qid' is repeat"),
        (
            "a.json",
            json.dumps({**META, "en": {"dev": FOUND, "test": FOUND}}).encode(),
            r"\[\('en', 'dev'\), \('en', 'test'\)\]\. Read it with json\.load",
        ),
    ],
)
def test_bad_json_and_tables_are_refused_with_their_file(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{re.escape(name)}.*{message}"):
        read_run(tmp_path / name)


COMPRESSED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
JUDGED = {"q1": {"d1": 1, "d2": 0}, "q2": {"007": 2}}


@pytest.mark.parametrize("packed", [None, *COMPRESSED])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("suffix", "separator"), [("tsv", "\t"), ("csv", ","), ("txt", ",")]
)
def test_tables_whose_first_line_names_their_columns(
    suffix, separator, end, packed, tmp_path
):
    """The judgments of BEIR have this form."""

    def write(name, rows):
        text = end.join(separator.join(map(str, row)) for row in rows) + end
        content = ("\ufeff" + text).encode()
        path = tmp_path / f"{name}.{suffix.upper()}"
        if packed is not None:
            path = path.with_name(f"{path.name}.{packed}")
        path.write_bytes(content if packed is None else COMPRESSED[packed](content))
        return path

    rows = [(q, d, grade) for q, inner in JUDGED.items() for d, grade in inner.items()]
    qrels = write("qrels", [("query-id", "corpus-id", "score"), *rows])
    assert read_qrels(qrels).to_dict() == JUDGED
    real = write("real", [("kind", "docno", "qid", "label"), ("a", '"d, 1"', "q", 0.5)])
    assert read_qrels(real).to_dict() == {"q": {"d, 1": 0.5}}
    run = write("my.run", [("query_id", "doc_id", "score"), *rows])
    assert read_run(run).to_dict() == JUDGED
    assert read_run(run).name == "my.run"
    ranked = write("ranked", [("qid", "pid", "rank"), ("q", "b", 2), ("q", "a", 1)])
    assert read_run(ranked).to_dict() == {"q": {"a": -1.0, "b": -2.0}}
    assert list(read_run(ranked).to_dict()["q"]) == ["a", "b"]
    found = evaluate_run(qrels, run, "nDCG").means["nDCG"]["expected"]
    assert found == evaluate_run(JUDGED, JUDGED, "nDCG").means["nDCG"]["expected"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.tsv",
            "query-id\tcorpus-id\n1\t2\n",
            "a column 'score' or 'rank'|'score' is ne",
        ),
        ("a.tsv", "query-id\tcorpus-id\tscore\n1\t2\n", "line 2 has 2 fields instead of 3"),
        ("a.tsv", "qid\tpid\tscore\n1\t2\t.5\n1\t3\thigh\n", "line 3: score 'high' is no"),
        ("a.tsv", "qid\tpid\tscore\n1\t2\t1_0\n", "line 2: score '1_0' is not a number"),
        (
            "a.tsv",
            "qid\tpid\tscore\n1\t2\t5\n\n1\t2\t5\n",
            "line 4: query '1' has document",
        ),
        ("a.tsv", "qid\tpid\tscore\n1\t\t5\n", "identifiers must not be empty"),
        (
            "a.tsv",
            "qid\tpid\tscore\tscore\n1\t2\t5\t6\n",
            "line 1 repeats a name of a column",
        ),
        (
            "a.csv",
            "qid,pid,score\n1,2,3\n" + '1,"' + "x" * 200_000,
            "line 3: .*mark left open",
        ),
        (
            "a.csv",
            "q1,d1,0.5\n",
            r"line 1 is not a header.*read_csv\(path, sep=',', names=\['qu",
        ),
        (
            "a.tsv",
            "q1\td1\t1\nq1\td2\t2\n",
            r"has 3 fields .*read_csv\(.*'rank'.*'score' in",
        ),
        ("a.run", "q1 d1 1\n", r"has 3 fields .*read_csv\("),
    ],
)
def test_tables_of_text_that_are_refused(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(
        ValueError, match=rf"{re.escape(str(tmp_path / name))}.*({message})"
    ):
        read_run(tmp_path / name)


def test_a_head_alone_is_a_run_of_nothing(tmp_path):
    (tmp_path / "a.tsv").write_text("query-id\tcorpus-id\tscore\n")
    assert read_run(tmp_path / "a.tsv").queries == []
    assert read_qrels(tmp_path / "a.tsv").to_dict() == {}


def test_the_line_for_a_table_without_a_head_reads_it(tmp_path):
    path = tmp_path / "run.tsv"
    path.write_text("007\td1\t1\n007\td2\t2\n")
    with pytest.raises(ValueError, match="Without a head") as caught:
        read_run(path)
    line = re.search(r"pd\.read_csv\(.*?\}\)", str(caught.value))[0]
    assert Run(eval(line, {"pd": pd, "path": path})).to_dict() == {
        "007": {"d1": -1, "d2": -2}
    }
    with pytest.raises(ValueError, match="Without a head") as caught:
        read_qrels(path)
    line = re.search(r"pd\.read_csv\(.*?\}\)", str(caught.value))[0]
    assert Qrels(eval(line, {"pd": pd, "path": path})).to_dict() == {
        "007": {"d1": 1, "d2": 2}
    }


@pytest.mark.parametrize("packed", COMPRESSED)
def test_compressed_files_are_known_by_their_first_bytes(packed, tmp_path):
    run = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": -1e-3}}
    whole = COMPRESSED[packed](RUN.encode() * 1)
    for name in ("run", f"run.{packed}", f"run.txt.{packed.upper()}"):
        (tmp_path / name).write_bytes(whole)
        assert read_run(tmp_path / name).to_dict() == run
    path = tmp_path / f"mine.JSON.{packed}"
    path.write_bytes(COMPRESSED[packed](json.dumps(run).encode()))
    assert read_run(path).to_dict() == run
    assert read_run(path).name == "mine"
    for damaged in (whole[:-9], whole[:20] + b"\0\0\0\0" + whole[24:]):
        (tmp_path / "bad").write_bytes(damaged)
        with pytest.raises(ValueError, match="bad is damaged: "):
            read_run(tmp_path / "bad")


@pytest.mark.parametrize("name", ["run.JSON", "run.Jsonl", "run.json"])
def test_suffixes_are_read_in_any_case(name, tmp_path):
    rows = lines(ROWS) if name == "run.Jsonl" else json.dumps(FOUND)
    (tmp_path / name).write_text(rows, encoding="utf-8")
    assert read_run(tmp_path / name).to_dict() == FOUND


def test_lines_of_any_length_are_read_in_json_and_parquet(tmp_path):
    """Blocks of whole lines are cut where a line is too long, which no other form is."""
    run = {"q": {f"document {number}": float(number) for number in range(20_000, 0, -1)}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert read_run(tmp_path / "run.json").to_dict() == run
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"qid": "q", "docno": run["q"].keys(), "score": run["q"].values()})
    table.to_parquet(tmp_path / "run.parq")
    assert read_run(tmp_path / "run.parq").to_dict() == run
    assert read_run(tmp_path / "run.parq").name == "run"


@pytest.mark.parametrize("name", ["a", "a.json", "a.jsonl", "a.parquet", "a.tsv", "a.csv"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            "a pointer of Git LFS.*git lfs pull",
        ),
        (RUN.encode("utf-16"), r"text in UTF-16, .* saved as UTF-8.*encoding='utf-16'"),
        (b"PK\x03\x04\0\0", r"a ZIP archive.*pd\.read_excel\(path\)"),
        (b"\x28\xb5\x2f\xfd\0", "compressed by zstd: unpack it"),
        (b"ARROW1\0\0", r"a file of Arrow: pass pd\.read_feather\(path\)"),
    ],
)
def test_other_forms_are_named_with_their_remedy(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    for read in (read_run, read_qrels):
        with pytest.raises(ValueError, match=rf"{re.escape(name)} is .*{message}"):
            read(tmp_path / name)


def test_pointers_among_results_of_mteb_are_named(tmp_path):
    folder = tmp_path / "model" / "1"
    folder.mkdir(parents=True)
    (folder / "model_meta.json").write_text('{"name": "m"}')
    (folder / "STS12.json").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ValueError, match=r"STS12\.json is a pointer of Git LFS"):
        read_mteb_results(tmp_path)


def test_the_home_folder_and_urls(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text(QRELS)
    assert len(read_run("~/run").queries) == 2
    with pytest.raises(ValueError, match="the path is empty"):
        read_run("")
    assert evaluate_run("~/qrels", "~/run", "AP").queries == ["q1", "q2"]
    for url in (
        "https://example.org/run.txt",
        "s3://bucket/run.parquet",
        "hf://datasets/a",
    ):
        for read in (read_run, read_qrels, read_mteb_results):
            with pytest.raises(ValueError, match=f"{url} is a URL.*urlretrieve.*read_csv"):
                read(url)
