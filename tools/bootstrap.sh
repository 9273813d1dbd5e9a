#!/bin/sh
# Make the environment that the Makefile's targets run in.
#
#   bootstrap.sh environment VENV PYTHON   a new VENV with the packages of requirements.lock
#   bootstrap.sh project VENV              this project, editable, into VENV
#
# What can go wrong on a new machine ends in one sentence that says how to go on.
set -eu

fail() {
    echo "bootstrap: $*" >&2
    exit 1
}

check_python() {
    found=$("$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>&1) ||
        fail "Python must be a command that runs, but got '$1'; install Python 3.10 or newer, or name yours: make PYTHON=/path/to/python3"
    case $found in
    3.1[0-4].*) ;;
    *) fail "Python must be 3.10 to 3.14, but got $found from '$1'; name another one, for example: make PYTHON=python3.11" ;;
    esac
    missing=$("$1" -c 'import venv, ensurepip' 2>&1) ||
        fail "Python must come with venv and ensurepip, but got '$(echo "$missing" | tail -n 1)' from '$1'; install them (on Debian and Ubuntu: apt install python3-venv) and run make again"
}

# A constraint or a --user default that is meant for other projects must not bend the locked
# install; the index, certificates and proxies that a user has configured stay in force.
run_pip() {
    log=$VENV/pip.log
    env -u PIP_CONSTRAINT -u PIP_USER "$VENV/bin/python" -I -m pip install \
        --quiet --disable-pip-version-check "$@" >"$log" 2>&1 && return
    said=$(grep ERROR "$log" || cat "$log")
    fail "pip must be able to $purpose, but got '$(echo "$said" | tail -n 1)'; check the network and 'pip config list', then run make again (all that pip said: $log)"
}

VENV=$2
case $1 in
environment)
    check_python "$3"
    echo "bootstrap: making $VENV and fetching the locked packages (once; about 300 MB)" >&2
    said=$("$3" -m venv --clear "$VENV" 2>&1) ||
        fail "venv must be able to make $VENV, but got '$(echo "$said" | tail -n 1)'; mend that and run make again"
    purpose="fetch and verify every package of requirements.lock"
    run_pip --only-binary :all: --require-hashes --requirement requirements.lock
    ;;
project)
    purpose="install this project from pyproject.toml"
    run_pip --no-deps --no-build-isolation --editable .
    ;;
esac
