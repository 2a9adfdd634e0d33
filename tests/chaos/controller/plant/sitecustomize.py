"""Defects inside a controller process, to see that the checker finds them: CONTROLLER_PLANT names one.

`stale reads`: a leader ignores the end of its lease. `no fencing`: its commits are not compared with the leader key and
the set's revision either. Python imports this module at start if its folder is in PYTHONPATH.
"""

import asyncio
import contextlib
import os
from typing import Any

_PLANTED = os.environ.get("CONTROLLER_PLANT", "")

if _PLANTED:
    from routebook.server.controller import etcd_leadership, etcd_log
    from routebook.server.controller.log import LogError

    async def _never_give_up(self: etcd_leadership.Leadership) -> bool:
        await asyncio.sleep(etcd_leadership.RENEW_S)
        with contextlib.suppress(LogError):
            await self._client.keep_alive(self._lease)
        return True

    def _always(_key: bytes, _revision: int) -> dict[str, Any]:
        return {"result": "GREATER", "target": "VERSION", "key": b"/", "version": -1}

    etcd_leadership.Leadership.is_held = property(lambda self: self.term != 0)  # type: ignore[assignment, method-assign]
    etcd_leadership.Leadership.wait_and_renew = _never_give_up  # type: ignore[method-assign]
    if _PLANTED == "no fencing":
        for comparison in ("created_at", "modified_at"):
            setattr(etcd_log, comparison, _always)
