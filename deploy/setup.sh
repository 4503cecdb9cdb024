#!/bin/sh
# Makes the development environment: a virtual environment holding exactly what the lock file lists, and this checkout
# installed into it as an editable package. Every step may be repeated, so an interrupted run is simply run again.
# Usage: deploy/setup.sh VENV LOCK [PYTHON]
set -eu
venv=$1
lock=$2
wanted=${3:-}

usable() { "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for candidate in ${wanted:-python3.11 python3.12 python3.13 python3 python}; do
        if usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "setup: no usable Python: ${wanted:-python3.11, python3.12, python3.13, python3 and python} tried." >&2
    echo "setup: Python 3.11 or later with its venv module is needed (on Debian also the package python3-venv)." >&2
    echo "setup: name one with: make setup PYTHON=/path/to/python3.11" >&2
    exit 1
}

# The installer itself is locked too: pip is given only its entry, with its hashes.
locked_entry() { awk -v name="$1==" 'index($0, name) == 1 { on = 1 } on { print } on && !/\\$/ { exit }' "$lock"; }

# Certificates come from the machine's own store, which its administrator keeps right, as pip's do.
UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-1}
export UV_SYSTEM_CERTS

# A home that does not exist or cannot be written must not put a cache into the checkout.
if [ -z "${UV_CACHE_DIR:-}" ] && [ -z "${XDG_CACHE_HOME:-}" ] && [ ! -w "${HOME:-/nonexistent}" ]; then
    UV_CACHE_DIR=${TMPDIR:-/tmp}/perdure-uv-cache-$(id -u)
    export UV_CACHE_DIR
fi

if ! usable "$venv/bin/python"; then
    python=$(find_python)
    echo "setup 1/4: virtual environment in $venv ($("$python" --version))"
    "$python" -m venv --clear "$venv"
else
    echo "setup 1/4: virtual environment in $venv ($("$venv/bin/python" --version), kept)"
fi

if ! "$venv/bin/uv" --version >/dev/null 2>&1; then
    echo "setup 2/4: installer"
    locked_entry uv >"$venv/installer.txt"
    "$venv/bin/python" -m pip install --disable-pip-version-check --force-reinstall --require-hashes -r "$venv/installer.txt"
else
    echo "setup 2/4: installer ($("$venv/bin/uv" --version), kept)"
fi

if ! cmp -s "$lock" "$venv/installed-lock.txt"; then
    echo "setup 3/4: $(grep -c '^[a-zA-Z0-9].*==' "$lock") locked packages"
    "$venv/bin/uv" pip sync --python "$venv/bin/python" --require-hashes "$lock"
    cp "$lock" "$venv/installed-lock.txt"
else
    echo "setup 3/4: locked packages (unchanged, kept)"
fi

echo "setup 4/4: this checkout, editable"
"$venv/bin/uv" pip install --python "$venv/bin/python" --no-deps --no-build-isolation --editable .
echo "setup: done; tools are in $venv/bin"
