"""Breaks a call off before each of its statements, one after the other."""

import inspect
import re
import sys
from contextlib import contextmanager


class Interruption(BaseException):
    """Like KeyboardInterrupt no Exception, so that nothing catches it by mistake."""


def statements_of(call, modules):
    """The lines of these modules that a call executes, (file, line), in this order.

    Left out are statements that return a variable: by the last one, all is done.
    """
    files = {inspect.getsourcefile(module): module for module in modules}
    lines = {file: inspect.getsource(module).split("\n") for file, module in files.items()}
    seen = {}
    with _tracing(lambda file, line: seen.setdefault((file, line)), files):
        call()
    return [
        (file, line)
        for file, line in seen
        if not re.fullmatch(r"\s*return \w+", lines[file][line - 1])
    ]


@contextmanager
def interrupted_at(statement):
    """Raises Interruption when this statement is about to be executed."""

    def interrupt(file, line):
        if (file, line) == statement:
            raise Interruption(f"{file}:{line}")

    with _tracing(interrupt, {statement[0]}):
        yield


@contextmanager
def _tracing(each_line, files):
    def trace(frame, event, _):
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            each_line(frame.f_code.co_filename, frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
