"""What README and docs tell a reader to type is there: commands, options, keys, files and scripts."""
import os
import pathlib
import re
import subprocess

import pytest
import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ["CORISCO_BINARY"]
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KEYS = (SOURCE / "docs" / "config.md").read_text()


def corisco(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "MODELS_KEY": "of-the-example"})


def keys():
    """{"trainer.learning_rate", ...} and the sections, from the generated page."""
    found, section = set(), ""
    for line in KEYS.splitlines():
        if line.startswith("## "):
            section = line[3:]
            found.add(section)
        elif key := re.match(r"\| `(\w+)` \|", line):
            found.add(f"{section}.{key[1]}")
    return found


def code(page):
    """What stands between backticks, in the text and in blocks of commands."""
    text = page.read_text()
    blocks = [block for language, block in BLOCK.findall(text) if language in ("", "sh")]
    without_blocks = BLOCK.sub("", text)
    return [" ".join(piece.split()) for piece in re.findall(r"`([^`]+)`", without_blocks)] + [
        line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_blocks_have_known_keys(page, tmp_path):
    for language, block in BLOCK.findall(page.read_text()):
        if language != "yaml":
            continue
        if block.startswith("  harness:"):
            block = "rollouts:\n" + block
        given = yaml.safe_load(block)
        given.setdefault("model", {"path": str(tmp_path)})
        config = tmp_path / "block.yaml"
        config.write_text(yaml.safe_dump(given))
        # Its files are not here; everything else about it must be right.
        problems = [line for line in corisco("check", config).stderr.splitlines()
                    if line.startswith(str(config)) and "there is no" not in line and "is required when" not in line]
        assert not problems, (block, problems)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_are_there(page):
    for piece in code(page):
        for name, rest in re.findall(r"\bcorisco ([a-z]+)\b([^|&;#]*)", piece):
            if not re.match(r"(build/release/)?corisco |.*build/release/corisco ", piece):
                continue                     # a sentence or another program's argument
            printed = corisco(name, "--help")
            assert printed.returncode == 0, f"{page.name}: {piece}: no such command"
            for option in re.findall(r"--[a-z-]+", rest):
                assert re.search(rf"\s{option}\b", printed.stdout), f"{page.name}: {piece}: no {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_keys_are_those_of_the_config(page):
    known = keys()
    sections = {key.split(".")[0] for key in known}
    for piece in code(page):
        for key in re.findall(r"(?<![\w./-])([a-z]+(?:\.[a-z_0-9]+)+)(?![\w/(]|\.\*)", piece):
            is_a_file = key.rsplit(".", 1)[1] in ("md", "py", "cc", "h", "sh", "json", "jsonl", "yaml", "txt", "toml")
            if key.split(".")[0] in sections and not is_a_file:
                assert key in known, f"{page.name}: `{piece}`: {key} is no key"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_paths_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name}: {link}"
    for piece in code(page):
        for path in re.findall(r"(?<![\w/.-])(?:\./)?((?:src|include|scripts|tests|configs|docker)/[\w./-]+\w)",
                               piece):
            found = any((SOURCE / folder / path).exists() for folder in (".", "configs"))
            assert found, f"{page.name}: `{piece}`: there is no {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_metrics_are_declared(page):
    declared = (SOURCE / "docs" / "metrics.md").read_text()
    for name in re.findall(r"\bcorisco_(?:gateway|engine|samples|rollouts|trainer|coordinator|evaluation)_[a-z_]+",
                           page.read_text()):
        assert f"`{name}`" in declared, f"{page.name}: {name} is no metric"


def test_every_page_is_reachable_from_the_map():
    """docs/ARCHITECTURE.md lists the pages; those of a folder are listed by its own README."""
    listed = (SOURCE / "docs" / "ARCHITECTURE.md").read_text()
    missing = [page.name for page in (SOURCE / "docs").glob("*.*")
               if page.name != "ARCHITECTURE.md" and page.suffix in (".md", ".yaml") and f"]({page.name})" not in listed]
    assert not missing, missing


def test_scripts_are_bash_that_parses():
    for script in [*SOURCE.glob("scripts/**/*.sh"), SOURCE / ".ci" / "run"]:
        done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert os.access(script, os.X_OK) or script.name == "common.sh", f"{script} is not executable"
