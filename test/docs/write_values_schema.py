#!/usr/bin/env python3
"""Prints the schema of the chart's values with the configuration's own schema in it, the last of its
definitions: what `sliced --print-config-schema` says.

usage: write_values_schema.py SCHEMA SLICED
"""

import json
import subprocess
import sys

BEGIN = '\n    "configuration": '
END = "\n  }\n}\n"


def pretty(value, indent):
    """JSON with the fields of a key on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or not any(isinstance(each, dict) for each in value.values()):
        return flat
    inner = " " * (indent + 2)
    lines = [f"{inner}{json.dumps(key)}: {pretty(each, indent + 2)}" for key, each in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"


def whole(number):
    """1e+09 is an integer too."""
    value = float(number)
    return int(value) if value.is_integer() else value


def main(path, program):
    said = subprocess.run([program, "--print-config-schema"], check=True, capture_output=True, text=True)
    schema = json.loads(said.stdout, parse_float=whole)
    del schema["$schema"]
    with open(path, encoding="utf-8") as file:
        head = file.read().partition(BEGIN)[0]
    sys.stdout.write(head + BEGIN + pretty(schema, 4) + END)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
