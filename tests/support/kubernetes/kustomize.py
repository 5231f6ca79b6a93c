"""As much of Kustomize as our kustomizations use, so that their tests need no other program.

Resources, components, namespace, labels, strategic merge patches by name or by kind, config maps
from files with the hash in their name. `make kubernetes-check` compares it with kubectl.
"""

import copy
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]

KNOWN = {
    *("apiVersion", "kind", "namespace", "labels", "resources", "components", "patches"),
    *("configMapGenerator", "configurations"),
}
CLUSTER_WIDE = {"Namespace"}
_MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "env": "name",
}
"""Of Kubernetes' types: by which key the elements of a list are the same."""
_LETTERS = str.maketrans("013ae", "ghkmt")


def build(directory: Path) -> list[Object]:
    """The objects of a kustomization. Raises ValueError for what this does not know."""
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text(encoding="utf-8"))
    unknown = kustomization.keys() - KNOWN
    if unknown:
        raise ValueError(f"{directory}: no such thing as {unknown} here")
    objects: list[Object] = []
    for path in (directory / resource for resource in kustomization["resources"]):
        objects += build(path.resolve()) if path.is_dir() else _documents(path)
    for generator in kustomization.get("configMapGenerator", ()):
        objects.append(_config_map(directory, generator))
    for component in kustomization.get("components", ()):
        folder = (directory / component).resolve()
        inner = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
        if inner.keys() - {"apiVersion", "kind", "patches"}:
            raise ValueError(f"{folder}: a component of patches alone is known here")
        objects = _patched(objects, folder, inner["patches"])
    objects = _patched(objects, directory, kustomization.get("patches", ()))
    for labels in kustomization.get("labels", ()):
        for each in objects:
            each["metadata"].setdefault("labels", {}).update(labels["pairs"])
    if "namespace" in kustomization:
        for each in objects:
            if each["kind"] not in CLUSTER_WIDE:
                each["metadata"]["namespace"] = kustomization["namespace"]
    return objects


def finished(objects: list[Object]) -> list[Object]:
    """With the hashes of config maps in their names and wherever they are named."""
    names = {
        each["metadata"]["name"]: f"{each['metadata']['name']}-{_hash(each)}"
        for each in objects
        if each["kind"] == "ConfigMap" and each.get("_generated")
    }
    done: list[Object] = []
    for each in objects:
        shown = copy.deepcopy(each)
        if shown.pop("_generated", False):
            shown["metadata"]["name"] = names[shown["metadata"]["name"]]
        _rename(shown, names)
        done.append(shown)
    return done


def _patched(objects: list[Object], directory: Path, patches: Iterable[Object]) -> list[Object]:
    objects = list(objects)
    for patch in patches:
        target = patch.get("target")
        if target is not None and target.keys() != {"kind"}:
            raise ValueError(f"{directory}: a target by kind alone is known here")
        for change in _documents(directory / patch["path"]):
            wanted = target or {"kind": change["kind"]}
            name = change["metadata"]["name"]
            places = [
                at
                for at, each in enumerate(objects)
                if each["kind"] == wanted["kind"] and (target or each["metadata"]["name"] == name)
            ]
            if not places:
                raise ValueError(f"{directory}: {patch} changes nothing")
            for at in places:
                own = {**change["metadata"], "name": objects[at]["metadata"]["name"]}
                objects[at] = merged(objects[at], change | {"metadata": own})
    return objects


def merged(old: Any, new: Any) -> Any:
    """A strategic merge: maps by key, lists of named elements by their name, all else replaced."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    result = dict(old)
    for key, value in new.items():
        if key in _MERGE_KEYS and isinstance(result.get(key), list):
            result[key] = _merged_lists(_MERGE_KEYS[key], result[key], value)
        else:
            result[key] = merged(result[key], value) if key in result else value
    return result


def _merged_lists(name: str, old: list[Object], new: list[Object]) -> list[Object]:
    """Additions of the patch come first."""
    changed = {each[name]: each for each in new}
    known = {each[name] for each in old}
    added = [each for each in new if each[name] not in known]
    kept = [each for each in old if changed.get(each[name], {}).get("$patch") != "delete"]
    return [*added, *(merged(each, changed.get(each[name], {})) for each in kept)]


def _documents(path: Path) -> list[Object]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def _config_map(directory: Path, generator: Object) -> Object:
    paths = [directory / name for name in generator["files"]]
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    labels = generator.get("options", {}).get("labels")
    metadata = {"name": generator["name"]} | ({"labels": dict(labels)} if labels else {})
    known = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": texts}
    return known | {"_generated": True}


def _hash(config_map: Object) -> str:
    """As Kustomize's hasher: of the JSON that Go writes, in letters that spell no words."""
    # It does not see the name.
    content = {"kind": "ConfigMap", "name": "", "data": config_map["data"]}
    text = json.dumps(content, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return hashlib.sha256(text.encode()).hexdigest()[:10].translate(_LETTERS)


def _rename(value: Any, names: dict[str, str]) -> None:
    if isinstance(value, dict):
        reference = value.get("configMap")
        if isinstance(reference, dict) and reference.get("name") in names:
            reference["name"] = names[reference["name"]]
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        _rename(each, names)
