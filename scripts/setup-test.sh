#!/usr/bin/env bash
# Finds or installs what only the tests need: a browser, fonts that can write Hindi, PostgreSQL, and the programs that
# translate and speak where a project asks for them (Apertium, flite, eSpeak NG).
# What cannot be had is said aloud and never stops anything: the tests that need it are then skipped, and counted.
# CORTEX_NO_INSTALL=1 looks, and installs nothing.
set -euo pipefail

say() { echo "setup-test: $*" >&2; }

has_browser() {
    local name
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null && return
    done
    return 1
}
has_fonts() { command -v fc-list >/dev/null && [ -n "$(fc-list :lang=hi family)" ]; }
has_postgres() {
    command -v postgres >/dev/null && command -v initdb >/dev/null && return
    compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null
}

missing() {
    has_browser || echo chromium
    has_fonts || echo fonts-noto-core fonts-indic
    has_postgres || echo postgresql
    command -v apertium >/dev/null || echo apertium-eng-spa
    command -v flite >/dev/null || echo flite
    command -v espeak-ng >/dev/null || echo espeak-ng
}

# Runs a command as root, if that can be had without asking.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

install_packages() {
    command -v apt-get >/dev/null || { say "there is no apt-get here"; return 1; }
    as_root true 2>/dev/null || { say "not root, and sudo would ask for a password"; return 1; }
    local log status=0
    log=$(mktemp)
    say "installing $* (apt-get; about a minute) …"
    {
        as_root apt-get -qq update &&
            as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "$@"
    } </dev/null >"$log" 2>&1 || status=$?
    [ "$status" = 0 ] || tail -n 5 "$log" | sed 's/^/setup-test:   /' >&2
    rm -f "$log"
    return "$status"
}

mapfile -t packages < <(missing | tr ' ' '\n')
[ "${#packages[@]}" -gt 0 ] || exit 0

[ -n "${CORTEX_NO_INSTALL:-}" ] || install_packages "${packages[@]}" || true

mapfile -t packages < <(missing | tr ' ' '\n')
[ "${#packages[@]}" -gt 0 ] || exit 0
say "!!"
say "!! NOT INSTALLED: ${packages[*]}"
say "!! The tests that need them will be SKIPPED."
say "!! Install them and run make test again to have them run."
say "!!"
