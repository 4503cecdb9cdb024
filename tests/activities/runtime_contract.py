"""What every Runtime keeps to: subclass `RuntimeContract` and give it a `world` fixture (runtime_world.py).

Nothing here knows where attempts run. Commands are argv with Python or a shell; what happened is seen through the port,
through the job's own files, and through the world's list of processes. Another adapter passes this suite unchanged.
"""

from tests.activities.runtime_contract_ends import EndsContract
from tests.activities.runtime_contract_keeping import KeepingContract
from tests.activities.runtime_contract_launch import LaunchContract
from tests.activities.runtime_contract_places import PlacesContract
from tests.activities.runtime_contract_requests import RequestContract
from tests.activities.runtime_contract_sessions import SessionContract
from tests.activities.runtime_contract_sizes import SizesContract


class RuntimeContract(
    LaunchContract, PlacesContract, SizesContract, EndsContract, RequestContract, KeepingContract, SessionContract
):
    """The parts together."""
