"""Validates documents against a schema: validate_json.py SCHEMA < one document per line. Prints "valid", or what is wrong, one line each."""
import json
import pathlib
import sys

import jsonschema

path = pathlib.Path(sys.argv[1])
schemas = {p.name: json.loads(p.read_text()) for p in path.parent.glob("*.schema.json")}
schema = schemas[path.name]
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver.from_schema(schema, store=schemas))
for line in sys.stdin:
    error = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(line)))
    print(f"{error.json_path}: {error.message[:200]!r}" if error else "valid")
