"""Fitted hash functions as ONNX graphs."""

import os

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import validate_params
from sklearn.utils.validation import check_is_fitted

__all__ = ["export_onnx"]

_OPSET, _IR_VERSION = 13, 8  # so old that any runtime of the last years reads them


@validate_params(
    {"hasher": "no_validation", "path": [str, os.PathLike]},
    prefer_skip_nested_validation=True,
)
def export_onnx(hasher, path):
    """Write a fitted hash function as an ONNX graph from features to packed codes.

    The graph has one input, ``features`` of shape (n_samples, n_features) and float32, and
    one output, ``codes`` of shape (n_samples, ceil(n_bits / 8)) and uint8: the bytes of
    :func:`sklearn_talr.codes.pack_codes` in its default bit order, "little". It needs
    neither this library nor torch to run.

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

    Raises
    ------
    TypeError
        If `hasher` is not a hasher, or is a Pipeline.

    ValueError
        If it is not fitted, was fitted with a torch module of the user, or has trees.

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
    try:
        import onnx
    except ImportError as error:
        raise ImportError("export_onnx needs the package onnx: pip install onnx") from error
    layers = list(zip(hasher.coefs_, hasher.intercepts_))
    graph = _graph(onnx.helper, onnx.numpy_helper, onnx.TensorProto, layers)
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


def _graph(helper, numpy_helper, types, layers):
    """Build the graph: layers and rectifiers, then signs as bits, then bytes of bits."""
    nodes, constants = [], {}
    name = "features"
    for layer, (coef, intercept) in enumerate(layers):
        if layer:
            nodes.append(helper.make_node("Relu", [name], [f"hidden_{layer}"]))
            name = f"hidden_{layer}"
        constants[f"coef_{layer}"] = coef.astype(np.float32)
        constants[f"intercept_{layer}"] = intercept.astype(np.float32)
        inputs = [name, f"coef_{layer}", f"intercept_{layer}"]
        name = f"activations_{layer}"
        nodes.append(helper.make_node("Gemm", inputs, [name]))
    n_bits = layers[-1][0].shape[1]
    constants["zero"] = np.zeros((), dtype=np.float32)
    constants["bit_values"] = _bit_values(n_bits)
    nodes += [
        helper.make_node("Greater", [name, "zero"], ["signs"]),
        helper.make_node("Cast", ["signs"], ["bits"], to=types.FLOAT),
        helper.make_node("MatMul", ["bits", "bit_values"], ["byte_values"]),
        helper.make_node("Cast", ["byte_values"], ["codes"], to=types.UINT8),
    ]
    shape = ["n_samples", layers[0][0].shape[0]]
    features = helper.make_tensor_value_info("features", types.FLOAT, shape)
    shape = ["n_samples", constants["bit_values"].shape[1]]
    codes = helper.make_tensor_value_info("codes", types.UINT8, shape)
    constants = [numpy_helper.from_array(value, key) for key, value in constants.items()]
    return helper.make_graph(nodes, "hash_function", [features], [codes], constants)


def _bit_values(n_bits):
    """Return what each bit adds to each little-endian byte, (n_bits, n_bytes) float32."""
    bits = np.arange(n_bits)
    values = np.zeros((n_bits, -(-n_bits // 8)), dtype=np.float32)
    values[bits, bits // 8] = 2.0 ** (bits % 8)
    return values
