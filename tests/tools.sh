#!/bin/sh
# Installs tools that some tests need besides Python: Chromium, promtool, etcd, PostgreSQL, and axe from npm. A test without its tool is skipped
# and listed at the end of the run.
set -u
cd "$(dirname "$0")/.."
if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
fi
# unpacks Debian packages into .cache/FOLDER, because installing them would start a service
unpack() {
    folder=.cache/$1 && shift
    mkdir -p "$folder" && (
        cd "$folder" && apt-get download -qq "$@" 2>/dev/null && for package in *.deb; do dpkg-deb -x "$package" .; done && rm -- *.deb
    ) || rm -rf "$folder"
}
if ! command -v promtool >/dev/null && [ ! -d .cache/prometheus ] && command -v apt-get >/dev/null; then
    unpack prometheus prometheus
fi
if ! command -v etcd >/dev/null && [ ! -d .cache/etcd ] && command -v apt-get >/dev/null; then
    unpack etcd etcd-server
fi
# with the libraries of the server, but for LLVM, which only compiles long queries
if [ ! -d .cache/postgresql ] && command -v apt-cache >/dev/null; then
    server=$(apt-cache depends postgresql 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^postgresql-[0-9]/ {print $2}')
    libraries=$(apt-cache depends "$server" 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^lib/ && $2 !~ /^lib(llvm|c6|stdc)/ {print $2}')
    # shellcheck disable=SC2086  # a list
    [ -z "$server" ] || unpack postgresql "$server" $libraries
fi
if [ ! -d console/node_modules ] && command -v npm >/dev/null; then
    npm ci --prefix console --silent
fi
exit 0
