"""Latency of look-ups at a fixed rate while all brokers of a fleet announce changed topics at once.

    python -m benchmarks.look_up_latency [--brokers 300] [--topics 10000] [--rate 1000] [--limit-ms 20]

Latency counts from the time at which each look-up was due. Prints percentiles without load and during the
announcements, and exits 1 if the p99 during the announcements is above the limit. Use an idle machine, best with three
cores or more: server, brokers and clients run at the same time.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.attacks.announcement_storm import topic_names
from tests.attacks.look_up_prober import LookUpProber
from tests.attacks.server_cost import cpu_seconds, loop_seconds
from tests.support.process import Process, serving

_QUIET_S = 5.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--brokers", type=int, default=300)
    options.add_argument("--topics", type=int, default=10_000)
    options.add_argument("--rate", type=int, default=1000)
    options.add_argument("--limit-ms", type=float, default=20.0)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as home, serving(Path(home)) as server:
        return run(server, chosen)


def run(server: Process, chosen: argparse.Namespace) -> int:
    address = f"{server.host}:{server.port}"
    storm = [sys.executable, "-m", "tests.attacks.announcement_storm", address, str(chosen.brokers), str(chosen.topics)]
    with subprocess.Popen(storm, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as brokers:
        assert brokers.stdin is not None
        assert brokers.stdout is not None
        if brokers.stdout.readline() != "ready\n":
            raise RuntimeError("the brokers could not register")
        with LookUpProber(server.address, topic_names(min(200, chosen.topics)), rate=chosen.rate) as prober:
            time.sleep(_QUIET_S)
            report("without announcements", prober)
            prober.took_s.clear()
            began, cpu, loop = time.perf_counter(), cpu_seconds(server), loop_seconds(server)
            brokers.stdin.write("\n")
            brokers.stdin.flush()
            if brokers.stdout.readline() != "done\n":
                raise RuntimeError("an announcement was not acknowledged")
            took = time.perf_counter() - began
            report(f"{chosen.brokers} brokers announce {chosen.topics} topics", prober)
            p99 = prober.percentile_ms(0.99)
    print(
        f"announcements took {took:.1f} s; server CPU {cpu_seconds(server) - cpu:.1f} s, of which event loop "
        f"{loop_seconds(server) - loop:.1f} s; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    if prober.failures:
        print(f"{len(prober.failures)} look-ups failed: {prober.failures[0]}")
    return 1 if prober.failures or p99 > chosen.limit_ms else 0


def report(when: str, prober: LookUpProber) -> None:
    shares = ", ".join(f"p{share * 100:g} {prober.percentile_ms(share)} ms" for share in (0.5, 0.99, 0.999))
    print(f"{when}: {len(prober.took_s)} look-ups, {shares}, longest {max(prober.took_s) * 1000:.1f} ms", flush=True)


if __name__ == "__main__":
    sys.exit(main())
