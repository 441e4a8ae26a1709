"""Is a JSON value of a form? By the schemas of docs/schemas, with no package: of JSON Schema what these use;
any other word is an error here."""
import json
import pathlib

KNOWN = {"$schema", "$id", "$comment", "$defs", "$ref", "title", "description", "type", "properties", "required", "additionalProperties", "items", "prefixItems",
         "minItems", "maxItems", "uniqueItems", "enum", "const", "anyOf", "oneOf", "not", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "dependentRequired"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Forms:
    def __init__(self, folder):
        self.schemas = {path.name: json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*.schema.json")}

    def fits(self, value, name):
        return self._fits(value, self.schemas[name], name)

    def _followed(self, reference, within):
        name, _, path = reference.partition("#")
        name = name or within
        schema = self.schemas[name]
        for key in path.strip("/").split("/") if path else []:
            schema = schema[key]
        return schema, name

    def _fits(self, value, schema, within):
        if isinstance(schema, bool):
            return schema
        assert set(schema) <= KNOWN, set(schema) - KNOWN
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        whole = number and (isinstance(value, int) or value.is_integer())
        inner = lambda part: self._fits(value, part, within)
        if "$ref" in schema and not self._fits(value, *self._followed(schema["$ref"], within)):
            return False
        kinds = schema.get("type", [])
        if kinds and not any((whole and isinstance(value, int)) if kind == "integer" else number if kind == "number" else
                             isinstance(value, TYPES[kind]) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
            return False
        if "const" in schema and json.dumps(value) != json.dumps(schema["const"]) or "enum" in schema and value not in schema["enum"]:
            return False
        if "anyOf" in schema and not any(map(inner, schema["anyOf"])) or "oneOf" in schema and sum(map(inner, schema["oneOf"])) != 1:
            return False
        if "not" in schema and inner(schema["not"]):
            return False
        if number and (value < schema.get("minimum", value) or value > schema.get("maximum", value) or
                       "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]):
            return False
        if isinstance(value, str) and not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return False
        if isinstance(value, list):
            first = schema.get("prefixItems", [])
            rest = schema.get("items", True)
            if schema.get("uniqueItems") and len({json.dumps(each) for each in value}) < len(value):
                return False
            return (schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)) and
                    all(self._fits(each, part, within) for each, part in zip(value, first)) and
                    all(self._fits(each, rest, within) for each in value[len(first):]))
        if isinstance(value, dict):
            known = schema.get("properties", {})
            return (all(key in value for key in schema.get("required", [])) and
                    all(needed in value for key, more in schema.get("dependentRequired", {}).items() if key in value for needed in more) and
                    all(self._fits(each, known.get(key, schema.get("additionalProperties", True)), within) for key, each in value.items()))
        return True
