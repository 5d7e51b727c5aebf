"""Parameters of estimators, which are written as annotated attributes of their classes."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import sklearn_talr
from sklearn_talr._lazy import has_torch
from sklearn_talr._parameters import KW_ONLY, parameters

PACKAGE = Path(sklearn_talr.__file__).parent


def decorated_classes():
    """Module name, class name and annotated attributes of each class with the decorator."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(
            ("sklearn_talr", *path.relative_to(PACKAGE).with_suffix("").parts)
        )
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ClassDef):
                continue
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if "parameters" in decorators:
                yield module, node.name, declared_names(node)


def declared_names(node):
    """Names that a class body annotates, but for those that are no parameters."""
    return [
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and not statement.target.id.startswith("_")
        and "ClassVar" not in ast.unparse(statement.annotation)
    ]


CLASSES = list(decorated_classes())


@pytest.mark.parametrize(
    ("module", "name", "declared"), CLASSES, ids=[name for _, name, _ in CLASSES]
)
def test_every_declared_parameter_can_be_passed(module, name, declared):
    """The source is read as text, since Python decides how annotations are kept."""
    if module.startswith("sklearn_talr.losses") and not has_torch():
        pytest.skip("needs PyTorch")
    cls = getattr(import_module(module), name)
    signature = inspect.signature(cls).parameters
    assert set(declared) <= set(signature)


def test_annotations_that_are_evaluated_on_request_are_found(monkeypatch):
    """Since Python 3.14 the dict of a class has no ``__annotations__`` at first."""

    class Base:
        pass

    class Lazy(Base):
        n_bits = 32
        seed = None

    lazy_annotations = {"n_bits": int, "_": KW_ONLY, "seed": int | None}
    get_annotations = inspect.get_annotations
    monkeypatch.setattr(
        inspect,
        "get_annotations",
        lambda cls: lazy_annotations if cls is Lazy else get_annotations(cls),
    )
    cls = parameters(Lazy)
    assert "__annotations__" not in vars(cls) or not vars(cls)["__annotations__"]
    estimator = cls(16, seed=3)
    assert (estimator.n_bits, estimator.seed) == (16, 3)
    assert (cls().n_bits, cls().seed) == (32, None)
    with pytest.raises(TypeError, match="Lazy"):
        cls(16, 3)
