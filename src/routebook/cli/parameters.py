"""What a command takes, said once in its signature.

Typer's help, completion and errors are made from it (`app`), and the short cut that most command lines take (`quick`).
"""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from types import UnionType
from typing import Annotated, Any, NamedTuple, Protocol, TypeAlias, get_args, get_origin


class Argument(NamedTuple):
    """A value by its place; `list[str]` takes all that are left."""

    metavar: str
    help: str


class Option(NamedTuple):
    """A value by its name. A bool is true if the option is there, a `list[str]` may be given several times."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    panel: str | None = None  # under which heading of the help it stands


class Group(Protocol):
    """A struct whose fields are options that many commands share; a command takes it as one parameter."""

    __struct_fields__: tuple[str, ...]
    __struct_defaults__: tuple[Any, ...]


class Taken(NamedTuple):
    """One parameter of a command, or one field of a group of it."""

    name: str
    kind: Any  # str, int, float or bool
    many: bool
    optional: bool
    default: Any
    spec: Argument | Option
    group: str | None

    @property
    def required(self) -> bool:
        return self.default is Parameter.empty


Command: TypeAlias = Callable[..., int]


def taken_by(command: Callable[..., Any]) -> list[Taken] | None:
    """All that a command takes; None where it is not declared in this way."""
    found: list[Taken] = []
    for parameter in signature(command).parameters.values():
        annotation = parameter.annotation
        if hasattr(annotation, "__struct_fields__"):
            found += _fields(parameter.name, annotation)
        elif (one := _taken(parameter.name, annotation, parameter.default, None)) is not None:
            found.append(one)
        else:
            return None
    return found


def call(command: Command, values: Mapping[str, Any]) -> int:
    """Call it with the values of all it takes, those of a group put together."""
    arguments = dict(values)
    for parameter in signature(command).parameters.values():
        annotation = parameter.annotation
        if hasattr(annotation, "__struct_fields__"):
            fields = {name: arguments.pop(name) for name in annotation.__struct_fields__}
            arguments[parameter.name] = annotation(**fields)
    return command(**arguments)


def _fields(group: str, struct: type[Group]) -> list[Taken]:
    """What the struct itself adds stands before what it inherits."""
    names = struct.__struct_fields__
    defaults = (Parameter.empty,) * (len(names) - len(struct.__struct_defaults__)) + struct.__struct_defaults__
    default_of = dict(zip(names, defaults, strict=True))
    annotations = {
        name: kind for part in struct.__mro__ for name, kind in vars(part).get("__annotations__", {}).items()
    }
    found = (_taken(name, kind, default_of[name], group) for name, kind in annotations.items() if name in default_of)
    return [one for one in found if one is not None]


def _taken(name: str, annotation: Any, default: Any, group: str | None) -> Taken | None:
    if get_origin(annotation) is not Annotated:
        return None
    kind, *notes = get_args(annotation)
    specs = [note for note in notes if isinstance(note, Argument | Option)]
    if not specs:
        return None
    optional = isinstance(kind, UnionType)
    if optional:
        kind = next(part for part in get_args(kind) if part is not type(None))
    many = get_origin(kind) is list
    if many:
        (kind,) = get_args(kind)
    return Taken(name, kind, many, optional, default, specs[0], group)
