"""Mixins of estimators that hold a hasher: its attributes, and its metadata."""

from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from .._core.compat import CallbackSupportMixin
from .._core.types import Array
from ._base import fitted_property


class WithHasher(CallbackSupportMixin, MetaEstimatorMixin):
    """Attributes that an index takes from its hasher."""

    hasher_: Any = fitted_property("hasher.estimator", "The fitted hasher.")
    n_features_in_: int = fitted_property(
        "hasher.first.n_features_in_", "Number of features, if the hasher has it."
    )
    feature_names_in_: Array = fitted_property(
        "hasher.first.feature_names_in_", "Names of the features, if `fit` saw any."
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        hasher_tags = get_tags(self.hasher)
        tags.input_tags.sparse = hasher_tags.input_tags.sparse
        tags.target_tags.required = hasher_tags.target_tags.required
        return tags


class RoutesToHasher(CallbackSupportMixin, MetaEstimatorMixin):
    """Metadata routing: further arguments of `fit` go to the hasher."""

    def get_metadata_routing(self) -> Any:
        """Describe which metadata the hasher's `fit` and `score` take.

        Returns
        -------
        routing : MetadataRouter
            The routing.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(hasher=self.hasher, method_mapping=mapping)
