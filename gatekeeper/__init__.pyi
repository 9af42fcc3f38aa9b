from gatekeeper.errors import AuthorError as AuthorError
from gatekeeper.errors import ContractError as ContractError
from gatekeeper.errors import GatekeeperError as GatekeeperError
from gatekeeper.errors import MeasurementError as MeasurementError
from gatekeeper.errors import Problem as Problem
from gatekeeper.errors import UsageError as UsageError
from gatekeeper.errors import WriteError as WriteError
from gatekeeper.gate.forecast.estimate import ContractEstimate as ContractEstimate
from gatekeeper.gate.forecast.estimate import RunEstimate as RunEstimate
from gatekeeper.gate.results.result import ContractResult as ContractResult
from gatekeeper.gate.results.result import GateResult as GateResult
from gatekeeper.gate.results.result import Reason as Reason
from gatekeeper.runs.library.affected import affected as affected
from gatekeeper.runs.library.explain import explain as explain
from gatekeeper.runs.library.suite import check as check
from gatekeeper.runs.library.suite import run as run
from gatekeeper.runs.library.validate import Validation as Validation
from gatekeeper.runs.library.validate import validate as validate

__version__: str

class Fail:
    message: str
    def __init__(self, message: str) -> None: ...
    def __bool__(self) -> bool: ...
