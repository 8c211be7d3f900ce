#!/usr/bin/env bash
# Builds .venv with all that the demo and the tests need; does nothing when it is up to date.
# Takes PYTHON (which interpreter to build on); uses uv to install when it is on PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=.venv
stamp=$venv/.setup-done
is_new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

say() { printf 'setup: %s\n' "$@" >&2; } # a line each, of at most 80 columns
stop() {
    say "$@"
    exit 1
}

# What the environment was made for: this folder (a copied environment calls the old one) and these files.
fingerprint() {
    pwd
    cat requirements/*.txt pyproject.toml scripts/setup.sh | cksum
}

find_python() {
    local name
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
        if command -v "$name" >/dev/null && "$name" -c "$is_new_enough" 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    stop "no Python 3.11 or newer was found${PYTHON:+ as $PYTHON}." \
        "Install one, or name it: make setup PYTHON=/path/to/python3"
}

make_venv() {
    local python
    python=$(find_python)
    say "building $venv on $("$python" -V)"
    rm -rf "$venv"
    "$python" -m venv "$venv" 2>/dev/null && return
    rm -rf "$venv" # Debian's python3 without python3-venv leaves half an environment
    command -v uv >/dev/null || stop "$python cannot build an environment with pip." \
        "Install python3-venv (or uv) and run make setup again."
    uv venv --quiet --seed --python "$python" "$venv"
}

with_uv() { # --compile-bytecode as pip does it: otherwise the first run of everything pays for it
    local install=(uv pip install --quiet --python "$venv/bin/python" --compile-bytecode --no-deps --no-build-isolation)
    "${install[@]}" --require-hashes -r requirements/build.txt &&
        "${install[@]}" --require-hashes -r requirements/dev.txt &&
        "${install[@]}" --reinstall-package cortex-eval -e .
}

with_pip() {
    local install=("$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input --no-deps --no-build-isolation)
    "${install[@]}" --require-hashes -r requirements/build.txt &&
        "${install[@]}" --require-hashes -r requirements/dev.txt &&
        "${install[@]}" -e .
}

wanted=$(fingerprint)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && "$venv/bin/python" -c "$is_new_enough" 2>/dev/null; then
    exit 0
fi

began=$SECONDS
if ! "$venv/bin/python" -c "import pip; $is_new_enough" 2>/dev/null; then
    make_venv
elif [ -f "$stamp" ] && [ "$(head -n 1 "$stamp")" != "$PWD" ]; then
    say "$venv was made in another folder"
    make_venv
fi
rm -f "$stamp"

count=$(cat requirements/build.txt requirements/dev.txt | sed -n 's/^\([a-z0-9-]*\)==.*/\1/p' | sort -u | wc -l)
say "installing $count packages into $venv, by hash (a minute the first time) …"
if command -v uv >/dev/null; then
    with_uv || { say "uv could not install them; trying pip" && with_pip; }
else
    with_pip
fi || stop "the packages could not be installed; the lines above say why."

"$venv/bin/python" -c 'import cortex_eval' || stop "the package is installed, but cannot be imported."
# Where Python is told not to write byte code, every start would compile the package anew.
"$venv/bin/python" -m compileall -q src/cortex_eval >/dev/null || true
echo "$wanted" >"$stamp"
say "done in $((SECONDS - began)) s; the command is $venv/bin/cortex"
