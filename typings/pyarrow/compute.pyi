from collections.abc import Callable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Protocol, TypeAlias, overload

import numpy as np
from pyarrow._arrays import (
    Array,
    BooleanArray,
    BooleanScalar,
    ChunkedArray,
    DictionaryArray,
    ListArray,
    Scalar,
    StructArray,
    StructScalar,
)
from pyarrow._compute import Expression as Expression
from pyarrow._io import MemoryPool
from pyarrow._tables import RecordBatch, Table
from pyarrow._types import DataType, TypeLike

# What stands for one value: datetime is a date.
_One: TypeAlias = Scalar | bool | int | float | str | bytes | Decimal | date | time | timedelta | np.generic | None
_Plain: TypeAlias = Array | _One
_Any: TypeAlias = Array | ChunkedArray | _One
_Columns: TypeAlias = Array | ChunkedArray

# Functions are variables of a few protocols: what goes in (an Array, a ChunkedArray, a single value, an Expression)
# comes out. Parameters that this project gives to none of them (memory_pool, options) are left out.

class _Function(Protocol):
    @overload
    def __call__(self, x: Array, /) -> Array: ...
    @overload
    def __call__(self, x: ChunkedArray, /) -> ChunkedArray: ...
    @overload
    def __call__(self, x: Scalar, /) -> Scalar: ...
    @overload
    def __call__(self, x: Expression, /) -> Expression: ...

class _Test(Protocol):
    @overload
    def __call__(self, x: Array, /) -> BooleanArray: ...
    @overload
    def __call__(self, x: ChunkedArray, /) -> ChunkedArray: ...
    @overload
    def __call__(self, x: Scalar, /) -> BooleanScalar: ...
    @overload
    def __call__(self, x: Expression, /) -> Expression: ...

class _NullTest(Protocol):
    @overload
    def __call__(self, x: Array, /, *, nan_is_null: bool = False) -> BooleanArray: ...
    @overload
    def __call__(self, x: ChunkedArray, /, *, nan_is_null: bool = False) -> ChunkedArray: ...
    @overload
    def __call__(self, x: Scalar, /, *, nan_is_null: bool = False) -> BooleanScalar: ...
    @overload
    def __call__(self, x: Expression, /, *, nan_is_null: bool = False) -> Expression: ...

class _Operator(Protocol):
    @overload
    def __call__(self, x: ChunkedArray, y: _Any, /) -> ChunkedArray: ...
    @overload
    def __call__(self, x: _Plain, y: ChunkedArray, /) -> ChunkedArray: ...
    @overload
    def __call__(self, x: Array, y: _Plain, /) -> Array: ...
    @overload
    def __call__(self, x: _One, y: Array, /) -> Array: ...
    @overload
    def __call__(self, x: _One, y: _One, /) -> Scalar: ...

class _Comparison(Protocol):
    @overload
    def __call__(self, x: ChunkedArray, y: _Any, /) -> ChunkedArray: ...
    @overload
    def __call__(self, x: _Plain, y: ChunkedArray, /) -> ChunkedArray: ...
    @overload
    def __call__(self, x: Array, y: _Plain, /) -> BooleanArray: ...
    @overload
    def __call__(self, x: _One, y: Array, /) -> BooleanArray: ...
    @overload
    def __call__(self, x: _One, y: _One, /) -> BooleanScalar: ...

class _Membership(Protocol):
    @overload
    def __call__(self, values: Array, /, value_set: _Columns, *, skip_nulls: bool = False) -> BooleanArray: ...
    @overload
    def __call__(self, values: ChunkedArray, /, value_set: _Columns, *, skip_nulls: bool = False) -> ChunkedArray: ...
    @overload
    def __call__(self, values: Scalar, /, value_set: _Columns, *, skip_nulls: bool = False) -> BooleanScalar: ...

class _Position(Protocol):
    @overload
    def __call__(self, values: Array, /, value_set: _Columns, *, skip_nulls: bool = False) -> Array: ...
    @overload
    def __call__(self, values: ChunkedArray, /, value_set: _Columns, *, skip_nulls: bool = False) -> ChunkedArray: ...
    @overload
    def __call__(self, values: Scalar, /, value_set: _Columns, *, skip_nulls: bool = False) -> Scalar: ...

class _Match(Protocol):
    @overload
    def __call__(self, strings: Array, /, pattern: str | bytes, *, ignore_case: bool = False) -> BooleanArray: ...
    @overload
    def __call__(
        self, strings: ChunkedArray, /, pattern: str | bytes, *, ignore_case: bool = False
    ) -> ChunkedArray: ...
    @overload
    def __call__(self, strings: Expression, /, pattern: str | bytes, *, ignore_case: bool = False) -> Expression: ...

class _Aggregate(Protocol):
    def __call__(self, array: _Any, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...

class _Trim(Protocol):
    @overload
    def __call__(self, strings: Array, /, characters: str) -> Array: ...
    @overload
    def __call__(self, strings: ChunkedArray, /, characters: str) -> ChunkedArray: ...

class _Slice(Protocol):
    @overload
    def __call__(self, strings: Array, /, start: int, stop: int | None = None, step: int = 1) -> Array: ...
    @overload
    def __call__(
        self, strings: ChunkedArray, /, start: int, stop: int | None = None, step: int = 1
    ) -> ChunkedArray: ...

abs: _Function
ascii_lower: _Function
ascii_upper: _Function
binary_length: _Function
ceil: _Function
day: _Function
floor: _Function
hour: _Function
invert: _Test
is_nan: _Test
is_null: _NullTest
is_valid: _Test
list_value_length: _Function
microsecond: _Function
millisecond: _Function
minute: _Function
month: _Function
negate: _Function
run_end_decode: _Function
second: _Function
string_is_ascii: _Test
trunc: _Function
utf8_length: _Function
utf8_lower: _Function
year: _Function

add: _Operator
divide: _Operator
list_element: _Operator
multiply: _Operator
multiply_checked: _Operator
subtract: _Operator

and_: _Comparison
and_kleene: _Comparison
and_not: _Comparison
equal: _Comparison
greater: _Comparison
greater_equal: _Comparison
less: _Comparison
less_equal: _Comparison
not_equal: _Comparison
or_: _Comparison
or_kleene: _Comparison
xor: _Comparison

is_in: _Membership
index_in: _Position
ends_with: _Match
match_like: _Match
match_substring: _Match
match_substring_regex: _Match
starts_with: _Match
utf8_ltrim: _Trim
utf8_rtrim: _Trim
utf8_trim: _Trim
binary_slice: _Slice
utf8_slice_codeunits: _Slice

all: _Aggregate
any: _Aggregate
max: _Aggregate
mean: _Aggregate
min: _Aggregate
sum: _Aggregate

def min_max(array: _Columns, /, *, skip_nulls: bool = True, min_count: int = 1) -> StructScalar: ...
def count_distinct(array: _Columns, /, mode: str = "only_valid") -> Scalar: ...
def index(
    data: _Columns,
    value: Any,
    start: int | None = None,
    end: int | None = None,
    *,
    memory_pool: MemoryPool | None = None,
) -> Scalar: ...
def quantile(
    array: _Columns,
    /,
    q: float | Sequence[float] = 0.5,
    *,
    interpolation: str = "linear",
    skip_nulls: bool = True,
    min_count: int = 0,
) -> Array: ...
def rank(
    input: _Columns,
    /,
    sort_keys: str | Sequence[tuple[str, str]] = "ascending",
    *,
    null_placement: str | None = None,
    tiebreaker: str = "first",
) -> Array: ...
def sort_indices(
    input: _Columns | Table | RecordBatch,
    /,
    sort_keys: str | Sequence[tuple[str, str]] = (),
    *,
    null_placement: str | None = None,
) -> Array: ...
def indices_nonzero(values: _Columns, /) -> Array: ...
def unique(array: _Columns, /) -> Array: ...
def value_counts(array: _Columns, /) -> StructArray: ...

# What takes as many as are given.

# The first signature holds for arrays and single values, the second as soon as one column is in chunks.

@overload
def coalesce(*values: _Plain) -> Array: ...  # type: ignore[overload-overlap]
@overload
def coalesce(*values: _Any) -> ChunkedArray: ...
@overload
def min_element_wise(*args: _Plain, skip_nulls: bool = True) -> Array: ...  # type: ignore[overload-overlap]
@overload
def min_element_wise(*args: _Any, skip_nulls: bool = True) -> ChunkedArray: ...
@overload
def binary_join_element_wise(  # type: ignore[overload-overlap]
    *strings: _Plain, null_handling: str = "emit_null", null_replacement: str | bytes = ""
) -> Array: ...
@overload
def binary_join_element_wise(
    *strings: _Any, null_handling: str = "emit_null", null_replacement: str | bytes = ""
) -> ChunkedArray: ...
@overload
def if_else(cond: ChunkedArray, left: _Any, right: _Any, /) -> ChunkedArray: ...
@overload
def if_else(cond: _Plain, left: ChunkedArray, right: _Any, /) -> ChunkedArray: ...
@overload
def if_else(cond: _Plain, left: _Plain, right: ChunkedArray, /) -> ChunkedArray: ...
@overload
def if_else(cond: Array, left: _Plain, right: _Plain, /) -> Array: ...
@overload
def if_else(cond: _One, left: Array, right: _Plain, /) -> Array: ...
@overload
def if_else(cond: _One, left: _One, right: Array, /) -> Array: ...
@overload
def if_else(cond: _One, left: _One, right: _One, /) -> Scalar: ...

# One column and settings of its own.

@overload
def cast(arr: Array, target_type: TypeLike | None = None, safe: bool | None = None, options: Any = None) -> Array: ...
@overload
def cast(
    arr: ChunkedArray, target_type: TypeLike | None = None, safe: bool | None = None, options: Any = None
) -> ChunkedArray: ...
@overload
def cast(arr: Scalar, target_type: TypeLike | None = None, safe: bool | None = None, options: Any = None) -> Scalar: ...
@overload
def count_substring(strings: Array, /, pattern: str | bytes, *, ignore_case: bool = False) -> Array: ...
@overload
def count_substring(strings: ChunkedArray, /, pattern: str | bytes, *, ignore_case: bool = False) -> ChunkedArray: ...
@overload
def cumulative_sum(values: Array, /, start: Any = None, *, skip_nulls: bool = False) -> Array: ...
@overload
def cumulative_sum(values: ChunkedArray, /, start: Any = None, *, skip_nulls: bool = False) -> ChunkedArray: ...
@overload
def dictionary_encode(array: Array, /, null_encoding: str = "mask") -> DictionaryArray: ...
@overload
def dictionary_encode(array: ChunkedArray, /, null_encoding: str = "mask") -> ChunkedArray: ...
@overload
def drop_null(input: Array, /) -> Array: ...
@overload
def drop_null(input: ChunkedArray, /) -> ChunkedArray: ...
@overload
def drop_null(input: Table, /) -> Table: ...
@overload
def drop_null(input: RecordBatch, /) -> RecordBatch: ...
@overload
def extract_regex(strings: Array, /, pattern: str | bytes) -> StructArray: ...
@overload
def extract_regex(strings: ChunkedArray, /, pattern: str | bytes) -> ChunkedArray: ...
@overload
def fill_null(values: BooleanArray, fill_value: _Plain) -> BooleanArray: ...
@overload
def fill_null(values: Array, fill_value: _Plain) -> Array: ...
@overload
def fill_null(values: ChunkedArray, fill_value: _Any) -> ChunkedArray: ...
@overload
def fill_null(values: Scalar, fill_value: _One) -> Scalar: ...
@overload
def floor_temporal(timestamps: Array, /, multiple: int = 1, unit: str = "day") -> Array: ...
@overload
def floor_temporal(timestamps: ChunkedArray, /, multiple: int = 1, unit: str = "day") -> ChunkedArray: ...
@overload
def list_flatten(lists: Array, /, recursive: bool = False) -> Array: ...
@overload
def list_flatten(lists: ChunkedArray, /, recursive: bool = False) -> ChunkedArray: ...
@overload
def list_parent_indices(lists: Array, /) -> Array: ...
@overload
def list_parent_indices(lists: ChunkedArray, /) -> ChunkedArray: ...
@overload
def replace_substring_regex(
    strings: Array, /, pattern: str | bytes, replacement: str | bytes, *, max_replacements: int | None = None
) -> Array: ...
@overload
def replace_substring_regex(
    strings: ChunkedArray, /, pattern: str | bytes, replacement: str | bytes, *, max_replacements: int | None = None
) -> ChunkedArray: ...
@overload
def replace_with_mask(values: Array, mask: Array | Scalar | bool, replacements: Array | Scalar, /) -> Array: ...
@overload
def replace_with_mask(
    values: ChunkedArray, mask: _Columns | Scalar | bool, replacements: Array | Scalar, /
) -> ChunkedArray: ...
@overload
def round(x: Array, /, ndigits: int = 0, round_mode: str = "half_to_even") -> Array: ...
@overload
def round(x: ChunkedArray, /, ndigits: int = 0, round_mode: str = "half_to_even") -> ChunkedArray: ...
@overload
def split_pattern(
    strings: Array, /, pattern: str | bytes, *, max_splits: int | None = None, reverse: bool = False
) -> ListArray: ...
@overload
def split_pattern(
    strings: ChunkedArray, /, pattern: str | bytes, *, max_splits: int | None = None, reverse: bool = False
) -> ChunkedArray: ...
@overload
def struct_field(values: Array, /, indices: str | int | Sequence[str | int]) -> Array: ...
@overload
def struct_field(values: ChunkedArray, /, indices: str | int | Sequence[str | int]) -> ChunkedArray: ...
@overload
def struct_field(values: Scalar, /, indices: str | int | Sequence[str | int]) -> Scalar: ...
@overload
def utf8_lpad(strings: Array, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True) -> Array: ...
@overload
def utf8_lpad(
    strings: ChunkedArray, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True
) -> ChunkedArray: ...
@overload
def utf8_rpad(strings: Array, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True) -> Array: ...
@overload
def utf8_rpad(
    strings: ChunkedArray, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True
) -> ChunkedArray: ...
def field(*name_or_index: str | int) -> Expression: ...
def scalar(value: Any) -> Expression: ...
def register_scalar_function(
    func: Callable[..., Array | Scalar],
    function_name: str,
    function_doc: dict[str, str],
    in_types: dict[str, DataType],
    out_type: DataType,
    func_registry: Any = None,
) -> None: ...

class JoinOptions:
    def __init__(self, null_handling: str = "emit_null", null_replacement: str = "") -> None: ...
