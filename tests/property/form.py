"""Is a JSON value of a form? By the schemas of docs/schemas, with no package: of JSON Schema what these use;
any other word is an error here."""
import json
import math
import pathlib

KNOWN = {"$schema", "$id", "$comment", "$defs", "$ref", "title", "description", "type", "properties", "required", "additionalProperties", "items", "prefixItems",
         "minItems", "maxItems", "uniqueItems", "enum", "const", "anyOf", "oneOf", "not", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "dependentRequired"}
TYPES = {"object": [dict], "array": [list], "string": [str], "boolean": [bool], "null": [type(None)], "integer": [int], "number": [int, float]}


class Forms:
    """Each schema becomes a predicate, once: a result has millions of numbers."""

    def __init__(self, folder):
        self.schemas = {path.name: json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*.schema.json")}
        self.made = {}

    def fits(self, value, name):
        return self._form(self.schemas[name], name)(value)

    def _followed(self, reference, within):
        name, _, path = reference.partition("#")
        name = name or within
        schema = self.schemas[name]
        for key in path.strip("/").split("/") if path else []:
            schema = schema[key]
        return schema, name

    def _form(self, schema, within):
        key = id(schema), within
        if key not in self.made:
            self.made[key] = lambda value: self.made[key](value)  # of a schema within itself
            checks = [lambda value: schema] if isinstance(schema, bool) else list(self._checks(schema, within))
            self.made[key] = checks[0] if len(checks) == 1 else self._all_of(checks)
        return self.made[key]

    @staticmethod
    def _all_of(checks):
        def fits(value):
            for check in checks:
                if not check(value):
                    return False
            return True
        return fits

    def _checks(self, schema, within):
        assert set(schema) <= KNOWN, set(schema) - KNOWN
        forms = lambda key: [self._form(part, within) for part in schema.get(key, [])]
        if "$ref" in schema:
            yield self._form(*self._followed(schema["$ref"], within))
        if "type" in schema:
            kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            types = {each for kind in kinds for each in TYPES[kind]}
            yield lambda value: type(value) in types
        if "const" in schema:
            yield lambda value: json.dumps(value) == json.dumps(schema["const"])
        if "enum" in schema:
            yield lambda value: value in schema["enum"]
        if "anyOf" in schema:
            some = forms("anyOf")
            yield lambda value: any(form(value) for form in some)
        if "oneOf" in schema:
            each_of = forms("oneOf")
            yield lambda value: sum(form(value) for form in each_of) == 1
        if "not" in schema:
            wrong = self._form(schema["not"], within)
            yield lambda value: not wrong(value)
        if schema.keys() & {"minimum", "maximum", "exclusiveMinimum"}:
            least, most, above = schema.get("minimum", -math.inf), schema.get("maximum", math.inf), schema.get("exclusiveMinimum", -math.inf)
            yield lambda value: type(value) not in TYPES["number"] or least <= value <= most and (value > above or above == -math.inf)
        if schema.keys() & {"minLength", "maxLength"}:
            yield lambda value: type(value) is not str or schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        if schema.keys() & {"prefixItems", "items", "minItems", "maxItems", "uniqueItems"}:
            yield self._list(schema, forms("prefixItems"), self._form(schema.get("items", True), within))
        if schema.keys() & {"properties", "required", "additionalProperties", "dependentRequired"}:
            yield self._object(schema, {key: self._form(part, within) for key, part in schema.get("properties", {}).items()},
                               self._form(schema.get("additionalProperties", True), within))

    @staticmethod
    def _list(schema, first, rest):
        least, most, once = schema.get("minItems", 0), schema.get("maxItems", math.inf), schema.get("uniqueItems")

        def fits(value):
            if type(value) is not list:
                return True
            return (least <= len(value) <= most and (not once or len({json.dumps(each) for each in value}) == len(value)) and
                    all(form(each) for form, each in zip(first, value)) and all(map(rest, value[len(first):])))
        return fits

    @staticmethod
    def _object(schema, known, others):
        required, dependent = schema.get("required", []), schema.get("dependentRequired", {})

        def fits(value):
            if type(value) is not dict:
                return True
            return (all(key in value for key in required) and
                    all(needed in value for key, more in dependent.items() if key in value for needed in more) and
                    all(known.get(key, others)(each) for key, each in value.items()))
        return fits
