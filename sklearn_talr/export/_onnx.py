"""Fitted hash functions as ONNX graphs."""

import os

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._compat import StrOptions, validate_params
from ..codes._weighted import saturate

__all__ = ["export_onnx"]

_TINY = np.finfo(np.float32).tiny
_OPSET, _IR_VERSION = 13, 8  # so old that any runtime of the last years reads them


@validate_params(
    {
        "hasher": "no_validation",
        "path": [str, os.PathLike],
        "output": [StrOptions({"codes", "query_weights"})],
    },
    prefer_skip_nested_validation=True,
)
def export_onnx(hasher, path, *, output="codes"):
    """Write a fitted hash function as an ONNX graph from features to packed codes.

    The graph has one input, ``features`` of shape (n_samples, n_features) and float32, and
    one output, which is ``codes`` of shape (n_samples, ceil(n_bits / 8)) and uint8: the
    bytes of :func:`sklearn_talr.codes.pack_codes` in its default bit order, "little". Or it
    is what a real-valued query is searched by. The graph needs neither this library nor
    torch to run.

    Runtimes sum in different orders. An activation within rounding of 0 may therefore give
    another bit than `transform` does.

    Parameters
    ----------
    hasher : fitted hasher
        A hasher of linear layers with rectifiers between them. They are read from its
        attributes ``coefs_``, arrays of shape (n_inputs, n_outputs), and ``intercepts_``,
        arrays of shape (n_outputs,). All hashers of this library have them, except those
        that were fitted with a torch module of the user and those of trees.

    path : str or path-like
        File to write, by convention ``*.onnx``.

    output : {"codes", "query_weights"}, default="codes"
        What the graph computes, and the name of its output: packed codes, or what
        `query_weights` of the hasher returns, of shape (n_samples, n_bits) and float32.

    Raises
    ------
    TypeError
        If `hasher` is not a hasher, or is a Pipeline.

    ValueError
        If it is not fitted, was fitted with a torch module of the user, or has trees; or if
        codes are asked for that no layers compute, those of
        :class:`~sklearn_talr.hashing.AdditiveHasher`.

    ImportError
        If the package onnx is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.export import export_onnx
    >>> from sklearn_talr.hashing import ITQHasher
    >>> X, _ = load_digits(return_X_y=True)
    >>> hasher = ITQHasher(n_bits=16, random_state=0).fit(X)
    >>> export_onnx(hasher, "digits.onnx")  # doctest: +SKIP

    Elsewhere:

    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("digits.onnx")  # doctest: +SKIP
    >>> (codes,) = session.run(None, {"features": X.astype("float32")})  # doctest: +SKIP
    """
    _check_hasher(hasher)
    if output == "codes":
        _check_codes_are_signs(hasher)
    try:
        import onnx
    except ImportError as error:
        raise ImportError("export_onnx needs the package onnx: pip install onnx") from error
    layers = list(zip(hasher.coefs_, hasher.intercepts_))
    finish = _pack_signs if output == "codes" else _weigh_activations(hasher)
    graph = _graph(onnx, layers, finish, output)
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="sklearn-talr",
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save_model(model, path)


def _check_hasher(hasher):
    if isinstance(hasher, Pipeline):
        raise TypeError(
            "hasher must not be a Pipeline: export its last step, and apply the other "
            "steps to the features."
        )
    if not (hasattr(hasher, "decision_function") and hasattr(hasher, "n_bits")):
        raise TypeError(
            "hasher must be a hasher of sklearn_talr.hashing or sklearn_talr.baselines, "
            f"got {type(hasher).__name__}."
        )
    if hasattr(hasher, "module_state_"):
        raise ValueError(
            f"hasher, a {type(hasher).__name__}, was fitted with a torch module, whose "
            "layers export_onnx does not know. Export the module by torch.onnx."
        )
    if hasattr(hasher, "estimators_"):
        raise ValueError(
            f"hasher, a {type(hasher).__name__}, has trees, and export_onnx writes linear "
            "layers only. Fit a hasher that has these, such as TALRHasher."
        )
    check_is_fitted(hasher, ("coefs_", "intercepts_"))


def _check_codes_are_signs(hasher):
    if hasattr(hasher, "inverse_transform"):
        raise ValueError(
            f'output="codes" is not to be had of {type(hasher).__name__}, which finds '
            "them by coordinate descent. Encode the database by its `encode`, and export "
            'what queries need by output="query_weights".'
        )


def _graph(onnx, layers, finish, output):
    """Build the graph: layers and rectifiers between them, and what `finish` adds."""
    nodes, constants = [], {}
    name = "features"
    for layer, (coef, intercept) in enumerate(layers):
        if layer:
            nodes.append(onnx.helper.make_node("Relu", [name], [f"hidden_{layer}"]))
            name = f"hidden_{layer}"
        constants[f"coef_{layer}"] = coef.astype(np.float32)
        constants[f"intercept_{layer}"] = intercept.astype(np.float32)
        inputs = [name, f"coef_{layer}", f"intercept_{layer}"]
        name = f"activations_{layer}"
        nodes.append(onnx.helper.make_node("Gemm", inputs, [name]))
    n_features, n_bits = layers[0][0].shape[0], layers[-1][0].shape[1]
    more_nodes, more_constants, columns, kind = finish(onnx, name, n_bits)
    describe = onnx.helper.make_tensor_value_info
    return onnx.helper.make_graph(
        nodes + more_nodes,
        "hash_function",
        [describe("features", onnx.TensorProto.FLOAT, ["n_samples", n_features])],
        [describe(output, kind, ["n_samples", columns])],
        [
            onnx.numpy_helper.from_array(value, key)
            for key, value in (constants | more_constants).items()
        ],
    )


def _pack_signs(onnx, activations, n_bits):
    """Signs as bits, then bytes of bits: nodes, constants, columns and type."""
    node, types = onnx.helper.make_node, onnx.TensorProto
    constants = {"zero": np.zeros((), np.float32), "bit_values": _bit_values(n_bits)}
    nodes = [
        node("Greater", [activations, "zero"], ["signs"]),
        node("Cast", ["signs"], ["bits"], to=types.FLOAT),
        node("MatMul", ["bits", "bit_values"], ["byte_values"]),
        node("Cast", ["byte_values"], ["codes"], to=types.UINT8),
    ]
    return nodes, constants, constants["bit_values"].shape[1], types.UINT8


def _weigh_activations(hasher):
    """What makes weights of activations: a function like `_pack_signs`."""
    weigh = getattr(hasher, "_weigh", lambda: None)()
    return _saturate if weigh is saturate else _keep


def _keep(onnx, activations, n_bits):
    nodes = [onnx.helper.make_node("Identity", [activations], ["query_weights"])]
    return nodes, {}, n_bits, onnx.TensorProto.FLOAT


def _saturate(onnx, activations, n_bits):
    """What `sklearn_talr.codes._weighted.saturate` does."""
    node = onnx.helper.make_node
    constants = {"two": np.array(2, np.float32), "tiny": np.array(_TINY)}
    nodes = [
        node("Abs", [activations], ["magnitudes"]),
        node("ReduceMean", ["magnitudes"], ["mean"], axes=[1], keepdims=1),
        node("Max", ["mean", "tiny"], ["scale"]),
        node("Div", ["two", "scale"], ["slope"]),
        node("Mul", [activations, "slope"], ["scaled"]),
        node("Tanh", ["scaled"], ["query_weights"]),
    ]
    return nodes, constants, n_bits, onnx.TensorProto.FLOAT


def _bit_values(n_bits):
    """Return what each bit adds to each little-endian byte, (n_bits, n_bytes) float32."""
    bits = np.arange(n_bits)
    values = np.zeros((n_bits, -(-n_bits // 8)), dtype=np.float32)
    values[bits, bits // 8] = 2.0 ** (bits % 8)
    return values
