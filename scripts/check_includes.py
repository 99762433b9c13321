"""Holds the #include lines to the module table: fails on an edge that the table does not have.

Usage: check_includes.py [SOURCE_FOLDER]
"""
import pathlib
import re
import sys

# Module -> modules whose public headers it may include. `app` may include all.
MAY_USE = {
    "base": [],
    "types": ["base"],
    "config": ["base"],
    "metrics": ["base"],
    "coordinator": ["base", "types", "metrics", "config"],
    "text": ["base", "types", "config"],
    "model": ["base", "config"],
    "engine": ["base", "types", "metrics", "config", "model"],
    "samples": ["base", "types", "metrics", "config"],
    "trainer": ["base", "types", "metrics", "config", "model"],
    "rollouts": ["base", "types", "metrics", "config"],
    "gateway": ["base", "types", "metrics", "config", "coordinator", "text"],
}
MAY_USE["app"] = list(MAY_USE)

# Library headers and the only places that may include them.
CONFINED = [
    (re.compile(r"^(ATen|c10|torch)/"), ("src/model/", "src/engine/", "src/trainer/", "include/corisco/model/")),
    (re.compile(r"^spdlog/"), ("src/base/log.cc",)),
    (re.compile(r"^yaml-cpp/"), ("src/config/",)),
    (re.compile(r"^prometheus/"), ("src/metrics/",)),
    (re.compile(r"^CLI/"), ("src/app/",)),
    (re.compile(r"^(openssl/ssl|boost/asio/ssl)"),
     ("src/gateway/tls.cc", "src/gateway/upstream_stream.cc", "src/app/status.cc")),
    (re.compile(r"^boost/beast"), ("src/gateway/", "src/app/status.cc")),
    (re.compile(r"^nlohmann/"), ("src/gateway/", "src/rollouts/", "src/text/", "src/model/", "src/trainer/",
                                 "src/metrics/", "src/app/", "include/corisco/base/json.h", "src/base/json.cc")),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def module_of(path):
    """The module of a file below src/ or include/corisco/, or None."""
    parts = path.parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "corisco") and len(parts) > 3:
        return parts[2]
    return None


def target_of(include, file, root):
    """The module that an include names, or None for a library's header."""
    if include.startswith("corisco/"):
        return include.split("/")[1]
    first = include.split("/")[0]
    if "/" in include and first in MAY_USE and (root / "src" / include).exists():
        return first
    return None


def violations(root):
    for file in sorted([*root.glob("src/**/*"), *root.glob("include/**/*")]):
        if file.suffix not in (".h", ".cc", ".inc"):
            continue
        path = file.relative_to(root)
        module = module_of(path)
        if module not in MAY_USE:
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            include = found.group(1)
            target = target_of(include, file, root)
            if target and target != module and target not in MAY_USE[module]:
                yield f"{path}:{number}: {module} may not include {include}: the module table has no edge {module} -> {target}"
            if target and target != module and not include.startswith("corisco/") and module != "app":
                yield f"{path}:{number}: {include} is private to {target}"
            for pattern, places in CONFINED:
                if pattern.match(include) and not str(path).startswith(places):
                    yield f"{path}:{number}: {include} may be included only in {', '.join(places)}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    found = list(violations(root))
    for line in found:
        print(line)
    print(f"include directions: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
