"""JSON with one or two deviations from the standard, as in hand-written files and old programs."""

import json
import random
from collections.abc import Callable
from typing import Any


class _Odd(str):
    """A token that was already changed."""

    __slots__ = ()


class SloppyJson:
    """Writes JSON with one or two invalid or unusual tokens."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def write(self, value: Any) -> tuple[bytes, str]:
        """The text, and a description of the deviation."""
        tokens = list(_tokens(value))
        kinds = (self._value, self._value, self._string, self._punctuation, self._edge)
        descriptions = [self._random.choice(kinds)(tokens) for _ in range(self._random.choice((1, 1, 1, 2)))]
        return "".join(tokens).encode("utf-8", "surrogatepass"), " and ".join(descriptions)

    def _pick(self, tokens: list[str], wanted: Callable[[str], bool]) -> int | None:
        """The index of an unchanged token."""
        places = [place for place, token in enumerate(tokens) if wanted(token) and not isinstance(token, _Odd)]
        return self._random.choice(places) if places else None

    def _odd(self, ways: tuple[str, ...]) -> _Odd:
        return _Odd(self._random.choice(ways))

    def _value(self, tokens: list[str]) -> str:
        """Write a number differently, or omit it."""
        place = self._pick(tokens, lambda token: token.lstrip("-").isdigit())
        if place is None:
            return "nothing"
        number = tokens[place]
        tokens[place] = self._odd(
            (
                f'"{number}"',
                f"'{number}'",
                f"{number}.7",
                f"{number}.0",
                f"{number}e0",
                f"{number}E+1",
                f"+{number}",
                f"0{number}",
                f"00{number}",
                f"{number}L",
                f"{number}l",
                f"{number}B",
                f"{number}S",
                f"{number}F",
                f"{number}D",
                f"[{number}]",
                f"[{number},1]",
                "[]",
                "{}",
                f" {number} ",
                f'" {number}"',
                f'"{number} "',
                f'"+{number}"',
                f'"{number}.7"',
                f'"{number}L"',
                "true",
                "false",
                "null",
                '""',
                '"null"',
                '"true"',
                "NaN",
                "Infinity",
                "undefined",
                "0x10",
                "2147483648",
                "-2147483649",
                "9223372036854775808",
                "1e400",
                "-0",
                ".5",
                "5.",
                "-",
                "--1",
                "1_000",
                "",
            )
        )
        return f"{number} as {tokens[place]!r}"

    def _string(self, tokens: list[str]) -> str:
        """Write a string or key differently."""
        place = self._pick(tokens, lambda token: token.startswith('"'))
        if place is None:
            return "nothing"
        text = tokens[place][1:-1]
        tokens[place] = self._odd(
            (
                f"'{text}'",
                text,
                f'"{text}',
                f'{text}"',
                f'"\\u0041{text}"',
                f'"\\x41{text}"',
                f'"\\q{text}"',
                f'"\\0{text}"',
                f'"\\\'{text}"',
                f'"\\/{text}"',
                f'"\\v{text}"',
                f'"\\a{text}"',
                '"\\u12"',
                f'"\\ud83d{text}"',
                f'"\\ud83d\\ude00{text}"',
                f'"{text}\n"',
                f'"{text}\t"',
                f'"{text}\x01"',
                f'"{text}\x7f"',
                f'"{text}\u2028"',
                f'"{text.upper()}"',
                f'" {text}"',
                f'"{text}" ',
                f'"_{text}"',
                f"`{text}`",
                f'"{text}\\',
                '"@type"',
                '"$ref"',
                '""',
                "null",
                "5",
            )
        )
        return f'"{text}" as {tokens[place]!r}'

    def _punctuation(self, tokens: list[str]) -> str:
        place = self._pick(tokens, lambda token: token in "{}[],:")
        if place is None:
            return "nothing"
        mark = tokens[place]
        tokens[place] = self._odd(
            (
                mark * 2,
                "",
                f" {mark} ",
                f"\t{mark}\r\n",
                f"/*c*/{mark}",
                f"{mark}/*c*/",
                f"{mark}//c\n",
                f"//c\n{mark}",
                f"#c\n{mark}",
                f",{mark}",
                f"{mark},",
                ";",
                "=",
                f"\x0b{mark}",
                f"\u00a0{mark}",
                f"{mark}\x00",
            )
        )
        return f"{mark!r} as {tokens[place]!r}"

    def _edge(self, tokens: list[str]) -> str:
        before, after = self._random.choice(
            (
                (" \n", ""),
                ("", " \r\n\t"),
                ("\ufeff", ""),
                ("", "x"),
                ("", "{}"),
                ("", ","),
                ("", ";"),
                ("", "]"),
                ("", "}"),
                ("", "//end"),
                ("", "/*end*/"),
                ("//begin\n", ""),
                ("/*begin*/", ""),
                ("(", ")"),
                ("", "\x00"),
                ("\x00", ""),
                ("[", "]"),
                ('"', '"'),
            )
        )
        tokens.insert(0, before)
        tokens.append(after)
        return f"{before!r} before and {after!r} after it"


def _tokens(value: Any) -> list[str]:
    if isinstance(value, dict):
        inner: list[str] = []
        for key, item in value.items():
            inner += [",", json.dumps(key, ensure_ascii=False), ":", *_tokens(item)]
        return ["{", *inner[1:], "}"]
    if isinstance(value, list):
        inner = []
        for item in value:
            inner += [",", *_tokens(item)]
        return ["[", *inner[1:], "]"]
    return [json.dumps(value, ensure_ascii=False)]
