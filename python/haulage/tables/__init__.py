"""Azure Tables: plan keys from data, move rows, serve rows."""

from haulage.lazy import importing

# As `typing.TYPE_CHECKING`.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from haulage.tables import account as account, moving as moving, plan as plan

__getattr__ = importing(__name__, {}, "account moving plan")
