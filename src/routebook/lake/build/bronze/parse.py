"""Parses journal lines into bronze rows with Spark's JSON reader, without Python code per line.

The fast path reads JSON and flags odd rows: invalid events, and events of unknown kinds. Only batches with odd rows are
read again, as text, to determine what is wrong with each line. Omitted fields get their default values.
"""

from collections import defaultdict
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.tables.bronze import EVENTS
from routebook.lake.tables.ddl import columns_of
from routebook.lake.tables.kinds import FORMAT_VERSION, KINDS

ODD: Final = "_odd"
REASON: Final = "_reason"
TEXT: Final = "value"  # the column of Spark's text source
_WRONG: Final = "_wrong"
_MIN_MS: Final = -62_135_596_800_000  # the years 1 to 9999, which all readers support
_MAX_MS: Final = 253_402_300_799_999
JSON_OPTIONS: Final = {
    "columnNameOfCorruptRecord": _WRONG,
    "allowSingleQuotes": "false",
    "mode": "PERMISSIVE",
    "lineSep": "\n",  # no `encoding`: with one, even UTF-8, Spark creates a reader per line, 1.4 times slower
}

# Columns whose field has another name or type in a line. `version` and `topics` have two types.
_FIELDS: Final = {
    "at": "at bigint",
    "minute": "minute_ms bigint",
    "since": "since_ms bigint",
    "lost_at": "lost_at_ms bigint",
    "server_version": "version string",
    "client_version": "version string",
    "topic_count": "topics string",
    "topic_names": "topics string",
}
_DERIVED: Final = ("day", "raw", "source")
_MAX_EXAMINED: Final = 16 << 20  # bytes; the longest text that Spark parses into a variant
_MAX_FIELD: Final = 20_000_000  # characters; the limit of Spark's JSON parser
_BEGIN: Final = 4096  # characters of a line in which its number is looked for
_NS: Final = r'"ns":\s*"([^"\\]+)"'
_SEQ: Final = r'"seq":\s*(\d{1,18})\b'


def events_of(parsed: DataFrame, source: Column | None = None) -> DataFrame:
    """Bronze columns and `_odd`, from rows read with `json_schema` and `JSON_OPTIONS`."""
    none = fn.lit(None).cast("string")
    special = {"raw": none, "source": none if source is None else source}
    columns = [special[name] if name in special else _column(name) for name in column_names()]
    odd = fn.col(_WRONG).isNotNull() | _envelope_wrong().isNotNull() | _of_kind_wrong()
    named = [column.alias(name) for name, column in zip(column_names(), columns, strict=True)]
    return parsed.select(*named, odd.alias(ODD))


def lines_as_events(lines: DataFrame) -> DataFrame:
    """Text lines (`value`, `source` and others) with bronze columns and `_reason`: why a line is invalid."""
    options = {key: value for key, value in JSON_OPTIONS.items() if key != "lineSep"}
    others = lines.columns
    parsed = lines.select(*others, fn.from_json(TEXT, json_schema(), options).alias("j")).select(*others, "j.*")
    columns = [_column(name).alias(name) for name in column_names()]
    return parsed.select(*(other for other in others if other != "source"), *columns, _reason().alias(REASON))


def is_long() -> Column:
    """Whether a text line is too long to be examined: if the fast path did not add it, it is not a valid event."""
    return fn.octet_length(TEXT) >= _MAX_EXAMINED


def number_in_text() -> tuple[Column, Column]:
    """`ns` and `seq` as they stand at the begin of a text line; null if they do not."""
    begin = fn.left(TEXT, fn.lit(_BEGIN))
    ns, seq = (fn.nullif(fn.regexp_extract(begin, pattern, 1), fn.lit("")) for pattern in (_NS, _SEQ))
    return ns, seq.cast("bigint")


def odd_events_of(lines: DataFrame) -> DataFrame:
    """The lines that `events_of` flags as odd. An event of an unknown kind has no reason; its text is in `raw`."""
    return lines_as_events(lines).where(fn.col(REASON).isNotNull() | ~fn.col("kind").isin(*KINDS))


def column_names() -> list[str]:
    """The columns of bronze, in order."""
    return [name for name, _ in columns_of(EVENTS.columns)]


def json_schema() -> str:
    """The schema for the JSON reader."""
    fields = [_FIELDS.get(name, f"{name} {kind}") for name, kind in columns_of(EVENTS.columns) if name not in _DERIVED]
    return ", ".join(f"`{name}` {kind}" for name, kind in map(_split, dict.fromkeys([*fields, f"{_WRONG} string"])))


def _split(field: str) -> tuple[str, str]:
    name, _, kind = field.partition(" ")
    return name, kind


# -- columns -----------------------------------------------------------------------------------------------------


def _column(name: str) -> Column:
    match name:
        case "at":
            return _timestamp("at")
        case "day":
            return fn.to_date(_timestamp("at"))
        case "minute" | "since" | "lost_at":
            return _timestamp(f"{name}_ms")
        case "source":
            return fn.col("source")
        case "raw":
            return fn.when(~fn.col("kind").isin(*KINDS), fn.col(TEXT))
        case "server_version":
            return fn.when(fn.col("kind") == "server_started", fn.col("version"))
        case "client_version":
            value = fn.col("version").try_cast("int")
            return fn.when(fn.col("kind") == "lookup_minute", fn.coalesce(value, fn.lit(0)))
        case "topic_count":
            return fn.when(fn.col("kind").startswith("permission_"), fn.col("topics").try_cast("int"))
        case "topic_names":
            names = fn.from_json("topics", "array<string>")
            return fn.when(fn.col("kind") == "peer_diverged", fn.coalesce(names, fn.array().cast("array<string>")))
        case _:
            return _with_default(name)


def _with_default(name: str) -> Column:
    """The column, with null replaced by the default of the kind, if it has one."""
    value = fn.col(name)
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
        test = fn.col("kind").isin(*kinds)
        of_kind = fn.when(test, filled) if of_kind is None else of_kind.when(test, filled)
    assert of_kind is not None  # noqa: S101  # at least one default
    return fn.coalesce(value, of_kind)


def _literal(name: str, default: Any) -> Column:
    kind = dict(columns_of(EVENTS.columns))[name]
    if default == () or default == []:
        return fn.array().cast(kind)
    if default == {}:
        return fn.lit("{}") if kind == "string" else fn.create_map().cast(kind)
    return fn.lit(default).cast(kind)


def _timestamp(name: str) -> Column:
    """Milliseconds as a timestamp; null if out of range, which would be an error in Spark."""
    return fn.when(_is_time(name), fn.timestamp_millis(fn.col(name)))


def _is_time(name: str) -> Column:
    return fn.col(name).between(_MIN_MS, _MAX_MS)


# -- reasons -----------------------------------------------------------------------------------------------------


def _reason() -> Column:
    """The reason why a line is invalid; null if it is valid. Expensive checks run only on suspicious lines."""
    text = fn.trim(fn.regexp_replace(TEXT, r"[\r\t]", " "))
    is_json = fn.try_parse_json(fn.col(TEXT)).isNotNull()
    alone = fn.try_parse_json(fn.concat(fn.lit("["), fn.col(TEXT), fn.lit("]"))).isNotNull()
    too_long = fn.concat(
        fn.octet_length(TEXT).cast("string"),
        fn.lit(
            f" bytes: a field of more than {_MAX_FIELD} characters, or not a valid event "
            f"(lines above {_MAX_EXAMINED} bytes are not examined further)"
        ),
    )
    return fn.coalesce(
        fn.when(is_long(), too_long)
        .when(fn.length(text) == 0, "an empty line")
        .when(~is_json & ~alone, "not JSON")
        .when(~text.startswith("{"), "not an object")
        .when(~alone, "not JSON: there is text after the object"),
        _envelope_wrong(),
        fn.when(
            fn.col("kind").isin(*KINDS) & fn.col(_WRONG).isNotNull(),
            fn.concat(fn.col("kind"), fn.lit(": a field is of another type")),
        ),
        _fields_wrong(),
    )


def _envelope_wrong() -> Column:
    reason = fn.when(fn.col("v").isNull(), "no v, or not a number").when(
        fn.col("v") != FORMAT_VERSION,
        fn.concat(fn.lit("format version "), fn.col("v"), fn.lit(f", and this release reads {FORMAT_VERSION}")),
    )
    for name in ("ns", "boot", "seq", "at", "kind"):
        reason = reason.when(fn.col(name).isNull(), f"no {name}, or of another type")
    return reason.when(fn.col("seq") < 1, "seq is not positive").when(~_is_time("at"), "at is not a time")


def _of_kind_wrong() -> Column:
    """Whether the kind is unknown or a required field is missing. The most frequent kinds are compared first."""
    wrong: Column | None = None
    for kind in sorted(KINDS, key=lambda one: not one.endswith("_minute")):
        lacks = fn.lit(False)
        for field in KINDS[kind]:
            if field.required:
                lacks = lacks | _column(field.column).isNull()
        test = fn.col("kind") == kind
        wrong = fn.when(test, lacks) if wrong is None else wrong.when(test, lacks)
    return fn.lit(True) if wrong is None else wrong.otherwise(fn.lit(True))


def _fields_wrong() -> Column:
    reason = fn.when(~_is_time("minute_ms"), "minute_ms is not a time")
    reason = reason.when(~_is_time("since_ms"), "since_ms is not a time")
    reason = reason.when(~_is_time("lost_at_ms"), "lost_at_ms is not a time")
    for name, kinds in _required().items():
        reason = reason.when(
            fn.col("kind").isin(*kinds) & _column(name).isNull(), fn.concat(fn.col("kind"), fn.lit(f" without {name}"))
        )
    return reason


def _required() -> dict[str, list[str]]:
    """The kinds that require each column."""
    required: dict[str, list[str]] = defaultdict(list)
    for kind, fields in KINDS.items():
        for field in fields:
            if field.required:
                required[field.column].append(kind)
    return required
