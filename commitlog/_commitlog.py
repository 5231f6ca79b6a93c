from cdc_extension.commitlog import *  # noqa: F403  # the stub lists them
from cdc_extension.commitlog import __all__ as __all__
