#!/usr/bin/env bash
# Makes requirements/*.txt from pyproject.toml: versions and hashes, no addresses. Needs uv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v uv >/dev/null || {
    echo "lock: uv is not on PATH. Install it (pip install uv) and run make lock again." >&2
    exit 1
}

options=(--quiet --universal --python-version 3.11 --generate-hashes --no-header --annotation-style line --override requirements/overrides.in)
[ -z "${UPGRADE:-}" ] || options+=(--upgrade)

# The widest first: the narrower ones take its versions, so a package has one version in all of them.
uv pip compile "${options[@]}" -o requirements/dev.txt --all-extras --group pyproject.toml:dev pyproject.toml requirements/build.in requirements/weights.in
for name in all core; do
    extras=()
    [ "$name" = core ] || extras=(--all-extras requirements/weights.in)
    uv pip compile "${options[@]}" -c requirements/dev.txt -o "requirements/$name.txt" "${extras[@]}" pyproject.toml
done
uv pip compile "${options[@]}" -c requirements/dev.txt -o requirements/build.txt requirements/build.in
uv pip compile "${options[@]}" -c requirements/dev.txt -o requirements/bench.txt --group pyproject.toml:bench
wc -l requirements/*.txt | sed 's/^/lock: /'
