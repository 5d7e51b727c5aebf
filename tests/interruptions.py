"""Breaks a call off before each of its statements, one after the other."""

import inspect
import re
import sys
from contextlib import contextmanager
from itertools import count
from linecache import getline


class Interruption(BaseException):
    """Like KeyboardInterrupt no Exception, so that nothing catches it by mistake."""


def statements_of(call, modules):
    """The lines of these modules that a call executes, (file, line), in this order.

    Left out are statements that return a variable: by the last one, all is done.
    """
    files = {inspect.getsourcefile(module): module for module in modules}
    lines = {file: inspect.getsource(module).split("\n") for file, module in files.items()}
    seen = {}
    with tracing(lambda file, line: seen.setdefault((file, line)), files):
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

    with tracing(interrupt, {statement[0]}):
        yield


def interrupted_at_each_line(call, modules):
    """Break a call off before the 1st, the 2nd, ... line that it executes of these modules.

    Parameters
    ----------
    call : callable
        Called without arguments again and again, until it ends by itself.

    modules : list of modules
        Where to break it off.

    Yields
    ------
    where : str
        File and line, after each call that was broken off.
    """
    files = {inspect.getsourcefile(module) for module in modules}
    for n_before in count():
        lines = count()

        def interrupt(file, line):
            if next(lines) == n_before:  # noqa: B023
                raise Interruption(f"{file}:{line}")

        try:
            with tracing(interrupt, files):
                call()
        except Interruption as interruption:
            where = str(interruption)
        else:
            return
        yield where


@contextmanager
def tracing(each_line, files, functions=None):
    """Calls ``each_line(file, line)`` before each line of these files is executed.

    Of all functions, unless the names of some are given.

    Left out is the line of a with statement when it is left. Python looks for no Ctrl-C
    between the end of the block and a lock's release, but a trace function gets a word in.
    """

    def trace(frame, *_):
        code = frame.f_code
        if code.co_filename not in files or (functions and code.co_name not in functions):
            return None
        entered = set()

        def trace_frame(frame, event, _):
            place = frame.f_code.co_filename, frame.f_lineno
            if event != "line" or place in entered:
                return trace_frame
            if getline(*place).lstrip().startswith("with "):
                entered.add(place)
            each_line(*place)
            return trace_frame

        return trace_frame

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
