"""Fitted hash functions as ONNX graphs."""

import os
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.compat import StrOptions, optional, validated
from .._core.fitted_hasher import FittedHasher
from .._core.paths import local_path
from .._core.types import Any, FilePath, Literal
from .._core.validation import NUMPY
from ..hashing import BaseHasher, Layers

_TINY = np.finfo(np.float32).tiny
# Old versions, which all runtimes of the last years read
_OPSET = 13
_IR_VERSION = 8
# Nodes from the sums of the last layer to an output, as text of ONNX, whose type 1 is
# float32 and type 2 is uint8
_KEEP = "query_weights = Identity ({sums})"
_PACK = """
    signs = Greater ({sums}, zero)
    bits = Cast <to = 1> (signs)
    byte_values = MatMul (bits, bit_values)
    {output} = Cast <to = 2> (byte_values)"""
_SATURATE = """
    magnitudes = Abs ({sums})
    mean = ReduceMean <axes = [1], keepdims = 1> (magnitudes)
    scale = Max (mean, tiny)
    slope = Div (two, scale)
    scaled = Mul ({sums}, slope)
    query_weights = Tanh (scaled)"""
# Attributes that `fit` sets if the hash function has other parts than linear layers
_UNKNOWN = {
    "teacher_": "was fitted with teachers, which to_onnx cannot write. Fit with "
    "teacher=None, or encode with its methods `encode` and `encode_query`.",
    "module_state_": "was fitted with a torch module. Export that with torch.onnx.",
    "estimators_": "has trees, and to_onnx writes linear layers only.",
}


@dataclass(frozen=True)
class _Output:
    """Output of a graph: its type, and the nodes and constants that make it of sums."""

    kind: str  # type of ONNX, such as "uint8"
    n_columns: int
    nodes: str  # text with a {sums}, the name of the sums of the last layer
    constants: dict  # arrays or numbers, by the names that the nodes use


@validated(
    path=[str, os.PathLike], output=[StrOptions({"codes", "query_codes", "query_weights"})]
)
def to_onnx(
    hasher: Any,
    path: FilePath,
    *,
    output: Literal["codes", "query_codes", "query_weights"] = "codes",
) -> None:
    """Write a fitted hash function as an ONNX graph from features to packed codes.

    The graph has one input, ``features`` of shape (n_samples, n_features) and float32, and
    one output. The output ``codes`` has shape (n_samples, ceil(n_bits / 8)) and type uint8,
    and holds the bytes of :func:`sklearn_talr.codes.pack_codes` in its default bit order,
    "little". The output ``query_weights`` holds the weights of weighted queries. A hasher
    of two views has two graphs: ``codes`` for items, and ``query_codes`` or
    ``query_weights`` for queries. The graphs need neither this library nor torch to run.

    Runtimes sum in different orders. If an activation is within rounding of 0, the graph
    may therefore return another bit than `transform`.

    Parameters
    ----------
    hasher : fitted hasher
        A hasher of linear layers with rectifiers between them. All hashers of this library
        are, except hashers with trees and hashers that were fitted with a torch module of
        the user.

    path : str or path-like
        File to write, by convention ``*.onnx``; ``~`` at its start is the home folder.

    output : {"codes", "query_codes", "query_weights"}, default="codes"
        Output of the graph, and its name.

        * ``"codes"``: packed codes of items.
        * ``"query_codes"``: packed codes of queries. A hasher of one view has the same
          codes for queries and items.
        * ``"query_weights"``: the weights that `query_weights` of the hasher returns, of
          shape (n_samples, n_weights) and float32.

    Raises
    ------
    TypeError
        If `hasher` is not a hasher, or is a Pipeline.

    ValueError
        If `hasher` is not fitted, was fitted with a torch module of the user or with
        teachers, or has trees; or if `output` is codes that no linear layers compute, such
        as the codes of :class:`~sklearn_talr.hashing.AdditiveHasher`.

    ImportError
        If the package onnx is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.export import to_onnx
    >>> from sklearn_talr.hashing import ITQHasher
    >>> X, _ = load_digits(return_X_y=True)
    >>> hasher = ITQHasher(n_bits=16, random_state=0).fit(X)
    >>> to_onnx(hasher, "digits.onnx")  # doctest: +SKIP

    Another process needs only a runtime:

    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("digits.onnx")  # doctest: +SKIP
    >>> (codes,) = session.run(None, {"features": X.astype("float32")})  # doctest: +SKIP
    """
    path = local_path(path)
    hasher = _read_hasher(hasher, output)
    function = hasher.__talr_hash_function__(NUMPY)
    layers = _read_layers(hasher, function, output)
    n_outputs = layers.coefs[-1].shape[1]
    if output != "query_weights":
        end = _packed_codes(n_outputs)
    elif function.saturates_weights:
        end = _Output("float", n_outputs, _SATURATE, {"two": 2, "tiny": _TINY})
    else:
        end = _Output("float", n_outputs, _KEEP, {})
    onnx = optional("onnx", "to_onnx needs the package onnx: pip install onnx")
    model = _write_model(onnx, layers, end, output)
    onnx.checker.check_model(model, full_check=True)
    onnx.save_model(model, os.fspath(path))


def _read_hasher(hasher, output):
    """The fitted hasher that computes an output: one of the two if there are two views."""
    parts = FittedHasher.from_estimator(hasher)
    if parts.before or not isinstance(parts.hasher, BaseHasher):
        raise TypeError(
            "hasher must be a hasher of sklearn_talr.hashing or sklearn_talr.baselines, "
            f"got {type(hasher).__name__}. Export the last step of a Pipeline, and apply "
            "the other steps to the features."
        )
    for attribute, problem in _UNKNOWN.items():
        if getattr(parts.hasher, attribute, None) is not None:
            raise ValueError(f"hasher, a {parts.name}, {problem}")
    check_is_fitted(parts.hasher, ("coefs_", "intercepts_"))
    view = "item_hasher_" if output == "codes" else "query_hasher_"
    return getattr(parts.hasher, view, parts.hasher)


def _read_layers(hasher, function, output):
    """The linear layers of a hash function, unless its output takes more than these."""
    kind = type(hasher)
    if output == "query_weights":
        methods = ["query_weights"]
        layers = function.query_weights or function.activations
    else:
        methods = ["transform", "encode"]
        layers = function.activations
        if function.quantize is not None:
            raise ValueError(
                f"a graph of codes is impossible for {kind.__name__}, which has an "
                "algorithm of its own for codes, such as coordinate descent. Encode the "
                "database with its `encode`, and export the weights of queries "
                'with output="query_weights".'
            )
    has_own_method = any(
        getattr(kind, method) is not getattr(BaseHasher, method) for method in methods
    )
    is_layers = isinstance(layers, Layers) and function.prepare is None
    if has_own_method or not is_layers:
        raise ValueError(
            f"hasher, a {kind.__name__}, has a function of its own, which to_onnx cannot "
            "write: it writes linear layers with rectifiers between them."
        )
    return layers


def _packed_codes(n_bits):
    """The output of packed codes: signs of the sums, times the value of each bit."""
    n_bytes = -(-n_bits // 8)
    bits = np.arange(n_bits)
    bit_values = np.zeros((n_bits, n_bytes))
    bit_values[bits, bits // 8] = 2.0 ** (bits % 8)
    return _Output("uint8", n_bytes, _PACK, {"zero": 0, "bit_values": bit_values})


def _write_model(onnx, layers, end, output):
    """The model: layers with rectifiers between them, then the nodes of the output."""
    n_features = layers.coefs[0].shape[0]
    last = len(layers.coefs) - 1
    intercepts = list(layers.intercepts)
    mean = np.zeros(n_features, np.float32)
    if layers.mean is not None:
        mean = layers.mean.astype(np.float32)
        # The first intercept takes the part of the mean that float32 rounds off.
        intercepts[0] = intercepts[0] + (mean - layers.mean) @ layers.coefs[0]
    constants = dict(end.constants)
    nodes = "hidden_0 = Sub (features, mean_of_features)"
    for layer, (coef, intercept) in enumerate(zip(layers.coefs, intercepts)):
        constants[f"coef_{layer}"] = coef
        constants[f"intercept_{layer}"] = intercept
        nodes += f" sums_{layer} = Gemm (hidden_{layer}, coef_{layer}, intercept_{layer})"
        if layer < last:
            nodes += f" hidden_{layer + 1} = Relu (sums_{layer})"
    nodes += " " + end.nodes.format(sums=f"sums_{last}", output=output)
    constants["mean_of_features"] = mean
    model = onnx.parser.parse_model(
        f'<ir_version: {_IR_VERSION}, opset_import: ["": {_OPSET}],'
        ' producer_name: "sklearn-talr">'
        f"hash_function (float[n_samples, {n_features}] features)"
        f" => ({end.kind}[n_samples, {end.n_columns}] {output})"
        f"{{ {nodes} }}"
    )
    for name, value in constants.items():
        value = np.asarray(value, dtype=np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    return model
