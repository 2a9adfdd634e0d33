#!/usr/bin/env bash
# Creates a virtual environment with everything that Routebook and its tests need, and shows progress:
# tools/setup.sh PYTHON VENV
set -euo pipefail
python=$1 venv=$2
echo "Setting up $venv: about 150 packages, 400 MB of downloads; one to three minutes"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off -c constraints.txt -e '.[dev,lake]' |
    awk -v terminal="$([ -t 1 ] && echo 1 || echo 0)" '
        function show(text) {
            if (terminal) printf "\r\033[K  %s", text
            else if (!(text in seen)) { seen[text]; print "  " text }
            fflush()
        }
        /^Collecting/ { count++; if (terminal) show(count " packages found: " $2); else if (count % 25 == 0) show(count " packages found") }
        /^ *Downloading/ { if (terminal) show(count " packages found: downloading " $2 " " $3 " " $4) }
        /^Building|^Preparing/ { show($0) }
        /^Installing collected/ { show("installing " NF - 3 " packages") }
        /^Successfully installed/ { done = 1 }
        END { if (terminal) printf "\r\033[K"; if (done) print "  installed" }'
