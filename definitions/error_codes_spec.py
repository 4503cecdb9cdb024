"""Codes PD-1000 to PD-1599: documents, fields, templates, refused fields."""

from definitions.errors import Exit, register

UNPROCESSABLE = 422


def _document(code: str, title: str, why: str, remedy: str) -> None:
    register(code, title, UNPROCESSABLE, Exit.USAGE, why, remedy)


def _missing_part(code: str, subsystem: str, remedy: str) -> None:
    title = f"Needs {subsystem}"
    why = "The field is understood, and nothing here would act on it; it is refused rather than stored and ignored."
    _document(code, title, why, remedy)


_document(
    "PD-1000",
    "Document not valid",
    "A document has several faults; each is listed with its place.",
    "Correct them all.",
)
_document(
    "PD-1001",
    "Not readable as text",
    "Documents are UTF-8 text; other encodings, NUL bytes and control characters are refused.",
    "Save the file as UTF-8.",
)
_document(
    "PD-1002",
    "Document too large",
    "Documents are limited to 256 KiB and 10,000 values, aliases counted as often as they are used.",
    "Move data out of the document, into files that the job reads.",
)
_document(
    "PD-1003", "Not valid YAML", "The text breaks the grammar of YAML at this place.", "Correct the line that is shown."
)
_document(
    "PD-1004",
    "Key written twice",
    "A mapping has the same key twice. Many tools silently take the last one, so it is not clear which is meant.",
    "Remove one of the two.",
)
_document(
    "PD-1005",
    "Nested too deeply",
    "Documents may be nested 50 levels deep; nothing here needs more.",
    "Flatten the document.",
)
_document(
    "PD-1006",
    "Alias not usable",
    "An alias (*name) repeats what was anchored (&name) before it in the same document.",
    "Write the value out, or quote it if the * belongs to the text.",
)
_document(
    "PD-1007",
    "Tag not allowed",
    "Tags (!name) make other YAML tools build objects of their own; documents hold plain data.",
    "Remove the tag.",
)
_document("PD-1008", "Key is not text", "Every key in a document is text.", "Put the key in double quotes.")
_document(
    "PD-1009",
    "Merge key",
    "The key << is an extension that YAML 1.2 does not have; here it would be an unknown field.",
    "Write the merged fields out, or repeat a whole value with an alias.",
)
_document(
    "PD-1010",
    "Means different things to different tools",
    "Documents follow YAML 1.2; tools that follow YAML 1.1 read this unquoted word as something else.",
    "Quote it to make it text, or write what is meant plainly.",
)
_document(
    "PD-1011",
    "Tab used for indentation",
    "YAML indents with spaces; how wide a tab is differs from editor to editor.",
    "Replace the tab by spaces.",
)
_document(
    "PD-1012",
    "Not one document of the expected kind",
    "A document begins with apiVersion and kind; where one is expected, one is given.",
    "Write one document per --- section, beginning with apiVersion: perdure/v1 and kind: Job.",
)
_document(
    "PD-1013",
    "Other version of YAML",
    "Documents are read as YAML 1.2, whatever a %YAML line asks for.",
    "Remove the %YAML line.",
)
_document(
    "PD-1100",
    "Unknown kind or version",
    "There are the kinds Job, Template, Secret and Schedule, all of apiVersion perdure/v1.",
    "Correct apiVersion or kind.",
)
_document(
    "PD-1101",
    "Unknown field",
    "The kind has no such field here. Unknown fields are refused, since a misspelt one would be ignored.",
    "Correct the name, or remove the field.",
)
_document("PD-1102", "Field missing", "The field has no default and must be given.", "Add the field.")
_document("PD-1103", "Wrong type", "The field takes another type of value; nothing is converted.", "Correct the value.")
_document(
    "PD-1104",
    "Text expected",
    "The field takes text, and YAML reads this unquoted value as something else, which may not keep its spelling.",
    "Put the value in double quotes.",
)
_document("PD-1105", "Not one of the choices", "The field takes one of a few words.", "Use one of the words listed.")
_document("PD-1106", "Out of range", "The value, or its length, is outside of what the field takes.", "Correct it.")
_document(
    "PD-1107",
    "Wrong spelling",
    "The value has characters, or a length, that such a value cannot have.",
    "Use the characters that are named.",
)
_document(
    "PD-1108",
    "Not a duration",
    "Durations are numbers with units (30s, 90m, 1h30m). Bare numbers and clock times mean different things to "
    "different tools.",
    "Write the number with its unit.",
)
_document("PD-1109", "Not a size", "Sizes are whole numbers of bytes, or numbers with one unit.", "Write 500M or 10Gi.")
_document("PD-1110", "Not a number of processors", "Processors are whole, or thousandths.", "Write 2, 0.5 or 500m.")
_document(
    "PD-1111",
    "Not a variable's name",
    "Environment variables are named with letters, digits and _, and do not begin with a digit.",
    "Rename the variable.",
)
_document(
    "PD-1112",
    "Fields contradict each other",
    "Each field is right by itself, and they do not go together.",
    "Change one of the fields.",
)
_document(
    "PD-1113",
    "Not a path inside a folder",
    "The path is relative, and stays inside the folder that it belongs to.",
    "Remove a leading / and every .. from it.",
)
_document(
    "PD-1114",
    "Not a point in time",
    "Times are written as RFC 3339 with a zone, since a time without one is another moment elsewhere.",
    "Write it like 2026-01-31T18:00:00Z.",
)
_document("PD-1115", "Unknown time zone", "Time zones go by their IANA names.", "Write it like Europe/Berlin, or UTC.")
_document(
    "PD-1116",
    "Not a cron line",
    "Cron lines have five fields: minute, hour, day of month, month, day of week.",
    "Correct the field that is named.",
)
_document("PD-1117", "Not a label", "Labels are short and plain, so that selectors can name them.", "Shorten it.")
_document(
    "PD-1118",
    "Not an image",
    "Images are named as registries do: an optional registry, a path in lower case, a tag or a digest.",
    "Write it like registry.example.org/team/train:1.4.",
)
_document(
    "PD-1119",
    "Not a volume for jobs",
    "A volume has one source, of a kind that a pod without special rights may have, and not another job's.",
    "Use a persistentVolumeClaim, a configMap, a secret, an emptyDir, or what else is listed.",
)
_document(
    "PD-1120",
    "Not a place for a volume",
    "A volume appears as an absolute folder that is neither the platform's nor the system's.",
    "Mount it elsewhere, for example as /data.",
)
_document(
    "PD-1121",
    "Not an affinity",
    "Affinity holds nodeAffinity, podAffinity and podAntiAffinity, each with required and preferred rules.",
    "Write it as the cluster's documentation does.",
)
_document("PD-1199", "Value not valid", "The field cannot have this value.", "Correct the value.")

_document(
    "PD-1300",
    "Parameter not well declared",
    "A template's parameter has a name, a type, and either a default or required: true.",
    "Correct the declaration.",
)
_document("PD-1301", "Unknown parameter", "The template declares no parameter of this name.", "Correct the name.")
_document("PD-1302", "Parameter missing", "The parameter has no default.", "Give it with --set NAME=VALUE.")
_document("PD-1303", "Wrong type of value", "The value is not of the parameter's type.", "Correct the value.")
_document("PD-1304", "Value not allowed", "The value is outside of what the parameter allows.", "Correct the value.")
_document(
    "PD-1305",
    "Unknown placeholder",
    "The template uses a parameter that it does not declare.",
    "Declare it, or correct it.",
)
_document(
    "PD-1306", "Parameter not used", "A parameter that fills no placeholder would do nothing.", "Use or remove it."
)
_document(
    "PD-1307",
    "Placeholder not readable",
    "A placeholder is ${{ name }} and stands inside a text value; there are no expressions.",
    "Write it like ${{ epochs }}.",
)

_missing_part(
    "PD-1500", "a cluster", "Name one with cluster: NAME, or remove the field: a local job is processes, no containers."
)
_missing_part(
    "PD-1501",
    "the scheduler",
    "Name a queue with queue: NAME where the field is served with one, or remove it; a job without starts at once.",
)
_missing_part("PD-1502", "people and teams", "Remove the field; use a label such as team: NAME to group jobs.")
_missing_part("PD-1503", "notifications", "Remove the field; follow the job with jobs wait, or its event stream.")
_missing_part("PD-1504", "the model registry", "Remove the field; name the model in args or env.")
_missing_part(
    "PD-1505", "experiments and profiling", "Remove the field; group runs by a label, report metrics as progress."
)
_missing_part(
    "PD-1506", "limits on local processes", "Remove the field, or name a cluster; the machine's own limits apply."
)
_missing_part("PD-1507", "federation of clusters", "Remove the field and name one cluster.")
_missing_part("PD-1508", "this machine's folders", "Use workdir.mode: snapshot, whose bytes every pod gets.")
_missing_part("PD-1509", "a StatefulSet", "Remove the field; mode: service restarts each rank in place.")
