"""docs/openapi.yaml describes the routes that the gateway has, and no others."""
import pathlib
import re

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ROUTING = ("routes.cc", "agent_lightning/paths.cc")   # in src/gateway
DOCUMENT = SOURCE / "docs" / "openapi.yaml"


def document():
    return yaml.safe_load(DOCUMENT.read_text())


def documented():
    """Every path, with each server's prefix; {} for what varies."""
    paths = set()
    for path, item in document()["paths"].items():
        for server in item.get("servers", [{"url": ""}]):
            paths.add(re.sub(r"\{[^}]*\}", "{}", re.sub(r"^http://[^/]*", "", server["url"]) + path))
    return paths


def routed():
    """Every text of the files that tell routes apart, but for the end of a prefix that is there whole too."""
    texts = [(SOURCE / "src" / "gateway" / file).read_text() for file in ROUTING]
    return set(re.findall(r'"([^" ]*)"', "".join(texts))) - {"/openai"}


def words(path):
    return {word for word in path.split("/") if word not in ("", "{}")}


def test_every_route_is_described():
    paths = documented()
    missing = [text for text in routed() if text.startswith("/") and not any(
        path.endswith(text) or (text.endswith("/") and text in path) for path in paths)]
    assert not missing, f"docs/openapi.yaml lacks {missing}"


def test_every_described_path_is_routed():
    known = {word for text in routed() for word in words(text)}
    assert not [path for path in documented() if not words(path) <= known], "no route has them"


def test_every_reference_leads_somewhere():
    whole = document()
    for reference in set(re.findall(r'"#/([^"]*)"', DOCUMENT.read_text())):
        place = whole
        for key in reference.split("/"):
            assert key in place, reference
            place = place[key]


def test_every_operation_says_how_it_refuses():
    for path, item in document()["paths"].items():
        for method in item.keys() - {"servers", "parameters"}:
            assert "4XX" in item[method]["responses"], f"{method} {path}"
            assert re.fullmatch(r"[a-z_]+", item[method]["operationId"]), path
