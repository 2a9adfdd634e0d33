"""Mass silence is counted by names, hosts and identities."""

from routebook.handlers.silence import Sender, is_mass_silence
from routebook.settings import Settings

SETTINGS = Settings.build().expiry_protection


def senders(count: int, *, silent: int, members: int = 1) -> list[Sender]:
    """Broker names with some members each, each member on a host of its own; the first `silent` members are silent."""
    found = [(f"b{n}", f"h{n}-{m}") for n in range(count) for m in range(members)]
    return [Sender((name,), host, None, at < silent) for at, (name, host) in enumerate(found)]


def test_more_than_the_share_and_at_least_the_minimum() -> None:
    assert is_mass_silence(senders(10, silent=6), SETTINGS)
    assert not is_mass_silence(senders(10, silent=5), SETTINGS)
    assert is_mass_silence(senders(5, silent=5), SETTINGS)
    assert not is_mass_silence(senders(4, silent=4), SETTINGS), "the minimum is five names"


def test_names_count_not_members() -> None:
    assert not is_mass_silence(senders(4, silent=12, members=3), SETTINGS)
    assert is_mass_silence(senders(5, silent=15, members=3), SETTINGS)


def test_a_single_host_or_identity_with_all_brokers_counts() -> None:
    on_one_host = [sender._replace(host="h", identity="fleet") for sender in senders(10, silent=8)]
    assert is_mass_silence(on_one_host, SETTINGS)


def test_one_of_several_hosts_or_identities_does_not() -> None:
    honest = senders(10, silent=0)
    for change in ({"host": "evil"}, {"identity": "evil"}):
        others = [Sender((f"x{n}",), f"x{n}", None, True)._replace(**change) for n in range(40)]  # type: ignore[arg-type]
        assert not is_mass_silence([*honest, *others], SETTINGS)
    assert is_mass_silence([*honest, *(Sender((f"x{n}",), f"x{n}", None, True) for n in range(40))], SETTINGS)
