"""Suggestions for unknown names and for mqadmin's commands."""

import pytest

from routebook.cli.app import COMMANDS
from routebook.cli.suggestions import MQADMIN, did_you_mean, mqadmin_hint
from tests.support.command_line import routebook


def test_similar_names() -> None:
    known = ["orders", "payments", "orders-dlq"]
    assert did_you_mean("order", known) == "; did you mean orders, orders-dlq?"
    assert did_you_mean("PAYMENT", known) == "; did you mean payments?"
    assert did_you_mean("x", known) == ""


@pytest.mark.parametrize("name", MQADMIN)
def test_commands_of_mqadmin_lead_to_existing_commands(name: str) -> None:
    command, *rest = MQADMIN[name].split()
    assert command in COMMANDS
    arguments = [command, *(part for part in rest[:1] if part.islower())]
    assert routebook(*arguments, "--help").code == 0


def test_a_command_of_mqadmin_is_a_hint() -> None:
    assert mqadmin_hint("TopicRoute") == "mqadmin's TopicRoute is: routebook route TOPIC"
    ran = routebook("topicRoute", "-t", "orders")
    assert ran.code == 2
    assert "mqadmin's topicRoute is: routebook route TOPIC" in ran.err
    assert "Did you mean" in routebook("rout").err


def test_routebook_alone_prints_the_help() -> None:
    ran = routebook()
    assert (ran.code, ran.err) == (0, "")
    assert "Usage: routebook" in ran.out
    assert routebook("kv").code == 2
