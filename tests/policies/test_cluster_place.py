"""Where a job would run, and when there is no such place."""

import pytest

from definitions.cluster import ClusterSettings
from definitions.errors import PerdureError
from definitions.job import JobSpec
from policies.cluster_place import Place, place_of

OWN_VOLUME = {
    "checkpoints": {"command": ["./save"], "directory": "/saves"},
    "volumes": [{"name": "saves", "source": {"persistentVolumeClaim": {"claimName": "saves"}}}],
    "volumeMounts": [{"name": "saves", "mountPath": "/saves"}],
}


def spec(**fields: object) -> JobSpec:
    return JobSpec.model_validate({"command": ["train"], **fields})


def test_a_job_that_names_no_cluster_runs_here_and_nowhere_where_that_is_off() -> None:
    assert place_of(spec(), None) == Place()
    with pytest.raises(PerdureError) as refused:
        place_of(spec(), None, here=False)
    assert (refused.value.code.code, refused.value.where) == ("PD-2107", "spec.cluster")


def test_the_image_is_the_jobs_own_else_the_clusters_and_never_none() -> None:
    settings = ClusterSettings(image="train:1", storage_class="fast")
    assert place_of(spec(cluster="north"), settings, here=False).image == "train:1"
    assert place_of(spec(cluster="north", image="mine:2"), settings).image == "mine:2"
    with pytest.raises(PerdureError) as refused:
        place_of(spec(cluster="north"), ClusterSettings())
    assert refused.value.code.code == "PD-2106"


def test_the_plan_names_the_volume_of_the_run_folder() -> None:
    given = [
        (ClusterSettings(image="i", storage_class="fast"), {}, "run folder: 10Gi of class fast"),
        (ClusterSettings(image="i"), {"storage": {"request": "1Ti"}}, "run folder: 1Ti of the default class"),
        (
            ClusterSettings(image="i", storage_bytes=None),
            {},
            "no volume for the run folder: checkpoints go with the pods",
        ),
    ]
    for settings, fields, words in given:
        assert place_of(spec(cluster="north", **fields), settings).volumes == (words,)


@pytest.mark.parametrize(
    ("settings", "fields", "refused"),
    [
        ({}, {}, False),
        ({"shared_storage": False}, {}, True),
        ({"shared_storage": False}, {"elastic": {"minNodes": 1, "maxNodes": 1}}, False),
        ({"storage_bytes": None}, {}, True),
        ({"storage_bytes": None}, {"storage": {"request": "1Gi"}}, False),
        ({"storage_bytes": None}, OWN_VOLUME, False),
    ],
)
def test_an_elastic_job_needs_checkpoints_that_outlive_an_attempt(
    settings: dict[str, object], fields: dict[str, object], refused: bool
) -> None:
    job = spec(**{"cluster": "north", "elastic": {"minNodes": 1, "maxNodes": 4}, **fields})
    there = ClusterSettings(**{"image": "i", **settings})
    if not refused:
        assert place_of(job, there).cluster == "north"
        return
    with pytest.raises(PerdureError) as found:
        place_of(job, there)
    assert (found.value.code.code, found.value.where) == ("PD-2180", "spec.elastic")
