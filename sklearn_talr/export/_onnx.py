"""Fitted hash functions as ONNX graphs."""

import os

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.compat import StrOptions, optional, validated
from .._core.fitted_hasher import FittedHasher
from .._core.paths import local_path
from .._core.types import Any, FilePath, Literal
from .._core.validation import NUMPY
from ..hashing import BaseHasher, Layers

_TINY = np.finfo(np.float32).tiny
# Nodes from the last sums to an output, as text of ONNX; type 1 is float32, 2 uint8
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
_UNKNOWN = {  # what is no layers, by the attribute that `fit` sets
    "teacher_": "was fitted with teachers, which to_onnx does not know. Fit with "
    "teacher=None, or encode by its `encode` and `encode_query`.",
    "module_state_": "was fitted with a torch module. Export that by torch.onnx.",
    "estimators_": "has trees, and to_onnx writes linear layers only.",
}
_OPSET, _IR_VERSION = 13, 8  # old versions, which all runtimes of the last years read


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
    one output. This is ``codes`` of shape (n_samples, ceil(n_bits / 8)) and uint8, the
    bytes of :func:`sklearn_talr.codes.pack_codes` in its default bit order, "little"; or
    ``query_weights``, by which a weighted query is searched. A hasher of two views has two
    graphs: ``codes`` for items, and for queries ``query_codes`` or ``query_weights``. The
    graphs need neither this library nor torch to run.

    Runtimes sum in different orders. An activation within rounding of 0 may therefore give
    another bit than `transform` does.

    Parameters
    ----------
    hasher : fitted hasher
        A hasher of linear layers with rectifiers between them, which all hashers of this
        library have, except those that were fitted with a torch module of the user and
        those of trees.

    path : str or path-like
        File to write, by convention ``*.onnx``; ``~`` at its start is the home folder.

    output : {"codes", "query_codes", "query_weights"}, default="codes"
        What the graph computes, and the name of its output.

        * ``"codes"``: packed codes of items.
        * ``"query_codes"``: packed codes of queries. Those of a hasher of one view are the
          same as of items.
        * ``"query_weights"``: what `query_weights` of the hasher returns, of shape
          (n_samples, n_weights) and float32.

    Raises
    ------
    TypeError
        If `hasher` is not a hasher, or is a Pipeline.

    ValueError
        If it is not fitted, was fitted with a torch module of the user or with teachers, or
        has trees; or if codes are asked for that no layers compute, those of
        :class:`~sklearn_talr.hashing.AdditiveHasher`.

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

    Elsewhere:

    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("digits.onnx")  # doctest: +SKIP
    >>> (codes,) = session.run(None, {"features": X.astype("float32")})  # doctest: +SKIP
    """
    path = local_path(path)
    parts = FittedHasher.of(hasher)
    name = type(hasher).__name__
    if parts.before or not isinstance(parts.hasher, BaseHasher):
        raise TypeError(
            "hasher must be a hasher of sklearn_talr.hashing or sklearn_talr.baselines, "
            f"got {name}. Of a Pipeline export its last step, and apply the other steps to "
            "the features."
        )
    hasher, name = parts.hasher, parts.name
    for attribute, problem in _UNKNOWN.items():
        if getattr(hasher, attribute, None) is not None:
            raise ValueError(f"hasher, a {name}, {problem}")
    check_is_fitted(hasher, ("coefs_", "intercepts_"))
    view = "item_hasher_" if output == "codes" else "query_hasher_"  # of two views
    hasher = getattr(hasher, view, hasher)
    kind, weighs = type(hasher), output == "query_weights"
    name = kind.__name__
    function = hasher.__talr_hash_function__(NUMPY)
    if not weighs and function.quantize is not None:
        raise ValueError(
            f"a graph of codes is impossible for {name}, which finds them in a way of its "
            "own, such as coordinate descent. Encode the database by its `encode`, and "
            'export what queries need by output="query_weights".'
        )
    # The graph is right only if the methods of the base class give the output, from layers.
    methods = ["query_weights"] if weighs else ["transform", "encode"]
    has_own_method = any(
        getattr(kind, method) is not getattr(BaseHasher, method) for method in methods
    )
    layers = function.activations
    if weighs and function.query_weights is not None:
        layers = function.query_weights
    is_layers = isinstance(layers, Layers) and function.prepare is None
    if has_own_method or not is_layers:
        raise ValueError(
            f"hasher, a {name}, has a function of its own, which to_onnx does not "
            "know: it writes linear layers with rectifiers between them."
        )
    onnx = optional("onnx", "to_onnx needs the package onnx: pip install onnx")
    model = _model(onnx, layers, function.saturates_weights, output)
    onnx.checker.check_model(model, full_check=True)
    onnx.save_model(model, os.fspath(path))


def _model(onnx, layers, saturates, output):
    """The model: layers with rectifiers between them, then the nodes of `output`."""
    coefs, intercepts = layers.coefs, list(layers.intercepts)
    n_features, n_outputs = coefs[0].shape[0], coefs[-1].shape[1]
    mean = np.zeros(n_features, np.float32)
    if layers.mean is not None:
        mean = layers.mean.astype(np.float32)
        intercepts[0] = intercepts[0] + (mean - layers.mean) @ coefs[0]
    kind, columns = "float", n_outputs
    steps, constants = _KEEP, {}
    if output != "query_weights":
        kind, columns = "uint8", -(-n_outputs // 8)
        steps, bits = _PACK, np.arange(n_outputs)
        bit_values = np.zeros((n_outputs, columns))  # of each bit in each byte
        bit_values[bits, bits // 8] = 2.0 ** (bits % 8)
        constants = {"zero": 0, "bit_values": bit_values}
    elif saturates:
        steps, constants = _SATURATE, {"two": 2, "tiny": _TINY}
    nodes, last = "hidden_0 = Sub (features, mean_of_features)", len(coefs) - 1
    for layer, (coef, intercept) in enumerate(zip(coefs, intercepts)):
        constants |= {f"coef_{layer}": coef, f"intercept_{layer}": intercept}
        nodes += f" sums_{layer} = Gemm (hidden_{layer}, coef_{layer}, intercept_{layer})"
        if layer < last:
            nodes += f" hidden_{layer + 1} = Relu (sums_{layer})"
    nodes += " " + steps.format(sums=f"sums_{last}", output=output)
    model = onnx.parser.parse_model(
        f'<ir_version: {_IR_VERSION}, opset_import: ["": {_OPSET}],'
        ' producer_name: "sklearn-talr">'
        f"hash_function (float[n_samples, {n_features}] features)"
        f" => ({kind}[n_samples, {columns}] {output})"
        f"{{ {nodes} }}"
    )
    constants["mean_of_features"] = mean
    for name, value in constants.items():
        value = np.asarray(value, dtype=np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    return model
