"""What a cluster's worker is put together from. The real parts speak with Kubernetes; tests put others there."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Engine
from temporalio.client import Client

from activities.adapters.kubernetes.janitor import Janitor
from activities.ports import ClusterInspector, ClusterOperator, Journal, ObjectStore, Runtime
from store.tables import ClusterRow
from workers import registry
from workers.cluster_loops import Heartbeat, NodeReporter
from workers.notice_watcher import NoticeWatcher
from workers.parts import Loop
from workers.purger import Purger
from workers.registry import Queue
from workers.reporter import Reporter
from workers.run_watcher import RunWatcher
from workers.settings import Settings
from workers.stray_sweeper import KEEPERS_EVERY, StraySweeper


@dataclass(frozen=True)
class ClusterParts:
    """The ports' adapters for one cluster, made for the settings that its row had then."""

    settings: Settings
    row: ClusterRow
    engine: Engine
    objects: ObjectStore
    runtime: Runtime
    journal: Journal
    inspector: ClusterInspector
    operator: ClusterOperator
    janitor: Janitor

    def queues(self) -> Sequence[Queue]:
        """What this process serves."""
        name = self.row.name
        jobs = registry.cluster(name, self.runtime, self.journal, self.inspector, self.operator)
        return (jobs, registry.sessions(name, self.runtime))

    def loops(self, client: Client, changed: Callable[[], None]) -> Sequence[Loop]:
        """What runs beside the activities, each until its event is set. `changed`: the cluster's settings did."""
        name, watch = self.row.name, self.settings.cluster_watch.total_seconds()
        watcher = RunWatcher(self.engine, self.runtime, self.journal, cluster=name, period=watch)
        return (
            Heartbeat(self.engine, self.row, changed).run,
            Reporter(self.runtime, client).run,
            watcher.run,
            NodeReporter(self.engine, self.inspector, name).run,
            StraySweeper(self.janitor.sweep).run,
            StraySweeper(self.janitor.sweep_keepers, KEEPERS_EVERY).run,
            NoticeWatcher(self.inspector, client, registry.CONTROL).run,
            Purger(self.engine, self.runtime, self.objects, name, period=self.settings.sweep).run,
        )


Opening = Callable[[Settings, Engine, ClusterRow], AbstractContextManager[ClusterParts]]
