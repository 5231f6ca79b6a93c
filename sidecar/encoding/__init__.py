from cdc_extension.encoding import *  # noqa: F403  # the stub lists them
from cdc_extension.encoding import __all__ as __all__
