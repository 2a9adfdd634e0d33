#!/bin/sh
# Installs tools that some tests need besides Python: Chromium, promtool, and axe from npm. A test without its tool is skipped
# and listed at the end of the run.
set -u
cd "$(dirname "$0")/.."
if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
fi
if ! command -v promtool >/dev/null && [ ! -d .cache/prometheus ] && command -v apt-get >/dev/null; then
    mkdir -p .cache/prometheus && (  # unpacked only: installing the package would start a Prometheus
        cd .cache/prometheus && apt-get download -qq prometheus 2>/dev/null && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb
    ) || rm -rf .cache/prometheus
fi
if [ ! -d console/node_modules ] && command -v npm >/dev/null; then
    npm ci --prefix console --silent
fi
exit 0
