"""Column declarations: name, type, sentence and example."""

from routebook.lake.tables.ddl import ColumnDeclaration, columns_of, declared_columns


def test_a_line_declares_a_column_with_its_meaning() -> None:
    text = """
        ns string
        planned boolean -- True if planned. | true
        seen array<struct<at: timestamp, ns: string>>
            -- Observations in time order,
            -- oldest first. | []
    """
    assert declared_columns(text) == [
        ColumnDeclaration("ns", "string", "Id of the NameServer that wrote the events.", "ns-1"),
        ColumnDeclaration("planned", "boolean", "True if planned.", "true"),
        ColumnDeclaration(
            "seen", "array<struct<at: timestamp, ns: string>>", "Observations in time order, oldest first.", "[]"
        ),
    ]


def test_columns_without_a_meaning_can_share_a_line() -> None:
    assert columns_of("a string, `b` map<string,  array<int>>,\n c date") == [
        ("a", "string"),
        ("b", "map<string, array<int>>"),
        ("c", "date"),
    ]
