"""Export of fitted hash functions to other runtimes."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

__all__ = ["export_onnx"]

_OPSET, _IR_VERSION = 13, 8  # old ones, which any runtime of the last years reads


def export_onnx(hasher, path):
    """Write a fitted hash function as an ONNX graph from features to packed codes.

    The graph has one input, ``features`` of shape (n_samples, n_features) and float32, and
    one output, ``codes`` of shape (n_samples, ceil(n_bits / 8)) and uint8: the bytes of
    :func:`sklearn_talr.codes.pack_codes` in its default bit order, "little". It needs
    neither this library nor torch to run.

    Runtimes add products in different orders. An activation within rounding of 0 may
    therefore become the other bit than `transform` gives.

    Parameters
    ----------
    hasher : fitted hasher
        Any estimator of :mod:`sklearn_talr.hashing`.

    path : str or path-like
        File to write, by convention ``*.onnx``.

    Raises
    ------
    TypeError
        If `hasher` is not a hasher.

    ValueError
        If it is not fitted, has trees, or was fitted with a torch module of its own.

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
    if not (hasattr(hasher, "decision_function") and hasattr(hasher, "n_bits")):
        raise TypeError(
            f"hasher must be of sklearn_talr.hashing, got a {type(hasher).__name__}. Of a "
            "Pipeline, export the last step and apply the others to the features."
        )
    check_is_fitted(hasher)
    if not hasattr(hasher, "coefs_"):
        raise ValueError(
            "export_onnx writes linear layers with rectifiers, which this hasher lacks. "
            "Export a module of its own by torch.onnx; for trees, fit another hasher."
        )
    try:
        import onnx
    except ImportError as error:
        raise ImportError("export_onnx needs the package onnx: pip install onnx") from error
    graph = _graph(onnx.helper, onnx.numpy_helper, onnx.TensorProto, hasher)
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="sklearn-talr",
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save_model(model, path)


def _graph(helper, numpy_helper, types, hasher):
    """Layers with rectifiers between them, signs as bits, bits weighed into bytes."""
    nodes, constants = [], {}
    name = "features"
    for layer, (coef, intercept) in enumerate(zip(hasher.coefs_, hasher.intercepts_)):
        if layer:
            nodes.append(helper.make_node("Relu", [name], [f"hidden_{layer}"]))
            name = f"hidden_{layer}"
        constants[f"coef_{layer}"] = coef.astype(np.float32)
        constants[f"intercept_{layer}"] = intercept.astype(np.float32)
        inputs = [name, f"coef_{layer}", f"intercept_{layer}"]
        name = f"activations_{layer}"
        nodes.append(helper.make_node("Gemm", inputs, [name]))
    n_bits = hasher.coefs_[-1].shape[1]
    constants["zero"] = np.zeros((), dtype=np.float32)
    constants["bit_values"] = _bit_values(n_bits)
    nodes += [
        helper.make_node("Greater", [name, "zero"], ["signs"]),
        helper.make_node("Cast", ["signs"], ["bits"], to=types.FLOAT),
        helper.make_node("MatMul", ["bits", "bit_values"], ["byte_values"]),
        helper.make_node("Cast", ["byte_values"], ["codes"], to=types.UINT8),
    ]
    shape = ["n_samples", hasher.coefs_[0].shape[0]]
    features = helper.make_tensor_value_info("features", types.FLOAT, shape)
    shape = ["n_samples", constants["bit_values"].shape[1]]
    codes = helper.make_tensor_value_info("codes", types.UINT8, shape)
    constants = [numpy_helper.from_array(value, key) for key, value in constants.items()]
    return helper.make_graph(nodes, "hash_function", [features], [codes], constants)


def _bit_values(n_bits):
    """What each bit adds to each byte in little bit order, (n_bits, n_bytes) float32."""
    bits = np.arange(n_bits)
    values = np.zeros((n_bits, -(-n_bits // 8)), dtype=np.float32)
    values[bits, bits // 8] = 2.0 ** (bits % 8)
    return values
