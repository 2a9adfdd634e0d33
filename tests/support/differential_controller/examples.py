"""For each known difference, the steps that show it: without its rule the Controllers differ, with it they do not."""

from typing import Final

from tests.support.differential.steps import Ask, Drop
from tests.support.differential_controller.generate import LONG_MS, Step
from tests.support.differential_controller.names import SETS

ONE: Final = SETS[0]
NAMES: Final = {"clusterName": ONE.cluster, "brokerName": ONE.name}


def _apply(number: int, *, millis: int = 7, **changed: str) -> Ask:
    check = f"{ONE.address(abs(number))};{millis}"
    fields = {**NAMES, "appliedBrokerId": str(number), "registerCheckCode": check, **changed}
    return Ask(conn="q", code=1013, ext={key: value for key, value in fields.items() if value})


def _beat(number: int, *, conn: str = "", offset: int = 0) -> Ask:
    fields = {
        **NAMES,
        "brokerAddr": ONE.address(number),
        "brokerId": str(number),
        "epoch": "1",
        "maxOffset": str(offset),
        "heartbeatTimeoutMills": str(LONG_MS),
    }
    return Ask(conn=conn or ONE.connection(number), code=904, ext=fields)


def _elect(number: int, **more: str) -> Ask:
    return Ask(conn="q", code=1002, ext={**NAMES, "brokerId": str(number), **more})


def _alter(*members: int) -> Ask:
    fields = {"brokerName": ONE.name, "masterBrokerId": "%MASTER%", "masterEpoch": "%EPOCH%"}
    body = f'{{"syncStateSet":{list(members)},"syncStateSetEpoch":%SSE%}}'
    return Ask(conn="q", code=1001, ext=fields, body=body.encode())


def _clean(ids: str, **more: str) -> Ask:
    return Ask(conn="q", code=1011, ext={**NAMES, "brokerControllerIdsToClean": ids, **more})


def _settings(text: str) -> Ask:
    return Ask(conn="q", code=1009, body=text.encode())


MASTER: Final = (_apply(1), _beat(1), _elect(1))
PAIR: Final = (*MASTER, _apply(2), _beat(2))
EXAMPLES: Final[dict[str, tuple[Step, ...]]] = {
    "quoted keys": MASTER,
    "first election": (_apply(1), _elect(3)),
    "epochs of failing elections": (*MASTER, Drop(conn=ONE.connection(1)), _elect(-1)),
    "designated without an id": (*MASTER, _elect(-1, designateElect="true")),
    "offsets": (
        *PAIR,
        _apply(3),
        _beat(3),
        _alter(1, 2, 3),
        _beat(2, offset=5),
        _beat(3, offset=2**31 + 6),
        Drop(conn=ONE.connection(1)),
    ),
    "next id": (_apply(1), _apply(4), Ask(conn="q", code=1012, ext=NAMES)),
    "id assigned again": (*PAIR, Drop(conn=ONE.connection(2)), _clean("2"), _apply(2, millis=8)),
    "set without cluster": (_apply(1, clusterName=""),),
    "clean": (*PAIR, _clean("2", isCleanLivingBroker="true")),
    "several brokers on one connection": (
        *MASTER,
        _apply(2),
        _beat(2, conn=ONE.connection(1)),
        Drop(conn=ONE.connection(1)),
    ),
    "reconnect": (*MASTER, _beat(1, conn="later"), Drop(conn=ONE.connection(1))),
    "odd setting": (_settings("electMasterMaxRetryCount=x"),),
    "odd flag": (_settings("notifyBrokerRoleChanged=x"),),
    "isProcessReadEvent": (_settings("isProcessReadEvent=true"),),
}
