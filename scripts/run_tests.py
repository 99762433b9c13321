"""Runs the C++ test programs and the Python tests of a build, and prints one count of all.

Usage: run_tests.py BUILD_FOLDER [NAME ...]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# Read by libgomp when it is loaded: spinning threads would slow everything on a small machine.
ENVIRONMENT = dict(os.environ, OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0", PYTHONDONTWRITEBYTECODE="1")


def wanted(name, filters):
    return not filters or any(part in name for part in filters)


def run_program(program, scratch):
    """Returns (passed, failed, names of the failed) of a GoogleTest program."""
    report = scratch / f"{program.name}.json"
    done = subprocess.run([program, "--gtest_brief=1", f"--gtest_output=json:{report}"], env=ENVIRONMENT, cwd=scratch)
    if not report.exists():
        return 0, 1, [f"{program.name} (ended with {done.returncode} before its report)"]
    result = json.loads(report.read_text())
    failed = [f"{program.name}: {suite['name']}.{test['name']}" for suite in result["testsuites"]
              for test in suite["testsuite"] if test.get("failures")]
    if done.returncode != 0 and not failed:
        failed = [f"{program.name} (exit status {done.returncode})"]
    skipped = sum(test.get("result") == "SKIPPED" for suite in result["testsuites"] for test in suite["testsuite"])
    return result["tests"] - result["failures"] - skipped, len(failed), failed


def run_python(file, build, scratch):
    report = scratch / f"{file.stem}.xml"
    environment = dict(ENVIRONMENT, CORISCO_BINARY=str(build / "corisco"))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", file],
                          env=environment, cwd=SOURCE)
    if not report.exists():
        return 0, 1, [f"{file.name} (ended with {done.returncode} before its report)"]
    suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
    failed = [f"{file.name}: {case.get('name')}" for case in suite.iter("testcase")
              if case.find("failure") is not None or case.find("error") is not None]
    return int(suite.get("tests")) - len(failed) - int(suite.get("skipped")), len(failed), failed


def main():
    build, filters = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    passed, failed = 0, []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        programs = [path for path in sorted(build.glob("test_*")) if os.access(path, os.X_OK) and path.is_file()]
        jobs = [(program.name, lambda program=program: run_program(program, scratch)) for program in programs]
        jobs += [(str(file.relative_to(SOURCE)), lambda file=file: run_python(file, build, scratch))
                 for file in sorted((SOURCE / "tests").rglob("test_*.py"))]
        for name, job in jobs:
            if not wanted(name, filters):
                continue
            started = time.monotonic()
            good, _, bad = job()
            passed += good
            failed += bad
            print(f"{name}: {good} passed, {len(bad)} failed ({time.monotonic() - started:.1f} s)", flush=True)
    for name in failed:
        print(f"FAILED {name}")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
