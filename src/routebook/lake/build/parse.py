"""Lines of journals become rows of bronze, by Spark's own JSON reader: no Python runs on a line.

The fast way reads JSON files and marks rows that look odd: no events, or of a kind that is not known. Only batches with
odd rows are read again, as text, which tells what is wrong with a line. Defaults, which lines leave out, are filled in.
"""

from collections import defaultdict
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # everybody calls it so

from routebook.lake.tables.bronze import EVENTS
from routebook.lake.tables.ddl import columns_of
from routebook.lake.tables.kinds import FORMAT_VERSION, KINDS

ODD: Final = "_odd"
REASON: Final = "_reason"
TEXT: Final = "value"  # what Spark's text source calls a line
_WRONG: Final = "_wrong"
_MIN_MS: Final = -62_135_596_800_000  # the years 1 to 9999, which every reader of timestamps can show
_MAX_MS: Final = 253_402_300_799_999
JSON_OPTIONS: Final = {
    "columnNameOfCorruptRecord": _WRONG,
    "allowSingleQuotes": "false",
    "mode": "PERMISSIVE",
    "lineSep": "\n",  # no `encoding`: with one, even UTF-8, Spark makes a reader for each line, 1.4 times as slow
}

# How columns are spelled in lines, where that is another name or type. `version` and `topics` have two types.
_SPELLED: Final = {
    "at": "at bigint",
    "minute": "minute_ms bigint",
    "since": "since_ms bigint",
    "server_version": "version string",
    "client_version": "version string",
    "topic_count": "topics string",
    "topic_names": "topics string",
}
_MADE: Final = ("day", "raw")


def events_of(parsed: DataFrame) -> DataFrame:
    """Bronze's columns and `_odd`, of what the JSON source gives with `json_schema` and `JSON_OPTIONS`."""
    columns = [F.lit(None).cast("string") if name == "raw" else _column(name) for name in column_names()]
    odd = F.col(_WRONG).isNotNull() | _envelope_wrong().isNotNull() | _of_kind_wrong()
    named = [column.alias(name) for name, column in zip(column_names(), columns, strict=True)]
    return parsed.select(*named, odd.alias(ODD))


def odd_events_of(lines: DataFrame) -> DataFrame:
    """Of text lines (`value` and further columns) those that `events_of` finds odd: bronze's columns and `_reason`.

    An event of a kind that is not known has no reason; it keeps its text in `raw`.
    """
    options = {key: value for key, value in JSON_OPTIONS.items() if key != "lineSep"}
    others = lines.columns
    parsed = lines.select(*others, F.from_json(TEXT, json_schema(), options).alias("j")).select(*others, "j.*")
    columns = [_column(name).alias(name) for name in column_names()]
    rows = parsed.select(*others, *columns, _reason().alias(REASON))
    return rows.where(F.col(REASON).isNotNull() | ~F.col("kind").isin(*KINDS))


def column_names() -> list[str]:
    """Bronze's columns, in order."""
    return [name for name, _ in columns_of(EVENTS.columns)]


def json_schema() -> str:
    """What the JSON reader is told to look for."""
    spelled = [_SPELLED.get(name, f"{name} {kind}") for name, kind in columns_of(EVENTS.columns) if name not in _MADE]
    return ", ".join(f"`{name}` {kind}" for name, kind in map(_parted, dict.fromkeys([*spelled, f"{_WRONG} string"])))


def _parted(spelled: str) -> tuple[str, str]:
    name, _, kind = spelled.partition(" ")
    return name, kind


# -- columns -----------------------------------------------------------------------------------------------------


def _column(name: str) -> Column:
    match name:
        case "at":
            return _moment("at")
        case "day":
            return F.to_date(_moment("at"))
        case "minute" | "since":
            return _moment(f"{name}_ms")
        case "raw":
            return F.when(~F.col("kind").isin(*KINDS), F.col(TEXT))
        case "server_version":
            return F.when(F.col("kind") == "server_started", F.col("version"))
        case "client_version":
            value = F.col("version").try_cast("int")
            return F.when(F.col("kind") == "lookup_minute", F.coalesce(value, F.lit(0)))
        case "topic_count":
            return F.when(F.col("kind").startswith("permission_"), F.col("topics").try_cast("int"))
        case "topic_names":
            names = F.from_json("topics", "array<string>")
            return F.when(F.col("kind") == "peer_diverged", F.coalesce(names, F.array().cast("array<string>")))
        case _:
            return _with_default(name)


def _with_default(name: str) -> Column:
    """The column; null becomes the default for the kinds that have one."""
    value = F.col(name)
    kinds_by_default: dict[str, list[str]] = defaultdict(list)
    defaults: dict[str, Any] = {}
    for kind, fields in KINDS.items():
        for field in fields:
            if field.column == name and field.default is not None:
                kinds_by_default[repr(field.default)].append(kind)
                defaults[repr(field.default)] = field.default
    if not defaults:
        return value
    of_kind: Column | None = None
    for key, kinds in kinds_by_default.items():
        filled = _literal(name, defaults[key])
        test = F.col("kind").isin(*kinds)
        of_kind = F.when(test, filled) if of_kind is None else of_kind.when(test, filled)
    assert of_kind is not None  # noqa: S101  # there is a default
    return F.coalesce(value, of_kind)


def _literal(name: str, default: Any) -> Column:
    kind = dict(columns_of(EVENTS.columns))[name]
    if default == () or default == []:
        return F.array().cast(kind)
    if default == {}:
        return F.lit("{}") if kind == "string" else F.create_map().cast(kind)
    return F.lit(default).cast(kind)


def _moment(name: str) -> Column:
    """Milliseconds as a timestamp; null for what no calendar has, which would stop Spark."""
    return F.when(_is_moment(name), F.timestamp_millis(F.col(name)))


def _is_moment(name: str) -> Column:
    return F.col(name).between(_MIN_MS, _MAX_MS)


# -- reasons -----------------------------------------------------------------------------------------------------


def _reason() -> Column:
    """What is wrong with a line, null if nothing is. What is dear is asked only of lines that look wrong."""
    text = F.trim(F.regexp_replace(TEXT, r"[\r\t]", " "))
    is_json = F.try_parse_json(F.col(TEXT)).isNotNull()
    alone = F.try_parse_json(F.concat(F.lit("["), F.col(TEXT), F.lit("]"))).isNotNull()
    return F.coalesce(
        F.when(F.length(text) == 0, "an empty line")
        .when(~is_json & ~alone, "not JSON")
        .when(~text.startswith("{"), "not an object")
        .when(~alone, "not JSON: there is text after the object"),
        _envelope_wrong(),
        F.when(
            F.col("kind").isin(*KINDS) & F.col(_WRONG).isNotNull(),
            F.concat(F.col("kind"), F.lit(": a field is of another type")),
        ),
        _fields_wrong(),
    )


def _envelope_wrong() -> Column:
    reason = F.when(F.col("v").isNull(), "no v, or not a number").when(
        F.col("v") != FORMAT_VERSION,
        F.concat(F.lit("format version "), F.col("v"), F.lit(f", and this release reads {FORMAT_VERSION}")),
    )
    for name in ("ns", "boot", "seq", "at", "kind"):
        reason = reason.when(F.col(name).isNull(), f"no {name}, or of another type")
    return reason.when(F.col("seq") < 1, "seq is not positive").when(~_is_moment("at"), "at is not a time")


def _of_kind_wrong() -> Column:
    """Whether a kind is not known, or lacks a field: one comparison for the kinds that most lines are of."""
    wrong: Column | None = None
    for kind in sorted(KINDS, key=lambda one: not one.endswith("_minute")):
        lacks = F.lit(False)
        for field in KINDS[kind]:
            if field.required:
                lacks = lacks | _column(field.column).isNull()
        test = F.col("kind") == kind
        wrong = F.when(test, lacks) if wrong is None else wrong.when(test, lacks)
    return F.lit(True) if wrong is None else wrong.otherwise(F.lit(True))


def _fields_wrong() -> Column:
    reason = F.when(~_is_moment("minute_ms"), "minute_ms is not a time")
    reason = reason.when(~_is_moment("since_ms"), "since_ms is not a time")
    for name, kinds in _required().items():
        reason = reason.when(
            F.col("kind").isin(*kinds) & _column(name).isNull(), F.concat(F.col("kind"), F.lit(f" without {name}"))
        )
    return reason


def _required() -> dict[str, list[str]]:
    """By column, the kinds that must have it."""
    required: dict[str, list[str]] = defaultdict(list)
    for kind, fields in KINDS.items():
        for field in fields:
            if field.required:
                required[field.column].append(kind)
    return required
