"""The part of the SARIF 2.1.0 schema that distlint's output uses.

Written from the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"; the
numbers are its sections. Stricter than the standard's own schema in one way: a property that is not
listed here is an error, so that nothing is written that this file has not been extended for.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
POSITION: Schema = {"type": "integer", "minimum": 1}


def of(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def some(items: Schema, *, least: int = 0, unique: bool = False) -> Schema:
    """An array."""
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": unique}


MESSAGE = of(("text",), text=TEXT)  # 3.11
MULTIFORMAT = of(("text",), text=TEXT, markdown=TEXT)  # 3.12
ARTIFACT_LOCATION = of(  # 3.4
    ("uri",),
    uri={"type": "string", "format": "uri-reference", "pattern": r"^[^\\ ]+$"},
    uriBaseId={"const": "%SRCROOT%"},
)
REGION = of(  # 3.30
    ("startLine",),
    startLine=POSITION,
    startColumn=POSITION,
    endLine=POSITION,
    endColumn=POSITION,
)
PHYSICAL_LOCATION = of(  # 3.29
    ("artifactLocation",), artifactLocation=ARTIFACT_LOCATION, region=REGION
)
LOCATION = of(  # 3.28
    ("physicalLocation",),
    id={"type": "integer", "minimum": -1},
    physicalLocation=PHYSICAL_LOCATION,
    message=MESSAGE,
)
REPLACEMENT = of(  # 3.57
    ("deletedRegion",),
    deletedRegion=REGION,
    insertedContent=of(("text",), text={"type": "string"}),
)
ARTIFACT_CHANGE = of(  # 3.56
    ("artifactLocation", "replacements"),
    artifactLocation=ARTIFACT_LOCATION,
    replacements=some(REPLACEMENT, least=1),
)
FIX = of(  # 3.55
    ("artifactChanges",),
    description=MESSAGE,
    artifactChanges=some(ARTIFACT_CHANGE, least=1, unique=True),
)
LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
THREAD_FLOW = of(  # 3.37, 3.38
    ("locations",), id=TEXT, locations=some(of(("location",), location=LOCATION), least=1)
)
RESULT = of(  # 3.27
    ("message", "ruleId", "level"),
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations=some(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    relatedLocations=some(LOCATION, unique=True),
    codeFlows=some(of(("threadFlows",), threadFlows=some(THREAD_FLOW, least=1))),
    fixes=some(FIX, unique=True),
    properties={"type": "object"},
)
DESCRIPTOR = of(  # 3.49
    ("id",),
    id=TEXT,
    name=TEXT,
    shortDescription=MULTIFORMAT,
    fullDescription=MULTIFORMAT,
    help=MULTIFORMAT,
    helpUri={"type": "string", "format": "uri", "pattern": "^https?://"},
    defaultConfiguration=of((), level=LEVEL),  # 3.50
)
NOTIFICATION = of(("message",), level=LEVEL, message=MESSAGE)  # 3.58
RUN = of(  # 3.14
    ("tool",),
    tool=of(
        ("driver",),
        driver=of(
            ("name",),
            name=TEXT,
            semanticVersion=TEXT,
            rules=some(DESCRIPTOR, unique=True),
        ),
    ),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=some(
        of(
            ("executionSuccessful",),
            executionSuccessful={"type": "boolean"},
            toolExecutionNotifications=some(NOTIFICATION),
        )
    ),
    results=some(RESULT),
)
SARIF = of(  # 3.13
    ("version", "runs"),
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs=some(RUN, least=1),
)
