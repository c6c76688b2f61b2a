# shellcheck shell=bash
# What the scripts share; sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What outlives a checkout: compiled objects, files found clean, control planes for the tests.
cache=${SLICED_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sliced}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# The comment at the head of the running script is its help.
show_help() {
    sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
}

jobs_count() {
    nproc 2>/dev/null || echo 2
}

# Lets what CMake configures from here on compile through ccache, where there is one: its objects serve
# every checkout, and are bounded.
use_ccache() {
    local ccache
    ccache=$(command -v ccache) || return 0
    export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-$ccache}
    export CCACHE_DIR=$cache/ccache CCACHE_MAXSIZE=1G CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
}

# configure PRESET: once; later builds reconfigure by themselves.
configure() {
    use_ccache
    if [ ! -f "$root/build/$1/build.ninja" ]; then
        (cd "$root" && cmake --preset "$1")
    fi
}

# build PRESET [TARGET...]
build() {
    local preset=$1
    shift
    configure "$preset" && cmake --build "$root/build/$preset" -j "$(jobs_count)" -- "${@:-all}"
}

# The C files of ours, one a line, relative to the repository's root.
c_sources() {
    (cd "$root" && find include src evidence test -name '*.[ch]' -type f | LC_ALL=C sort)
}
