"""Compiling a JSON Schema so that applying it is safe: local `$ref` only, patterns with a limit.

Everything an author can get wrong in a schema is found here, before any model is called.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from gatekeeper.checks.check import Files, ParameterError
from gatekeeper.checks.reading.output import shorten
from gatekeeper.checks.reading.pattern import TimedPattern
from gatekeeper.checks.schemas.schema_formats import format_checker, require_known_formats
from gatekeeper.checks.schemas.schema_steps import REFERENCES, Steps
from gatekeeper.contract.syntax.yaml_positions import parse
from gatekeeper.errors import ContractError

if TYPE_CHECKING:
    import jsonschema
    import referencing
    from referencing._core import Resolver

# Classes that jsonschema makes while running: no static type describes them.
Dialect: TypeAlias = Any
Validator: TypeAlias = Any

# Their values are data: what looks like a keyword there is none.
_DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples"})
MAX_PARTS = 20_000
"""The most parts of a schema and its files. Preparing each part takes half a millisecond."""
_LOCAL_ONLY = (
    "correct the reference, or put the missing schema into the repository and use its relative "
    "path; gatekeeper fetches nothing from the network"
)


def compile_schema(schema: Any, path: str, files: Files, *, formats: bool) -> Validator:
    """Return a validator of a schema found at `path`, to which its references are relative.

    Raises ParameterError for an invalid schema. The validator raises TimeoutError if a pattern
    takes too long, or the schema too many steps.
    """
    from referencing.jsonschema import specification_with

    dialect = _dialect(schema)
    patterns = _Patterns()
    specification = specification_with(_meta_schema(dialect))
    registry = _registry(schema, path, files, dialect, specification)
    root = registry[_uri(path)]
    found = _Walk(dialect, specification, patterns)
    found.visit(root, registry.resolver(_uri(path)))
    if formats:
        require_known_formats(found.formats, dialect)
    start = {"$ref": _uri(path)}
    validator = _time_limited(dialect, patterns, Steps(start))(
        start,
        registry=registry,
        format_checker=format_checker(dialect) if formats else None,
    )
    _require_end(validator)
    return validator


def load_schema(path: str, files: Files) -> Any:
    """Return the schema in a file. Raises ParameterError if it is missing or not JSON or YAML."""
    if path not in files.texts:
        raise ParameterError(
            f"the schema file {path} does not exist", "correct the path, or add the file"
        )
    return _parse(path, files.texts[path])


def _parse(path: str, text: str) -> Any:
    try:
        return parse(text, path).data
    except ContractError as error:
        first = error.problems[0]
        place = f"{first.path}:{first.line}" if first.line else first.path
        raise ParameterError(f"the schema {place}: {first.what}", first.fix) from None


def _dialect(schema: Any) -> Dialect:
    import jsonschema

    if not isinstance(schema, Mapping | bool):
        raise ParameterError(
            "the schema is not a mapping", "write a JSON Schema, such as `type: object`"
        )
    if isinstance(schema, bool) or "$schema" not in schema:
        return jsonschema.Draft202012Validator
    for dialect in (
        jsonschema.Draft202012Validator,
        jsonschema.Draft201909Validator,
        jsonschema.Draft7Validator,
        jsonschema.Draft6Validator,
        jsonschema.Draft4Validator,
    ):
        if str(schema["$schema"]).rstrip("#") == _meta_schema(dialect):
            return dialect
    raise ParameterError(
        f"$schema: {shorten(str(schema['$schema']))} is not a known version of JSON Schema",
        "use https://json-schema.org/draft/2020-12/schema, or draft 4, 6, 7 or 2019-09",
    )


def _meta_schema(dialect: Dialect) -> str:
    meta = dialect.META_SCHEMA
    return str(meta["$id"] if "$id" in meta else meta["id"]).rstrip("#")


def _registry(
    schema: Any,
    path: str,
    files: Files,
    dialect: Dialect,
    specification: referencing.Specification[Any],
) -> referencing.Registry[Any]:
    """Return a registry of the schema, its files, and the published meta-schemas, which cannot
    retrieve others."""
    import jsonschema_specifications  # type: ignore[import-untyped]

    documents = {path: schema}
    documents.update((name, _parse(name, text)) for name, text in files.texts.items())
    if sum(map(_count_parts, documents.values())) > MAX_PARTS:
        raise ParameterError(
            f"the schema and the files that it uses have more than {MAX_PARTS:,} parts",
            "remove the parts that no output needs",
        )
    resources = []
    for name, document in documents.items():
        contents = _without_schema_keyword(document, name, _meta_schema(dialect))
        _require_schema(dialect, contents, name)
        identifier = specification.id_of(document)
        if identifier is not None:
            # References start from the file, as the author sees it, and not from an `$id`
            # somewhere on the web; by its `$id` the document is still found.
            key = "$id" if "$id" in contents else "id"
            contents = {name: value for name, value in contents.items() if name != key}
            resources.append((identifier, specification.create_resource(contents)))
        resource = specification.create_resource(contents)
        # Authors write a space as itself or as %20.
        resources += [(_uri(name), resource), (f"file:///{name}", resource)]
    registry: referencing.Registry[Any] = jsonschema_specifications.REGISTRY.with_resources(
        resources
    )
    return registry.crawl()


def _count_parts(document: Any) -> int:
    """Count the mappings."""
    if isinstance(document, list):
        return sum(map(_count_parts, document))
    if not isinstance(document, Mapping):
        return 0
    return 1 + sum(map(_count_parts, document.values()))


def _without_schema_keyword(document: Any, path: str, meta_schema: str) -> Any:
    """Return the document without `$schema`. jsonschema starts a new validator of the named version
    wherever it meets one, and that would not have the time limits."""
    if isinstance(document, list):
        return [_without_schema_keyword(item, path, meta_schema) for item in document]
    if not isinstance(document, Mapping):
        return document
    named = document.get("$schema")
    if isinstance(named, str) and named.rstrip("#") != meta_schema:
        raise ParameterError(
            f"the schema {path} has the version {shorten(named)}, but the schema "
            f"that refers to {path} has the version {meta_schema}",
            "give both schemas the same $schema",
        )
    return {
        key: value if key in _DATA_KEYWORDS else _without_schema_keyword(value, path, meta_schema)
        for key, value in document.items()
        if not (key == "$schema" and isinstance(value, str))
    }


def _uri(path: str) -> str:
    return f"file:///{quote(path)}"


def _require_schema(dialect: Dialect, schema: Any, place: str) -> None:
    from jsonschema.exceptions import SchemaError

    try:
        # Patterns are compiled by `regex`, which takes more than the format check would.
        dialect.check_schema(schema, format_checker=None)
    except SchemaError as error:
        message = shorten(error.message, 200)
        raise ParameterError(
            f"the schema in {place} is not valid at {error.json_path}: {message}",
            "correct the schema",
        ) from None


class _Patterns(dict[str, TimedPattern]):
    """Each pattern of a schema, compiled once."""

    def __missing__(self, pattern: str) -> TimedPattern:
        self[pattern] = TimedPattern(pattern)
        return self[pattern]


class _Walk:
    """Goes through a schema and all it refers to; finds what would fail while evaluation."""

    def __init__(
        self,
        dialect: Dialect,
        specification: referencing.Specification[Any],
        patterns: _Patterns,
    ) -> None:
        self.formats: set[str] = set()
        self._dialect = dialect
        self._specification = specification
        self._patterns = patterns
        self._seen: set[int] = set()
        self._has_pattern_properties = False
        self._has_unevaluated = False

    def visit(self, resource: referencing.Resource[Any], resolver: Resolver[Any]) -> None:
        schema = resource.contents
        if not isinstance(schema, Mapping) or id(schema) in self._seen:
            return
        self._seen.add(id(schema))
        self._look(schema)
        for reference in filter(None, map(schema.get, REFERENCES)):
            self._follow(reference, resolver)
        for part in resource.subresources():
            self.visit(part, resolver.in_subresource(part))

    def _look(self, schema: Mapping[str, Any]) -> None:
        for pattern in (schema.get("pattern"), *schema.get("patternProperties", ())):
            if pattern is not None:
                self._patterns[pattern]
        if isinstance(schema.get("format"), str):
            self.formats.add(schema["format"])
        self._has_pattern_properties |= "patternProperties" in schema
        self._has_unevaluated |= "unevaluatedProperties" in schema
        if self._has_pattern_properties and self._has_unevaluated:
            raise ParameterError(
                "the schema uses both `patternProperties` and "
                "`unevaluatedProperties`, so validating an output could take forever",
                "use `additionalProperties` instead of `unevaluatedProperties`",
            )

    def _follow(self, reference: str, resolver: Resolver[Any]) -> None:
        from referencing.exceptions import Unresolvable

        try:
            target = resolver.lookup(reference)
        except Unresolvable:
            raise ParameterError(
                f"the schema refers to {shorten(reference)}, which does not exist", _LOCAL_ONLY
            ) from None
        _require_schema(self._dialect, target.contents, shorten(reference))
        self.visit(self._specification.create_resource(target.contents), target.resolver)


def _require_end(validator: Validator) -> None:
    """Refuse a schema that refers to itself without taking a step into the value, because it never
    ends."""
    try:
        kinds: tuple[Any, ...] = (None, {}, [], "", 0)
        for value in kinds:
            validator.is_valid(value)
    except RecursionError:
        raise ParameterError(
            "the schema refers to itself in a circle", "remove a reference from the circle"
        ) from None
    except TimeoutError as timeout:
        raise ParameterError(
            str(timeout), "remove repeated references to the same part of the schema"
        ) from None


def _time_limited(dialect: Dialect, patterns: _Patterns, steps: Steps) -> Dialect:
    """Return the dialect with limited versions of the keywords that can run very long: those that
    apply patterns, and `uniqueItems`, which compares every pair of items. All are counted."""
    from jsonschema.validators import extend

    keywords = {
        "pattern": partial(_pattern, patterns),
        "patternProperties": partial(_pattern_properties, patterns),
        "additionalProperties": partial(_additional_properties, patterns),
        "uniqueItems": _unique_items,
    }
    every = {**dialect.VALIDATORS, **keywords}
    counted = {name: steps.counted(name, function) for name, function in every.items()}
    extended: Dialect = extend(dialect, counted)  # type: ignore[no-untyped-call]
    return extended


Errors = Iterator["jsonschema.ValidationError"]


def _pattern(
    patterns: _Patterns, validator: Validator, pattern: str, instance: Any, _schema: Any
) -> Errors:
    from jsonschema import ValidationError

    if validator.is_type(instance, "string") and not patterns[pattern].search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    patterns: _Patterns, validator: Validator, by_pattern: Any, instance: Any, _schema: Any
) -> Errors:
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in by_pattern.items():
        for name, value in instance.items():
            if patterns[pattern].search(name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(
    patterns: _Patterns, validator: Validator, allowed: Any, instance: Any, schema: Any
) -> Errors:
    from jsonschema import ValidationError

    if not validator.is_type(instance, "object"):
        return
    declared = schema.get("properties", {})
    declared_patterns = schema.get("patternProperties", {})
    extras = [
        name
        for name in instance
        if name not in declared
        and not any(patterns[pattern].search(name) for pattern in declared_patterns)
    ]
    if validator.is_type(allowed, "object"):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        yield ValidationError(f"unexpected fields: {', '.join(map(repr, extras))}")


def _unique_items(validator: Validator, unique: Any, instance: Any, _schema: Any) -> Errors:
    from jsonschema import ValidationError

    if not unique or not validator.is_type(instance, "array"):
        return
    seen: dict[Hashable, int] = {}
    for index, item in enumerate(instance):
        first = seen.setdefault(_hashable(item), index)
        if first != index:
            yield ValidationError(f"the list items {first} and {index} are the same")
            return


def _hashable(value: Any) -> Hashable:
    """Return a value that is equal exactly if the JSON values are: 1 is 1.0 and not true."""
    if isinstance(value, dict):
        return frozenset((name, _hashable(part)) for name, part in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    # Bytes equal nothing that is read from JSON, as True does 1. Numbers are bytes too: their own
    # hashes are no secret, and a list of those that share one takes hours.
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, float) and not value.is_integer():
        return repr(value).encode()
    hashable: Hashable = b"%x" % int(value) if isinstance(value, int | float) else value
    return hashable
