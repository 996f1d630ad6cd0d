"""What EC3Classifier is composed of: two pools of named base models, whose parameters and metadata go by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from .._checks import InputError, InputTypeError, unknown_name
from .._text import arg
from .._typing import Array
from .pools import Pool, classifier_pool, clusterer_pool, too_slow_for

POOLS = ("classifiers", "clusterers")


class Composition(BaseEstimator):  # type: ignore[misc]
    """An estimator with two pools of base models, each the name of a pool or a list of (name, estimator) pairs."""

    classifiers: str | Pool
    clusterers: str | Pool
    consensus: Any
    voting: str
    prefit: bool
    random_state: Any

    # ---- parameters ------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if deep, also those of base models, with names such as `classifiers__lr__C`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for pool in POOLS:
                for name, model in _pairs(getattr(self, pool)):
                    params[f"{pool}__{name}"] = model
                    if hasattr(model, "get_params"):
                        params |= {
                            f"{pool}__{name}__{key}": value
                            for key, value in model.get_params(deep=True).items()
                        }
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters; those of base models have names such as `classifiers__lr__C`."""
        in_pools = [key for key in params if key.startswith(tuple(f"{pool}__" for pool in POOLS))]
        own = {key: value for key, value in params.items() if key not in in_pools}
        method = own.get("consensus", self.consensus)
        of_method = [key for key in own if key.startswith("consensus__")]
        if of_method and isinstance(method, str):
            came, remedy = arg("consensus", method), "Pass consensus=EC3() first."
            raise InputError(
                of_method[0], "must be a parameter of a method", came=came, remedy=remedy
            )
        super().set_params(**own)
        for key in sorted(
            in_pools, key=lambda key: key.count("__")
        ):  # a new model first, its parameters afterwards
            pool, name, *parameter = key.split("__", 2)
            self._set_in_pool(pool, name, parameter, params[key])
        return self

    def _set_in_pool(self, pool: str, name: str, parameter: list[str], value: Any) -> None:
        """Set a parameter of one base model, or replace the model; a pool given by its name becomes a list."""
        given = getattr(self, pool)
        models = dict(self._pool(pool) if isinstance(given, str) else given)
        if name not in models:
            raise unknown_name(f"base model in {pool}", name, models)
        if parameter:
            models[name].set_params(**{parameter[0]: value})
        else:
            models[name] = value
        setattr(self, pool, list(models.items()))

    # ---- pools -----------------------------------------------------------------------------------

    def _pool(self, pool: str) -> Pool:
        """Return the base models of a pool, without those that are "drop"."""
        given = getattr(self, pool)
        if not isinstance(given, str):
            return [(name, model) for name, model in given if not _dropped(model)]
        seed = getattr(self, "_seed", self.random_state)
        n_classes = len(self.classes_) if hasattr(self, "classes_") else None
        if pool == "classifiers":
            models = classifier_pool(given, soft=self.voting == "soft", random_state=seed)
            left_out = too_slow_for(given, n_classes or 0)
            return [(name, model) for name, model in models if name not in left_out]
        return clusterer_pool(given, n_classes=n_classes, random_state=seed)

    def _check_pools(self) -> None:
        for pool in POOLS:
            if not isinstance(getattr(self, pool), str):
                self._check_pairs(pool, getattr(self, pool))
        both = dict(_pairs(self.classifiers)).keys() & dict(_pairs(self.clusterers)).keys()
        if both:
            phrase = f"{arg('classifiers')} and {arg('clusterers')} must have different names, got {min(both)!r} in both"
            raise InputError("classifiers", phrase=phrase)

    def _check_pairs(self, pool: str, models: Any) -> None:
        """Refuse what is not a list of (name, estimator) with different names."""
        must = "must be the name of a pool or a list of (name, estimator)"
        if not isinstance(models, (list, tuple)):
            one = "[]" if models is None and pool == "clusterers" else "[('name', estimator)]"
            remedy = f"Pass {'list(pool.items())' if isinstance(models, Mapping) else one}."
            raise InputTypeError(pool, must, came=type(models).__name__, remedy=remedy)
        for pair in models:
            if (
                not isinstance(pair, (list, tuple))
                or len(pair) != 2
                or not isinstance(pair[0], str)
            ):
                raise InputTypeError(
                    pool, must, came=f"{pair!r} in it", remedy="Pass ('name', estimator)."
                )
            name, model = pair
            if _dropped(model):
                continue
            if isinstance(model, type) or not hasattr(model, "predict" if self.prefit else "fit"):
                remedy = f"Call it: {model.__name__}()." if isinstance(model, type) else ""
                came = f"{model!r} under the name {name!r}, which is not an estimator"
                raise InputTypeError(pool, must, came=came, remedy=remedy)
            if "__" in name:
                raise InputError(pool, "must have names without '__'", got=name)
        names = [name for name, _ in models]
        if pool == "classifiers" and all(_dropped(model) for _, model in models):
            came = "only 'drop'" if names else "an empty list"
            raise InputError(pool, "must hold at least one (name, estimator)", came=came)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(pool, "must have different names", came=f"{twice[0]!r} twice")

    # ---- metadata --------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which base model asks for which metadata, for scikit-learn's metadata routing."""
        router = MetadataRouter(owner=self)
        for name, model in _pairs(self.classifiers):
            router.add(
                **{name: model}, method_mapping=MethodMapping().add(callee="fit", caller="fit")
            )
        return router

    @property
    def _uses_routing(self) -> bool:
        """Whether scikit-learn's metadata routing says what each classifier gets; our own pools know nothing of it."""
        return get_config()["enable_metadata_routing"] and not isinstance(self.classifiers, str)

    def _route(self, fit_params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what each classifier's `fit` gets besides X and y."""
        if not fit_params:
            return {}
        pool = self._pool("classifiers")
        if self._uses_routing:
            routed = process_routing(self, "fit", **fit_params)
            return {name: dict(routed[name].fit) for name, _ in pool}
        unknown = [name for name in fit_params if name != "sample_weight"]
        if unknown:
            phrase = f"fit takes sample_weight besides X and y, got {unknown[0]!r}"
            raise InputTypeError(unknown[0], phrase=phrase)
        places = {name: _weight_parameter(model) for name, model in pool}
        return {
            name: {} if place is None else {place: fit_params["sample_weight"]}
            for name, place in places.items()
        }

    def _with_class_weights(self, pool: Pool, classes: Array) -> Pool:
        """Return classifiers whose class weights, if given by class, are by number: that is how they see the classes."""
        numbers = {label: z for z, label in enumerate(classes.tolist())}
        translated = []
        for name, model in pool:
            changes = {}
            for key, weights in (
                model.get_params(deep=True).items() if hasattr(model, "get_params") else ()
            ):
                if key.split("__")[-1] == "class_weight" and isinstance(weights, Mapping):
                    unknown = [label for label in weights if label not in numbers]
                    if unknown:
                        raise unknown_name(
                            f"class in the class_weight of {name!r}:", unknown[0], map(str, numbers)
                        )
                    changes[key] = {numbers[label]: weight for label, weight in weights.items()}
            translated.append((name, clone(model).set_params(**changes) if changes else model))
        return translated

    # ---- diagram ---------------------------------------------------------------------------------

    @available_if(lambda self: bool(_pairs(self.classifiers)))  # type: ignore[untyped-decorator]
    def _sk_visual_block_(self) -> Any:
        """Let scikit-learn draw the base models side by side, as it draws those of a VotingClassifier."""
        return VotingClassifier(
            [*_pairs(self.classifiers), *_pairs(self.clusterers)]
        )._sk_visual_block_()


def _pairs(pool: Any) -> Pool:
    """Return the (name, estimator) pairs of a list of them; a pool given by its name has none."""
    if not isinstance(pool, (list, tuple)):
        return []
    return [
        (pair[0], pair[1]) for pair in pool if isinstance(pair, (list, tuple)) and len(pair) == 2
    ]


def _dropped(model: Any) -> bool:
    """Return whether a base model is left out, as in scikit-learn's ensembles."""
    return isinstance(model, str) and model == "drop"


def _weight_parameter(model: Any) -> str | None:
    """Return what `fit` calls the weights of rows, in a pipeline those of its last step; None if it takes none."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        inner = _weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None
