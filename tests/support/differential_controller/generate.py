"""Random requests of brokers and operators to a Controller, the same for the same seed."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from tests.support.differential.steps import Ask, Drop
from tests.support.differential_controller.names import IDS, OTHER, SETS, BrokerSet

Step = Ask | Drop

LONG_MS: Final = 100_000_000  # timeout of heartbeats: no broker expires during a run
BROKEN_NUMBERS: Final = ("x", "", "99999999999999999999", " 1", "+1", "-1", "-7", "1.0", "null", "0x1", "0")
BROKEN_FLAGS: Final = ("TRUE", "x", "", "1", "false")
VERSIONS: Final = (513, 513, 513, 493, 401, 0, 9999, -1)
OTHER_CODES: Final = (0, 103, 105, 106, 1007, 1008, 1014, 1018, 1019, 9999, 32767)
BROKEN_BODIES: Final = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b"{",
    b"x",
    b'{"syncStateSet":null,"syncStateSetEpoch":1}',
    b'{"syncStateSet":[],"syncStateSetEpoch":1}',
    b'{"syncStateSet":[1,"2"],"syncStateSetEpoch":"1"}',
    b'{"syncStateSet":[1]}',
    b'{"syncStateSet":[1,1,2],"syncStateSetEpoch":1,"other":{"a":[1]}}',
    b'{"syncStateSet":["x"],"syncStateSetEpoch":1}',
    b'{"syncStateSet":[1],"syncStateSetEpoch":1.5}',
    b'{"syncStateSet":1,"syncStateSetEpoch":1}',
)
BROKEN_LISTS: Final = (b"", b"[]", b"{}", b"null", b'["', b"x", b"[1]", b"[null]", b'"s0@@"', b'[["s0@@"]]')
SETTING_LINES: Final = (
    "enableElectUncleanMaster=true",
    "enableElectUncleanMaster=false",
    "enableElectUncleanMaster=false",
    "enableElectUncleanMaster = TRUE",
    "notifyBrokerRoleChanged=true",
    "notifyBrokerRoleChanged=true",
    "notifyBrokerRoleChanged=false",
    "isProcessReadEvent=true",
    "isProcessReadEvent=false",
    "controllerThreadPoolNums=9",
    "metricsLabel=a:b",
    "metricsInDelta=true",
    "unknownKey=1",
    "# a comment",
    "configBlackList=a",
    "configStorePath=/x",
    "rocketmqHome=/x",
    "enableElectUncleanMaster=x",
    "electMasterMaxRetryCount=x",
    "scanInactiveMasterInterval=99999999999",
    "metricsLabel",
    "metricsLabel=\\u00zz",
)


class Generator:
    """Draws steps; knows nothing of the servers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._kinds: tuple[tuple[int, Callable[[], Step]], ...] = (
            (14, self._apply),
            (6, self._next_id),
            (9, self._register),
            (24, self._heartbeat),
            (18, self._elect),
            (18, self._alter),
            (6, self._replica_info),
            (2, self._metadata),
            (5, self._sync_state_data),
            (4, self._clean),
            (4, self._settings),
            (2, self._other),
            (5, self._drop),
        )

    def steps(self, count: int) -> list[Step]:
        weights, kinds = zip(*self._kinds, strict=True)
        return [kind() for kind in self._random.choices(kinds, weights, k=count)]

    # --- how a request looks ------------------------------------------------------------------------------------------

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _set(self) -> BrokerSet:
        return self._random.choice((SETS[0], SETS[0], SETS[0], SETS[1], SETS[2]))

    def _id(self) -> int:
        return self._random.choice((1, 1, 2, 2, 3, 4))

    def _ask(self, code: int, ext: dict[str, str], body: bytes = b"", *, conn: str = "", one_way: bool = False) -> Ask:
        """A request in either header form; now and then a field is missing, broken or unknown."""
        rng = self._random
        fields: dict[str, str] | None = dict(ext)
        if fields and self._chance(0.05):
            del fields[rng.choice(list(fields))]
        if fields and self._chance(0.05):
            key = rng.choice(list(fields))
            if key not in ("heartbeatTimeoutMills", "invokeTime"):
                flag = key in ("designateElect", "isCleanLivingBroker")
                fields[key] = rng.choice(BROKEN_FLAGS if flag else BROKEN_NUMBERS)
                if key == "brokerName" and fields[key]:
                    fields[key] += "@@"  # a set of this run
        if fields is not None and self._chance(0.03):
            fields["unknownField"] = "x"
        if not fields and self._chance(0.5):
            fields = None
        return Ask(
            conn=conn or rng.choice(("q0", "q0", "q1")),
            code=code,
            ext=fields,
            body=body,
            opaque=rng.choice((1, 99, -1, -(2**31), 2**31 - 1, rng.randrange(1 << 20))),
            version=rng.choice(VERSIONS),
            flag=2 if one_way else 0,
            binary=self._chance(0.3),
        )

    def _names(self, one: BrokerSet) -> dict[str, str]:
        cluster = self._random.choice((*(one.cluster for _ in range(12)), "other@@", ""))
        return {"clusterName": cluster, "brokerName": one.name}

    # --- requests of brokers ------------------------------------------------------------------------------------------

    def _apply(self) -> Ask:
        one, number = self._set(), self._id()
        check = f"{one.address(number)};{self._random.choice((7, 7, 7, 8))}"
        if self._chance(0.03):
            check = self._random.choice(("", ";", "x", ";;7", f"{one.address(number)}"))
        names = {"clusterName": one.cluster, "brokerName": one.name}
        return self._ask(1013, {**names, "appliedBrokerId": str(number), "registerCheckCode": check})

    def _next_id(self) -> Ask:
        return self._ask(1012, self._names(self._set()))

    def _register(self) -> Ask:
        one, number = self._set(), self._id()
        fields = {
            **self._names(one),
            "brokerId": str(number),
            "brokerAddress": one.address(number, moved=self._chance(0.2)),
            "invokeTime": "1",
        }
        return self._ask(1003, fields)

    def _heartbeat(self) -> Ask:
        rng = self._random
        one, number = self._set(), self._id()
        fields = {
            "clusterName": one.cluster,
            "brokerAddr": one.address(number),
            "brokerName": one.name,
            "brokerId": str(number),
            "epoch": str(rng.randrange(-1, 4)),
            "maxOffset": str(rng.choice((-1, 0, 1, 100, 2**30))),
            "confirmOffset": str(rng.randrange(100)),
            "heartbeatTimeoutMills": str(LONG_MS),
            "electionPriority": str(rng.choice((0, 1, 2, 2**31 - 1))),
        }
        conn = one.connection(number)
        if self._chance(0.05):
            fields["clusterName"], conn = "other@@", OTHER
        for key in ("epoch", "maxOffset", "confirmOffset", "electionPriority"):
            if self._chance(0.05):
                del fields[key]
        beat = self._ask(904, fields, conn=conn, one_way=self._chance(0.1))
        identity = ("clusterName", "brokerName", "brokerId")
        if all((beat.ext or {}).get(key) == fields[key] for key in identity):
            return beat
        # one connection per broker: Java would report only one of several; without a name it may fail, by its hash
        return replace(beat, conn=OTHER, ext={**dict.fromkeys(identity[:2], "x"), **(beat.ext or {})})

    def _elect(self) -> Ask:
        one = self._set()
        fields = {**self._names(one), "brokerId": str(self._random.choice((self._id(), self._id(), self._id(), -1)))}
        if self._chance(0.4):
            fields["designateElect"] = self._random.choice(("true", "true", "false"))
        return self._ask(1002, {**fields, "invokeTime": "1"})

    def _alter(self) -> Ask:
        """The epochs are placeholders for the current ones, which the runner fills in."""
        rng = self._random
        one = self._set()
        members = sorted(rng.sample(IDS, rng.choice((1, 2, 2, 3))))
        body = json.dumps({"syncStateSet": members, "syncStateSetEpoch": "SSE"}).replace('"SSE"', "%SSE%")
        if self._chance(0.15):
            body = body.replace("%SSE%", str(rng.randrange(6)))
        fields = {
            "brokerName": one.name,
            "masterBrokerId": "%MASTER%" if self._chance(0.85) else str(self._id()),
            "masterEpoch": "%EPOCH%" if self._chance(0.85) else str(rng.randrange(5)),
            "invokeTime": "1",
        }
        data = rng.choice(BROKEN_BODIES) if self._chance(0.1) else body.encode()
        return self._ask(1001, fields, data)

    # --- requests of operators ----------------------------------------------------------------------------------------

    def _replica_info(self) -> Ask:
        return self._ask(1004, {"brokerName": self._set().name})

    def _metadata(self) -> Ask:
        return self._ask(1005, {})

    def _sync_state_data(self) -> Ask:
        names: list[Any] = [one.name for one in self._random.sample(SETS, self._random.choice((1, 1, 2)))]
        if self._chance(0.2):
            names.append("unknown")
        body = json.dumps(names, ensure_ascii=False).encode()
        return self._ask(1006, {}, self._random.choice(BROKEN_LISTS) if self._chance(0.2) else body)

    def _clean(self) -> Ask:
        rng = self._random
        one = self._set()
        ids = ";".join(str(self._id()) for _ in range(rng.choice((0, 1, 1, 2))))
        if self._chance(0.1):
            ids = rng.choice(("x", "1;x", ";", "1;", ";1", " 1", "1; 2", "9"))
        fields = {**self._names(one), "brokerControllerIdsToClean": ids, "invokeTime": "1"}
        if self._chance(0.4):
            fields["isCleanLivingBroker"] = rng.choice(("true", "false"))
        return self._ask(1011, fields)

    def _settings(self) -> Ask:
        rng = self._random
        if self._chance(0.3):
            return self._ask(1010, {})
        lines = rng.sample(SETTING_LINES, rng.choice((0, 1, 1, 2)))
        return self._ask(1009, {}, "\n".join(lines).encode())

    def _other(self) -> Ask:
        return self._ask(self._random.choice(OTHER_CODES), {"brokerName": self._set().name})

    def _drop(self) -> Drop:
        if self._chance(0.1):
            return Drop(conn="q1")
        return Drop(conn=self._set().connection(self._id()))
