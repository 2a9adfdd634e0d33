"""Describes the measured machine."""

import os
import platform
from pathlib import Path


def describe() -> dict[str, str]:
    return {
        "cpu": f"{os.cpu_count()} × {_field('/proc/cpuinfo', 'model name') or platform.machine()}",
        "memory": f"{int((_field('/proc/meminfo', 'MemTotal') or '0 kB').split()[0]) / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "load": f"{os.getloadavg()[0]:.1f} before the run",
    }


def _field(path: str, name: str) -> str | None:
    try:
        for line in Path(path).read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    except OSError:
        return None
    return None
