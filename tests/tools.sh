#!/bin/sh
# What some tests need besides Python: a Chromium, promtool, and axe from npm. Fetches what is missing where it can; a test says what it lacks.
set -u
cd "$(dirname "$0")/.."
if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
fi
if ! command -v promtool >/dev/null && [ ! -d .cache/prometheus ] && command -v apt-get >/dev/null; then
    mkdir -p .cache/prometheus && (  # unpacked only: whoever runs tests wants no Prometheus to run
        cd .cache/prometheus && apt-get download -qq prometheus 2>/dev/null && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb
    ) || rm -rf .cache/prometheus
fi
if [ ! -d console/node_modules ] && command -v npm >/dev/null; then
    npm ci --prefix console --silent
fi
exit 0
