"""Documents of the scheduler: queues, flavors, priority classes, topologies and pools, with the same three verbs each.

Annotations are kept as they are, not as text: those of one noun differ from another's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli import completion, session
from perdure.cli import options as given
from perdure.cli.commands.queueing import register_usage
from perdure.cli.output import Out
from perdure.cli.verb import command, group

if TYPE_CHECKING:
    from perdure.cli.output import Shape
    from perdure.client.operations.scheduling import Catalogue


@dataclass(frozen=True)
class Noun:
    """One kind. `attribute`: of its operations; `shape`: of how it is shown; `example`: a name."""

    word: str
    text: str
    single: str
    attribute: str
    shape: str
    example: str
    names: Callable[[], list[str]]

    def catalogue(self) -> "Catalogue":
        from perdure.client.operations import scheduling

        found: Catalogue = getattr(scheduling, self.attribute)
        return found

    def shown(self) -> "Shape":
        from perdure.cli import scheduling_shapes

        found: Shape = getattr(scheduling_shapes, self.shape)
        return found


NOUNS = (
    Noun("queues", "Queues that divide what there is.", "queue", "queues", "QUEUE", "research", completion.queues),
    Noun("flavors", "Sorts of GPU.", "flavor", "flavors", "FLAVOR", "h100", completion.flavors),
    Noun(
        "priority-classes",
        "How important jobs are.",
        "priority class",
        "priority_classes",
        "PRIORITY_CLASS",
        "urgent",
        completion.priority_classes,
    ),
    Noun(
        "topologies",
        "How close to each other nodes are.",
        "topology",
        "topologies",
        "TOPOLOGY",
        "hall-2",
        completion.topologies,
    ),
    Noun("pools", "Pools of nodes.", "node pool", "node_pools", "NODE_POOL", "training", completion.node_pools),
)


def register(app: typer.Typer) -> None:
    """Add the nouns."""
    for noun in NOUNS:
        called = f"perdure {noun.word}"
        verbs = group(app, noun.word, noun.text, f"{called} list")
        if noun.word == "queues":
            register_usage(verbs)
        command(verbs, "list", f"{called} list", shows="SchedulingDocument")(_list(noun))
        command(verbs, "show", f"{called} show {noun.example}", shows="SchedulingDocument")(_show(noun))
        command(verbs, "delete", f"{called} delete {noun.example} -y")(_delete(noun))


def _list(noun: Noun) -> Callable[..., None]:
    def list_(
        limit: given.Limit = None,
        cursor: given.Cursor = None,
        whole: given.All = False,
        json: given.Json = None,
        output: given.Output = None,
    ) -> None:
        from perdure.cli.lists import show_list

        make = noun.catalogue().list_documents
        with session.client(None) as client:
            show_list(client, Out.of(json, output), noun.shown(), make, limit=limit, cursor=cursor, whole=whole)

    list_.__doc__ = f"List {noun.word.replace('-', ' ')} by name. `perdure apply -f FILE` adds and changes them."
    return list_


def _show(noun: Noun) -> Callable[..., None]:
    def show(name: _name(noun), json: given.Json = None, output: given.Output = None) -> None:  # type: ignore[valid-type]
        with session.client(None) as client:
            Out.of(json, output).one(client.call(noun.catalogue().get(name)), noun.shown())

    show.__doc__ = f"Show a {noun.single} with every default filled in, and who changed it last."
    return show


def _delete(noun: Noun) -> Callable[..., None]:
    def delete(name: _name(noun), yes: given.Yes = False) -> None:  # type: ignore[valid-type]
        from perdure.cli.terminal import say

        session.confirm(f"Delete {noun.single} {name}?", yes)
        with session.client(None) as client:
            client.call(noun.catalogue().delete(name))
        say(f"deleted {noun.single} {name}")

    delete.__doc__ = f"Delete a {noun.single}. Refused while other documents name it, or jobs need it."
    return delete


def _name(noun: Noun) -> Any:
    return Annotated[str, typer.Argument(metavar="NAME", help=f"Name of a {noun.single}.", autocompletion=noun.names)]
