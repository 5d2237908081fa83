"""Functions of one column, by the names and with the results of Spark: what filters and expression indexes know.

Times of day and days of timestamps are those of UTC. Texts are cast to what a function is of, as without ANSI.

Source: RFC-63, ``HoodieSparkExpressionIndex``; docs/format.md#expression-indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.predicate import text_casts
from hudi_hive.predicate.date_patterns import Values, days_of, format_moments, months_of, pattern_parts, years_of

DEFAULT_FORMAT: Final = "yyyy-MM-dd HH:mm:ss"
"""The pattern of ``from_unixtime`` without one."""

_FORMAT, _POSITION, _LENGTH, _DAYS, _TRIMMED = "format", "pos", "len", "days", "trimString"
_PATTERN, _GROUP, _REPLACEMENT = "pattern", "idx", "replacement"
_ALIASES: Final = {"dayofmonth": "day", "substr": "substring", "ceiling": "ceil", "char_length": "length"}
_TO_THE_END: Final = str(2**29)
_OURS: Final = "hudi_hive_"
_LONG_LIMIT: Final = 2.0**63
_Kind = pa.DataType


@dataclass(frozen=True, slots=True)
class ColumnFunction:
    """A function of one column, with the values of its other arguments; made by :func:`column_function`.

    Attributes:
        name: Spark's name in lower case.
        options: further arguments by the names that definitions of indexes give them, sorted by name.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def result_type(self, kind: pa.DataType) -> pa.DataType | None:
        """The type of the results for a column of a type; None if it is not understood for that type."""
        function, cast = _FUNCTIONS[self.name], self._cast(kind)
        if cast is None:
            return function.result(kind)
        if cast is _PARSED and text_casts.parsing_expression(dict(self.options)[_FORMAT]) is None:
            return None
        return function.result(cast.kind)

    def of(self, values: Values, kind: pa.DataType) -> Values:
        """The results for an array of a type that :meth:`result_type` takes, or for an Arrow expression."""
        function, cast = _FUNCTIONS[self.name], self._cast(kind)
        if cast is None:
            return function.run(values, kind, dict(self.options))
        if isinstance(values, pc.Expression):
            options = [pc.scalar(text) for pair in self.options for text in pair]
            return values._call(_registered_name(self.name, len(self.options)), [values, *options])
        if isinstance(values, pa.ChunkedArray):
            return pa.chunked_array([self.of(chunk, kind) for chunk in values.chunks], self.result_type(kind))
        return function.run(cast.run(values, dict(self.options)), cast.kind, dict(self.options))

    def is_lasting(self, values: pa.Array) -> bool:
        """Whether the results for values are the same at any time, on any machine: so an index may hold them."""
        cast = self._cast(values.type)
        return cast is None or cast.is_lasting or not text_casts.may_change(values)

    def _cast(self, kind: pa.DataType) -> _TextCast | None:
        """What texts are cast to before; None for columns that are not cast."""
        cast = _FUNCTIONS[self.name].cast if _is_text(kind) else None
        if cast is None:
            return None
        return _PARSED if cast.parses and _FORMAT in dict(self.options) else cast

    def text(self, column: str) -> str:
        """The call in SQL, for messages."""
        return f"{self.name}({', '.join([column, *(value for _, value in self.options)])})"


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A function of a column, in the place of a column.

    Attributes:
        function: the function.
        source: path of the column, from the top level down.
        kind: the column's type.
    """

    function: ColumnFunction
    source: tuple[str, ...]
    kind: pa.DataType

    @property
    def path(self) -> tuple[str, ...]:
        """A path that no column has, and two derived columns only if they are the same."""
        options = "".join(f"\0{name}\0{value}" for name, value in self.function.options)
        return ("\0derived", f"{self.function.name}{options}\0\0" + "\0".join(self.source))


def column_function(name: str, options: Mapping[str, str]) -> ColumnFunction | None:
    """The function of a name with options; None for one that is not known, or whose options are not understood.

    Args:
        name: Spark's name, in any case.
        options: further arguments: ``format``, ``pos``, ``len``, ``days``, ``trimString``, ``pattern``, ``idx``,
            ``replacement``; others are refused.
    """
    name = _ALIASES.get(name.lower(), name.lower())
    function = _FUNCTIONS.get(name)
    if function is None:
        return None
    arguments = {**function.defaults, **options}
    if set(arguments) - set(function.options) or not set(function.required) <= set(arguments):
        return None
    for key in (_POSITION, _LENGTH, _DAYS, _GROUP):
        if key in arguments and not _is_int(arguments[key]):
            return None
    if _FORMAT in arguments and pattern_parts(arguments[_FORMAT]) is None:
        return None
    if not function.accepts(arguments):
        return None
    return ColumnFunction(name, tuple(sorted((key, str(value)) for key, value in arguments.items())))


def called_function(name: str, arguments: Sequence[str]) -> ColumnFunction | None:
    """The function of a call in SQL, by its arguments behind the column; None as of :func:`column_function`."""
    known = _FUNCTIONS.get(_ALIASES.get(name.lower(), name.lower()))
    if known is None or len(arguments) > len(known.options):
        return None
    return column_function(name, dict(zip(known.options, arguments, strict=False)))


def _is_int(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 10


# -- texts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _TextCast:
    """What texts are cast to before a function.

    Attributes:
        run: casts an array of texts.
        kind: what it casts to.
        is_lasting: the results never change.
        parses: with a format the texts are parsed by it instead.
    """

    run: Callable[[pa.Array, Mapping[str, str]], pa.Array]
    kind: _Kind
    is_lasting: bool = True
    parses: bool = False


_MOMENT: Final = pa.timestamp("us", "UTC")
_PARSED: Final = _TextCast(lambda texts, options: text_casts.parse_moments(texts, options[_FORMAT]), _MOMENT)
_DATE: Final = _TextCast(lambda texts, options: text_casts.text_to_dates(texts), pa.date32())
_DATE_OR_PARSED: Final = replace(_DATE, parses=True)
_TIMESTAMP: Final = _TextCast(lambda texts, options: text_casts.text_to_moments(texts), _MOMENT, is_lasting=False)
_TIMESTAMP_OR_PARSED: Final = replace(_TIMESTAMP, parses=True)
_TEXT: Final = _TextCast(lambda texts, options: texts, pa.string())
_LONG: Final = _TextCast(lambda texts, options: text_casts.text_to_longs(texts), pa.int64())


def _registered_name(name: str, options: int) -> str:
    return f"{_OURS}{name}_of_text_{options}"


def _register_text_functions() -> None:
    """Make Arrow's expressions able to call functions of texts, with as many options as there may be."""
    for name, function in _FUNCTIONS.items():
        if function.cast is None:
            continue
        result = function.result(function.cast.kind)
        assert result is not None
        for count in range(len(function.required), len(function.options) + 1):

            def run(context: object, values: pa.Array | pa.Scalar, *texts: pa.Scalar, name: str = name) -> Values:
                told = [text.as_py() for text in texts]
                called = ColumnFunction(name, tuple(zip(told[::2], told[1::2], strict=True)))
                if isinstance(values, pa.Scalar):
                    return called.of(pa.array([values.as_py()], pa.string()), pa.string())[0]
                return called.of(values, pa.string())

            doc = {"summary": f"{name} of texts as Spark has it", "description": "of texts that it casts before"}
            takes = {"text": pa.string(), **{f"option_{at}": pa.string() for at in range(2 * count)}}
            pc.register_scalar_function(run, _registered_name(name, count), doc, takes, result)


# -- the functions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Function:
    run: Callable[[Values, _Kind, Mapping[str, str]], Values]
    result: Callable[[_Kind], _Kind | None]
    options: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    cast: _TextCast | None = None
    accepts: Callable[[Mapping[str, str]], bool] = lambda options: True


def _is_moment(kind: _Kind) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz in (None, "UTC")


def _is_day_or_moment(kind: _Kind) -> bool:
    return bool(pa.types.is_date32(kind)) or _is_moment(kind)


def _when(test: Callable[[_Kind], bool], result: _Kind) -> Callable[[_Kind], _Kind | None]:
    return lambda kind: result if test(kind) else None


def _is_text(kind: _Kind) -> bool:
    return bool(pa.types.is_string(kind))


def _part(kernel: Callable[[Values], Values]) -> Callable[[Values, _Kind, Mapping[str, str]], Values]:
    return lambda values, kind, options: kernel(values).cast(pa.int32())


def _formatted(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
    if pa.types.is_date32(kind):
        values = values.cast(pa.timestamp("s"))
    return format_moments(values, options[_FORMAT])


def _from_seconds(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
    if isinstance(values, pc.Expression):
        return format_moments(values.cast(pa.int64()).cast(pa.timestamp("s")), options[_FORMAT])
    seconds = values.cast(pa.int64())
    if isinstance(seconds, pa.ChunkedArray):
        seconds = seconds.combine_chunks()
    # Spark's microseconds of seconds that are too many for them overflow.
    micros = seconds.fill_null(0).to_numpy() * np.int64(1_000_000)
    moments = pa.array(micros, mask=seconds.is_null().to_numpy(zero_copy_only=False)).cast(pa.timestamp("us"))
    return format_moments(moments, options[_FORMAT])


def _seconds(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
    if pa.types.is_date32(kind):
        return values.cast(pa.timestamp("s")).cast(pa.int64())
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    return pc.floor_temporal(values, unit="second").cast(pa.timestamp("s", zone)).cast(pa.int64())


def _added(sign: int) -> Callable[[Values, _Kind, Mapping[str, str]], Values]:
    def run(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
        days = values.cast(pa.int32()) if pa.types.is_date32(kind) else values.cast(pa.date32()).cast(pa.int32())
        return pc.add(days, pa.scalar(sign * int(options[_DAYS]), pa.int32())).cast(pa.date32())

    return run


def _substring(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
    position, length = int(options[_POSITION]), int(options[_LENGTH])
    if length <= 0:
        return pc.utf8_slice_codeunits(values, 0, 0)
    if position < 0:  # from the end
        stop = position + length
        return pc.utf8_slice_codeunits(values, position, stop if stop < 0 else None)
    start = max(position - 1, 0)
    return pc.utf8_slice_codeunits(values, start, start + length)


def _trimmed(kernel: Callable[..., Values]) -> Callable[[Values, _Kind, Mapping[str, str]], Values]:
    return lambda values, kind, options: kernel(values, characters=options[_TRIMMED])


def _extracted(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
    from hudi_hive.predicate import java_regex  # here and below: few filters have patterns

    return java_regex.extract(values, options[_PATTERN], int(options[_GROUP]))


def _extracts(options: Mapping[str, str]) -> bool:
    from hudi_hive.predicate import java_regex

    return java_regex.extracts(options[_PATTERN], int(options[_GROUP]))


def _replaced(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
    from hudi_hive.predicate import java_regex

    return java_regex.replace_all(values, options[_PATTERN], options[_REPLACEMENT])


def _replaces(options: Mapping[str, str]) -> bool:
    from hudi_hive.predicate import java_regex

    return java_regex.replaces(options[_PATTERN], options[_REPLACEMENT])


def _whole(kernel: Callable[[Values], Values]) -> Callable[[Values, _Kind, Mapping[str, str]], Values]:
    """As Java's cast of the rounded double to a long, which has 0 for NaN and the nearest long for those beyond."""

    def run(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
        if pa.types.is_integer(kind):
            return values.cast(pa.int64())
        rounded = kernel(values.cast(pa.float64()))
        inside = pc.and_kleene(pc.less(rounded, _LONG_LIMIT), pc.greater_equal(rounded, -_LONG_LIMIT))
        number = pc.if_else(inside, rounded, pa.scalar(0.0)).cast(pa.int64(), safe=False)
        beyond = pc.if_else(pc.greater(rounded, 0.0), pa.scalar(2**63 - 1), pa.scalar(-(2**63)))
        return pc.if_else(pc.or_kleene(inside, pc.is_nan(rounded)), number, beyond)

    return run


def _is_number(kind: _Kind) -> bool:
    return bool(pa.types.is_signed_integer(kind) or kind in (pa.float32(), pa.float64()))


_CASES: Final[Mapping[str, tuple[Callable[[pa.Array], pa.Array], Callable[[str], str]]]] = {
    "lower": (pc.ascii_lower, str.lower),
    "upper": (pc.ascii_upper, str.upper),
}


def _change_case(name: str, values: pa.Array) -> pa.Array:
    """Lower or upper case as Java has it, which may change the length of a text: not what Arrow's kernels do."""
    kernel, change = _CASES[name]
    if pc.all(pc.string_is_ascii(values), min_count=0).as_py() is not False:
        return kernel(values)
    coded = values.dictionary_encode()
    changed = [None if text is None else change(text) for text in coded.dictionary.to_pylist()]
    return pa.array(changed, pa.string()).take(coded.indices)


def _cased(name: str) -> Callable[[Values, _Kind, Mapping[str, str]], Values]:
    def run(values: Values, kind: _Kind, options: Mapping[str, str]) -> Values:
        if isinstance(values, pc.Expression):
            return values._call(f"{_OURS}{name}", [values])
        if isinstance(values, pa.ChunkedArray):
            return pa.chunked_array([_change_case(name, chunk) for chunk in values.chunks], pa.string())
        return _change_case(name, values)

    return run


def _register_case_functions() -> None:
    """Make Arrow's expressions able to call them, in each process that has filters."""
    for name in _CASES:

        def run(context: object, values: pa.Array | pa.Scalar, name: str = name) -> pa.Array | pa.Scalar:
            if isinstance(values, pa.Scalar):
                return _change_case(name, pa.array([values.as_py()], pa.string()))[0]
            return _change_case(name, values)

        doc = {"summary": f"{name} case as Java has it", "description": "of texts in no language"}
        pc.register_scalar_function(run, f"{_OURS}{name}", doc, {"text": pa.string()}, pa.string())


_FUNCTIONS: Final[Mapping[str, _Function]] = {
    "identity": _Function(lambda values, kind, options: values, lambda kind: kind),
    "year": _Function(_part(years_of), _when(_is_day_or_moment, pa.int32()), cast=_DATE),
    "month": _Function(_part(months_of), _when(_is_day_or_moment, pa.int32()), cast=_DATE),
    "day": _Function(_part(days_of), _when(_is_day_or_moment, pa.int32()), cast=_DATE),
    "hour": _Function(_part(pc.hour), _when(_is_moment, pa.int32()), cast=_TIMESTAMP),
    "date_format": _Function(
        _formatted, _when(_is_day_or_moment, pa.string()), (_FORMAT,), (_FORMAT,), cast=_TIMESTAMP
    ),
    "from_unixtime": _Function(
        _from_seconds,
        _when(pa.types.is_signed_integer, pa.string()),
        (_FORMAT,),
        (),
        {_FORMAT: DEFAULT_FORMAT},
        _LONG,
    ),
    "unix_timestamp": _Function(
        _seconds, _when(_is_day_or_moment, pa.int64()), (_FORMAT,), (), {_FORMAT: DEFAULT_FORMAT}, _PARSED
    ),
    "date_add": _Function(_added(1), _when(pa.types.is_date32, pa.date32()), (_DAYS,), (_DAYS,), cast=_DATE),
    "date_sub": _Function(_added(-1), _when(pa.types.is_date32, pa.date32()), (_DAYS,), (_DAYS,), cast=_DATE),
    "to_timestamp": _Function(
        lambda values, kind, options: values,
        lambda kind: kind if _is_moment(kind) else None,
        (_FORMAT,),
        cast=_TIMESTAMP_OR_PARSED,
    ),
    "to_date": _Function(
        lambda values, kind, options: values.cast(pa.date32(), safe=False),
        _when(_is_day_or_moment, pa.date32()),
        (_FORMAT,),
        cast=_DATE_OR_PARSED,
    ),
    "lower": _Function(_cased("lower"), _when(_is_text, pa.string())),
    "upper": _Function(_cased("upper"), _when(_is_text, pa.string())),
    "trim": _Function(_trimmed(pc.utf8_trim), _when(_is_text, pa.string()), (_TRIMMED,), (), {_TRIMMED: " "}),
    "ltrim": _Function(_trimmed(pc.utf8_ltrim), _when(_is_text, pa.string()), (_TRIMMED,), (), {_TRIMMED: " "}),
    "rtrim": _Function(_trimmed(pc.utf8_rtrim), _when(_is_text, pa.string()), (_TRIMMED,), (), {_TRIMMED: " "}),
    "length": _Function(
        lambda values, kind, options: pc.utf8_length(values).cast(pa.int32()), _when(_is_text, pa.int32())
    ),
    "substring": _Function(
        _substring, _when(_is_text, pa.string()), (_POSITION, _LENGTH), (_POSITION,), {_LENGTH: _TO_THE_END}
    ),
    "regexp_extract": _Function(
        _extracted,
        _when(_is_text, pa.string()),
        (_PATTERN, _GROUP),
        (_PATTERN,),
        {_GROUP: "1"},
        _TEXT,
        _extracts,
    ),
    "regexp_replace": _Function(
        _replaced,
        _when(_is_text, pa.string()),
        (_PATTERN, _REPLACEMENT),
        (_PATTERN, _REPLACEMENT),
        cast=_TEXT,
        accepts=_replaces,
    ),
    "abs": _Function(lambda values, kind, options: pc.abs(values), lambda kind: kind if _is_number(kind) else None),
    "ceil": _Function(_whole(pc.ceil), _when(_is_number, pa.int64())),
    "floor": _Function(_whole(pc.floor), _when(_is_number, pa.int64())),
}

_register_case_functions()
_register_text_functions()
