"""Parameters are attributes of an estimator, and errors name the class that was called."""

import ast
import inspect
import pickle
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from hashers import HASHERS, name_of
from numpy.testing import assert_array_equal
from sklearn.base import clone

import sklearn_talr
from sklearn_talr._core.lazy import has_torch
from sklearn_talr._core.parameters import KW_ONLY, parameters
from sklearn_talr.codes import hamming_distances, pack_codes
from sklearn_talr.hashing import ClassProbabilities, CrossViewHasher, ITQHasher, LSHHasher
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.neighbors import (
    HammingNeighbors,
    HashedNeighbors,
    ItemRanker,
    MaxSimNeighbors,
    WeightedHammingNeighbors,
)
from sklearn_talr.svm import RankingSVC

X = np.random.default_rng(0).normal(size=(80, 6)).astype(np.float32)
Y = np.arange(80) % 2
ITQ = ITQHasher(4, random_state=0)
OTHERS = [
    ClassProbabilities(cv=2, temperature=2.0),
    KernelRidgeClassifierCV(n_components=20, random_state=0),
    RankingSVC(C=0.5, max_iter=5),
    HammingNeighbors(3, scoring="nDCG"),
    WeightedHammingNeighbors(3, n_candidates=20),
    HashedNeighbors(ITQ, n_rescored=10, max_samples=40, random_state=0),
    MaxSimNeighbors(ITQ, n_neighbors=3, query="bits"),
    ItemRanker(CrossViewHasher(4, teacher=None, max_iter=1, random_state=0), X, Y),
]
ESTIMATORS = [*HASHERS, *OTHERS]


def public_classes():
    names = [m.name for m in iter_modules(sklearn_talr.__path__) if m.name[0] != "_"]
    modules = [sklearn_talr, *(import_module(f"sklearn_talr.{name}") for name in names)]
    values = [
        public_value(module, name)
        for module in modules
        for name in getattr(module, "__all__", [])
    ]
    return sorted({v for v in values if inspect.isclass(v)}, key=lambda v: v.__name__)


def public_value(module, name):
    """What a module has under a name; None if it needs PyTorch and that is not there."""
    try:
        return getattr(module, name)
    except ModuleNotFoundError:
        if has_torch():
            raise
        return None


def shortened(estimator):
    """The estimator as one of a subclass whose ``__init__`` takes a single parameter."""
    parent, params = type(estimator), estimator.get_params(deep=False)
    last = list(params)[-1]

    def init(self, last):
        parent.__init__(self, **params | {last_name: last})

    last_name = last
    source = f"def __init__(self, {last}=None):\n    init(self, {last})"
    namespace = {"init": init}
    exec(source, namespace)
    body = {"__init__": namespace["__init__"], "__module__": __name__}
    child = type(f"Short{parent.__name__}", (parent,), body)
    return child(params[last])


def answer(estimator):
    if hasattr(estimator, "kneighbors"):
        found = estimator.kneighbors(X[:5], 2)
        return found[1] if isinstance(found, tuple) else found
    if hasattr(estimator, "transform"):
        return estimator.transform(X)
    return estimator.decision_function(X)


def seeded(estimator):
    estimator = clone(estimator)
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=0)
    return estimator


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_a_subclass_may_take_fewer_parameters(estimator):
    estimator = seeded(estimator)
    short = shortened(estimator)
    assert len(short.get_params(deep=False)) == 1
    expected = answer(estimator.fit(X, Y))
    assert_array_equal(answer(short.fit(X, Y)), expected)
    assert_array_equal(answer(clone(short).fit(X, Y)), expected)
    if hasattr(short, "partial_fit") and not hasattr(short, "loss"):
        short.partial_fit(X, Y)
    if hasattr(short, "add"):
        short.add(X, Y)


def test_a_subclass_may_fix_a_parameter_as_an_attribute():
    class Hasher(sklearn_talr.TALRHasher):
        max_iter = 1

        def __init__(self, n_bits=4, random_state=None):
            self.n_bits = n_bits
            self.random_state = random_state

    fitted = Hasher(random_state=0).fit(X, Y)
    expected = sklearn_talr.TALRHasher(4, max_iter=1, random_state=0).fit(X, Y)
    assert_array_equal(fitted.transform(X), expected.transform(X))


@pytest.mark.parametrize("kind", public_classes(), ids=lambda kind: kind.__name__)
def test_errors_name_the_class_that_was_called(kind):
    with pytest.raises(TypeError, match=rf"\b{kind.__name__}\b"):
        kind(no_such_parameter=1)
    with pytest.raises(TypeError, match=rf"\b{kind.__name__}\b"):
        kind(*range(99))
    if hasattr(kind, "_init_fields"):

        class OfTheUser(kind):
            note: str = "no parameter"

        class OfOfTheUser(OfTheUser):
            pass

        for child in (OfTheUser, OfOfTheUser):
            with pytest.raises(TypeError, match=rf"{child.__name__}\.__init__\(\)"):
                child(no_such_parameter=1)
            assert inspect.signature(child) == inspect.signature(kind)


class Renamed(LSHHasher):
    """A subclass at the level of a module, which can be pickled."""


class Own(LSHHasher):
    def __init__(self, n_bits=4):
        super().__init__(n_bits, random_state=0)


class OfOwn(Own):
    pass


def test_subclasses_are_estimators_as_before():
    hasher = clone(Renamed(4, random_state=0)).fit(X)
    assert repr(hasher) == "Renamed(n_bits=4, random_state=0)"
    codes = LSHHasher(4, random_state=0).fit_transform(X)
    assert_array_equal(pickle.loads(pickle.dumps(hasher)).transform(X), codes)
    assert OfOwn().get_params() == {"n_bits": 4}
    assert_array_equal(OfOwn().fit_transform(X), codes)
    with pytest.raises(TypeError, match=r"Own\.__init__\(\)"):
        OfOwn(bits=3)


def test_functions_that_check_their_parameters_are_named():
    with pytest.raises(TypeError, match=r"hamming_distances\(\) missing .*database_codes"):
        hamming_distances([[1]])
    with pytest.raises(TypeError, match=r"pack_codes\(\) got an unexpected .*'order'"):
        pack_codes([[1]], order="big")


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
