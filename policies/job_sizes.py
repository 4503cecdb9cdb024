"""On how many nodes the attempts of an elastic job run: asked for, allowed, and given."""

from definitions.attempt import AttemptLaunch
from definitions.job import JobSpec
from definitions.job_state import JobState, Sizes


def sizes_of(spec: JobSpec) -> Sizes | None:
    """What a job's document says; None for a job of one size."""
    if spec.elastic is None:
        return None
    least, most = spec.elastic.min_nodes, spec.elastic.max_nodes
    return Sizes(least=least, most=most, asked=spec.nodes, ceiling=most)


def resized_to(sizes: Sizes, nodes: int) -> Sizes:
    """A person asks for so many nodes: it gets no more than these until somebody asks for more."""
    return sizes.model_copy(update={"asked": nodes, "ceiling": nodes})


def launch_of_next(state: JobState) -> AttemptLaunch:
    """The template at the size of the attempt that begins: as many nodes as it has places, or as were asked for."""
    if state.sizes is None:
        return state.launch
    nodes = state.sizes.asked if state.placement is None else len(state.placement.pods)
    return state.launch.model_copy(update={"nodes": nodes})


def spec_asked(spec: JobSpec, sizes: Sizes | None) -> JobSpec:
    """The document with the numbers of nodes that are asked for by now."""
    if sizes is None or spec.elastic is None:
        return spec
    elastic = spec.elastic.model_copy(update={"max_nodes": sizes.ceiling})
    return spec.model_copy(update={"nodes": sizes.asked, "elastic": elastic})
